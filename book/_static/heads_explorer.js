// Heads side by side: choose a head and a token, switch heads off, leave out W_o.
// Data: { names, weights: (head, query, key), found: (head, query, d_head), to_output: (d_model, d_model) }.

explore("heads", (root, { names, weights, found, to_output: matrix }) => {
  const [looks, parts] = root.querySelectorAll("table");
  const headNames = weights.map((_, head) => `head ${head + 1}`);
  const head = choices("weights of", headNames, 0);
  const token = choices("output of", names, names.length - 1);
  const switches = headNames.map((name) => {
    const box = element("input", { type: "checkbox" });
    box.checked = true;
    return { box, label: element("label", {}, box, name) };
  });
  const on = element("fieldset", {}, element("legend", {}, "switched on"), ...switches.map((each) => each.label));
  const last = choices("behind the heads", ["W_o", "nothing"], 0);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, head.group, token.group, on, last.group);
  root.append(controls, spoken);

  const quoted = (list) => list.map((each) => `“${each}”`).join(" and ");

  // What a head adds to the output of a token: through its own columns of W_o, or into its own entries.
  const added = (index, query, mixed) => {
    const own = found[index][query];
    const start = index * own.length;
    return matrix.map((row, entry) =>
      mixed ? own.reduce((sum, each, at) => sum + row[start + at] * each, 0) : (own[entry - start] ?? 0),
    );
  };
  const write = (row, numbers) => {
    numbers.forEach((each, entry) => {
      row.cells[entry + 1].textContent = asNumber(each);
    });
  };
  const total = (rows) => matrix.map((_, entry) => rows.reduce((sum, row) => sum + row[entry], 0));

  const draw = () => {
    const shown = head.chosen();
    const query = token.chosen();
    const mixed = last.chosen() === 0;
    const isOn = switches.map(({ box }) => box.checked);
    looks.caption.textContent = `Weights of ${headNames[shown]}`;
    weights[shown].forEach((row, index) => {
      looks.rows[index + 1].classList.toggle("chosen", index === query);
      row.forEach((weight, key) => setBar(looks.rows[index + 1].cells[key + 1], weight));
    });
    parts.caption.textContent = `The output of “${names[query]}”`;
    write(parts.rows[1], found.flatMap((each, index) => each[query].map((entry) => (isOn[index] ? entry : 0))));
    const all = headNames.map((_, index) => added(index, query, mixed));
    const kept = all.map((row, index) => (isOn[index] ? row : row.map(() => 0)));
    kept.forEach((row, index) => write(parts.rows[index + 2], row));
    const [whole, output] = [total(all), total(kept)];
    const result = parts.rows[headNames.length + 2];
    write(result, output);
    const moved = output.map((entry, index) => Math.abs(entry - whole[index]) > 0.005);
    moved.forEach((has, entry) => result.cells[entry + 1].classList.toggle("moved", has));
    const largest = Math.max(...weights[shown][query]);
    const favourites = names.filter((_, key) => largest - weights[shown][query][key] < 1e-6);
    const off = headNames.filter((_, index) => !isOn[index]);
    const changed = moved.filter((has) => has).length;
    spoken.textContent =
      `With ${headNames[shown]}, “${names[query]}” gives the largest weight, ${largest.toFixed(2)}, to ` +
      `${quoted(favourites)}. The output is (${output.map(asNumber).join(", ")}). ` +
      (off.length ? `Without ${off.join(" and ")}, ${changed} of its ${moved.length} entries have changed.` : "All heads are switched on.");
  };
  controls.addEventListener("input", draw);
  draw();
});
