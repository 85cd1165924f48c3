// <div class="softmax-explorer" data-scores="0.5,2,1"></div>: bars of softmax weights under a slider for the temperature.

explore("softmax", (root, { scores: listed }) => {
  const scores = listed.split(",").map(Number);
  // The slider holds the exponent, so that equal movements multiply the temperature by equal factors.
  const temperature = slider("temperature", { min: -2, max: 1, step: 0.02, value: 0 }, (exponent) =>
    (10 ** exponent).toPrecision(2),
  );
  const bars = element("div", { class: "bars" });
  const columns = scores.map((score, index) => {
    const share = element("span", { class: "share" });
    const bar = element("div", { class: "bar" });
    const input = element("input", { type: "range", min: -5, max: 5, step: 0.1, "aria-label": `score ${index + 1}` });
    input.value = score;
    const written = element("span", { class: "score" });
    bars.append(element("div", { class: "column" }, element("div", { class: "track" }, share, bar), input, written));
    return { share, bar, input, written };
  });
  const controls = element("div", { class: "controls" }, temperature.control);
  const hint = element("p", { class: "hint" }, "Move the sliders. The scores below the bars can be changed too.");
  root.replaceChildren(controls, bars, hint);

  const draw = () => {
    const current = columns.map(({ input }) => Number(input.value));
    const weights = softmax(current.map((score) => score / 10 ** Number(temperature.input.value)));
    columns.forEach(({ share, bar, written }, index) => {
      bar.style.height = `${100 * weights[index]}%`;
      share.textContent = weights[index].toFixed(2);
      written.textContent = current[index].toFixed(1);
    });
  };
  root.addEventListener("input", draw);
  draw();
});
