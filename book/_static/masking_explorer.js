// Scores become weights: choose d_k, the scale, the place of the mask, and the last token.
// Data: { widths, scores: for each width a square }.

explore("masking", (root, { widths, scores }) => {
  const table = root.querySelector("table");
  const last = widths.length - 1;
  const width = slider("d_k", { min: 0, max: last, step: 1, value: Math.min(1, last) }, (index) => String(widths[index]));
  const power = slider("scores divided by", { min: 0, max: 1, step: 0.25, value: 0.5 }, (exponent) => {
    const names = { 0: "1 (no scale)", 0.5: "√d_k", 1: "d_k" };
    return names[exponent] ?? `d_k to the power ${exponent}`;
  });
  const mask = choices("mask", ["none", "before the softmax", "after the softmax"], 2);
  const token = choices("last token", ["as it is", "changed"], 0);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, width.control, power.control, mask.group, token.group);
  root.append(controls, spoken);

  const draw = () => {
    const index = Number(width.input.value);
    const divisor = widths[index] ** Number(power.input.value);
    const [, before, after] = [0, 1, 2].map((each) => each === mask.chosen());
    const changed = token.chosen() === 1;
    const end = scores[index].length - 1;
    const hidden = (query, key) => key > query;
    const weigh = (row, query) =>
      softmax(row.map((score, key) => (before && hidden(query, key) ? -Infinity : score / divisor))).map(
        (weight, key) => (after && hidden(query, key) ? 0 : weight),
      );
    // The changed token has the opposite query and key: its scores with the others change their sign.
    const sign = (query, key) => (changed && (query === end) !== (key === end) ? -1 : 1);
    const sums = [];
    const largest = [];
    let movedBefore = 0;
    scores[index].forEach((row, query) => {
      const usual = weigh(row, query);
      const weights = weigh(
        row.map((score, key) => sign(query, key) * score),
        query,
      );
      const cells = [...table.rows[query + 1].cells].slice(1);
      weights.forEach((weight, key) => {
        setBar(cells[key], weight);
        cells[key].classList.toggle("hidden-key", (before || after) && hidden(query, key));
        const moved = changed && weight.toFixed(2) !== usual[key].toFixed(2);
        cells[key].classList.toggle("moved", moved);
        movedBefore += moved && query < end && key <= query ? 1 : 0;
      });
      sums.push(weights.reduce((sum, each) => sum + each, 0));
      largest.push(Math.max(...weights));
      cells.at(-1).textContent = asNumber(sums[query]);
    });
    const mean = largest.reduce((sum, each) => sum + each, 0) / largest.length;
    const whole = sums.every((sum) => Math.abs(sum - 1) < 0.005);
    spoken.textContent =
      `The largest weight of a row is ${mean.toFixed(2)} on average. ` +
      (whole ? "Every row sums to 1." : `The rows sum to ${sums.map(asNumber).join(", ")}.`) +
      (changed ? ` Weights of the past that moved, on and below the diagonal: ${movedBefore}.` : "");
  };
  controls.addEventListener("input", draw);
  draw();
});
