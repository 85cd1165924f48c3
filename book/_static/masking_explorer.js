// Scores become weights: choose d_k, the scale, and the place of the mask. Data: { widths, scores: for each width a square }.

explore("masking", (root, { widths, scores }) => {
  const table = root.querySelector("table");
  const last = widths.length - 1;
  const width = slider("d_k", { min: 0, max: last, step: 1, value: last }, (index) => String(widths[index]));
  const power = slider("scores divided by", { min: 0, max: 1, step: 0.25, value: 0.5 }, (exponent) => {
    const names = { 0: "1 (no scale)", 0.5: "√d_k", 1: "d_k" };
    return names[exponent] ?? `d_k to the power ${exponent}`;
  });
  const mask = choices("mask", ["none", "before the softmax", "after the softmax"], 2);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, width.control, power.control, mask.group);
  root.append(controls, spoken);

  const draw = () => {
    const index = Number(width.input.value);
    const divisor = widths[index] ** Number(power.input.value);
    const [, before, after] = [0, 1, 2].map((each) => each === mask.chosen());
    const sums = [];
    const largest = [];
    scores[index].forEach((row, query) => {
      const hidden = (key) => key > query;
      const weights = softmax(row.map((score, key) => (before && hidden(key) ? -Infinity : score / divisor))).map(
        (weight, key) => (after && hidden(key) ? 0 : weight),
      );
      const cells = [...table.rows[query + 1].cells].slice(1);
      weights.forEach((weight, key) => {
        setBar(cells[key], weight);
        cells[key].classList.toggle("hidden-key", (before || after) && hidden(key));
      });
      sums.push(weights.reduce((sum, each) => sum + each, 0));
      largest.push(Math.max(...weights));
      cells.at(-1).textContent = asNumber(sums[query]);
    });
    const mean = largest.reduce((sum, each) => sum + each, 0) / largest.length;
    const whole = sums.every((sum) => Math.abs(sum - 1) < 0.005);
    spoken.textContent =
      `The largest weight of a row is ${mean.toFixed(2)} in the mean. ` +
      (whole ? "Every row sums to 1." : `The rows sum to ${sums.map(asNumber).join(", ")}.`);
  };
  controls.addEventListener("input", draw);
  draw();
});
