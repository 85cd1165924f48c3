// Which experts the tokens of a text go to: choose an expert or a token, a layer and a training.
// Data: { tokens, experts, trainings, routings: for each training, layer and token [[expert, share], ...] }.

explore("routing", (root, { tokens, experts, trainings, routings }) => {
  const [title, text] = root.querySelectorAll(".map-name, .shaded");
  const table = root.querySelector("table");
  const all = [...Array(experts).keys()];
  const loadsOf = (layer) => all.map((expert) => layer.filter((pairs) => pairs.some(([each]) => each === expert)).length);
  const nameOf = (token) => ({ " ": "space", "\n": "new line" })[token] ?? token;

  const training = choices("training", trainings, 0);
  const depths = routings[0].map((_, layer) => String(layer + 1));
  const depth = choices("layer", depths, 0);
  const token = slider("token", { min: 1, max: tokens.length, step: 1, value: 1 }, (at) => `${at}: ${nameOf(tokens[at - 1])}`);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, training.group, depth.group, token.control);
  root.append(controls, spoken);

  const first = loadsOf(routings[0][0]);
  let chosen = first.indexOf(Math.max(...first));
  const buttons = all.map((expert) => {
    const button = element("button", { type: "button" }, `expert ${expert + 1}`);
    button.addEventListener("click", () => {
      chosen = expert;
      draw();
    });
    table.rows[expert + 1].cells[0].replaceChildren(button);
    return button;
  });
  const spans = [...text.querySelectorAll("span")];
  spans.forEach((span, position) => {
    span.addEventListener("click", () => {
      token.input.value = position + 1; // by hand; the keyboard has the slider
      token.show();
      draw();
    });
  });

  const draw = () => {
    const layer = routings[training.chosen()][depth.chosen()];
    const at = Number(token.input.value) - 1;
    const loads = loadsOf(layer);
    const shareOf = (pairs, expert) => pairs.find(([each]) => each === expert)?.[1] ?? 0;
    title.textContent = `Layer ${depth.chosen() + 1}: what expert ${chosen + 1} gets, darker for a larger share`;
    spans.forEach((span, position) => {
      span.style.setProperty("--weight-here", shareOf(layer[position], chosen).toFixed(4));
      span.classList.toggle(
        "given",
        layer[position].some(([each]) => each === chosen),
      );
      span.classList.toggle("chosen", position === at);
    });
    const even = loads.reduce((sum, load) => sum + load, 0) / experts;
    table.rows[0].cells[2].textContent = `share of token ${at + 1}`;
    all.forEach((expert) => {
      buttons[expert].setAttribute("aria-pressed", expert === chosen);
      const [, load, share] = table.rows[expert + 1].cells;
      setBar(load, loads[expert] / tokens.length);
      load.style.setProperty("--tick", (even / tokens.length).toFixed(4));
      load.textContent = `${loads[expert]} of ${tokens.length}`;
      const isGiven = layer[at].some(([each]) => each === expert);
      share.className = isGiven ? "bar" : "";
      if (isGiven) setBar(share, shareOf(layer[at], expert));
      else share.textContent = "";
    });
    const own = layer.map((pairs) => shareOf(pairs, chosen)).filter((share) => share > 0);
    const mean = own.reduce((sum, share) => sum + share, 0) / own.length;
    const given = layer[at].map(([expert, share]) => `expert ${expert + 1} (${share.toFixed(2)})`);
    spoken.textContent =
      `Layer ${depth.chosen() + 1}, ${trainings[training.chosen()]}: expert ${chosen + 1} gets ${loads[chosen]} of ${tokens.length} tokens` +
      (own.length ? `, with a share of ${mean.toFixed(2)} on average. ` : ". ") +
      `If all experts got alike, each would get ${asNumber(even)}; here they get from ${Math.min(...loads)} to ${Math.max(...loads)}. ` +
      `Token ${at + 1}, “${nameOf(tokens[at])}”, goes to ${given.join(" and ")}.`;
  };

  controls.addEventListener("input", draw);
  draw();
});
