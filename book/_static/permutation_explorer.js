// Tokens in any order: exchange two neighbours, and weights and outputs follow. Data: { inputs, names }.

explore("permutation", (root, { inputs, names }) => {
  const [weightRows, outputRows] = [...root.querySelectorAll("table")].map((table) => [...table.rows]);
  const places = names.map((_, index) => index);
  let order = [...places]; // order[i]: which token stands at position i
  const layer = choices("each token reads", ["all tokens", "itself and earlier tokens"], 0);
  const exchanges = places.slice(1).map((place) => {
    const button = element("button", { type: "button" });
    button.addEventListener("click", () => {
      [order[place - 1], order[place]] = [order[place], order[place - 1]];
      draw();
    });
    return button;
  });
  const back = element("button", { type: "button" }, "first order");
  back.addEventListener("click", () => {
    order = [...places];
    draw();
  });
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, layer.group, ...exchanges, back);
  root.append(controls, spoken);

  const dot = (one, other) => one.reduce((sum, entry, index) => sum + entry * other[index], 0);

  // The weights and the outputs of self-attention for the tokens in this order, masked or not.
  const attend = (tokens, masked) => {
    const rows = tokens.map((token) => inputs[token]);
    return rows.map((query, position) => {
      const scores = rows.map((key, other) => (masked && other > position ? -Infinity : dot(query, key)));
      const weights = softmax(scores);
      const output = query.map((_, entry) => rows.reduce((sum, row, index) => sum + weights[index] * row[entry], 0));
      return { weights, output };
    });
  };

  const draw = () => {
    const masked = layer.chosen() === 1;
    const before = attend(places, masked);
    const now = attend(order, masked);
    const ordered = order.map((token) => names[token]);
    const changed = [];
    now.forEach(({ weights, output }, position) => {
      const token = order[position];
      const [shares, entries] = [weightRows[position + 1], outputRows[position + 1]];
      weightRows[0].cells[position + 1].textContent = ordered[position];
      shares.cells[0].textContent = entries.cells[0].textContent = ordered[position];
      weights.forEach((weight, column) => setBar(shares.cells[column + 1], weight));
      const moved = output.map((entry, column) => Math.abs(entry - before[token].output[column]) > 0.005);
      output.forEach((entry, column) => {
        entries.cells[column + 1].textContent = asNumber(entry);
        entries.cells[column + 1].classList.toggle("moved", moved[column]);
      });
      if (moved.includes(true)) changed.push(names[token]);
    });
    exchanges.forEach((button, index) => {
      button.textContent = `exchange “${ordered[index]}” and “${ordered[index + 1]}”`;
    });
    const said = changed.map((name) => `“${name}”`).join(", ");
    spoken.textContent =
      `The order is “${ordered.join(" ")}”. ` +
      (changed.length ? `The output has changed for ${said}.` : "Each token has the same output as in the first order.");
  };

  controls.addEventListener("input", draw);
  draw();
});
