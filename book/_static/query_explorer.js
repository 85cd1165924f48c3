// A query among keys in the plane: drag it, and the weights and the output follow. Data: { key, value, query, names, reach }.

explore("query", (root, { key, value, query, names, reach }) => {
  const keys = root.querySelector("svg.keys");
  const values = root.querySelector("svg.values");
  const plane = keys.querySelector("g");
  const handle = keys.querySelector(".handle");
  const rows = [...root.querySelectorAll("table tr")].slice(1);
  const limits = { min: -reach + 0.4, max: reach - 0.4, step: 0.1 };
  const entries = [0, 1].map((entry) =>
    slider(`${["first", "second"][entry]} entry of q`, { ...limits, value: query[entry] }, asNumber),
  );
  const scale = slider("scale λ", { min: 0, max: 4, step: 0.1, value: 1 }, asNumber);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, ...[...entries, scale].map(({ control }) => control));
  root.append(controls, spoken);

  const place = (label, [x, y]) =>
    label.setAttribute("transform", label.getAttribute("transform").replace(/translate\([^)]*\)/, `translate(${x} ${y})`));

  const draw = () => {
    const asked = entries.map(({ input }) => Number(input.value));
    const products = key.map((each) => each[0] * asked[0] + each[1] * asked[1]);
    const weights = softmax(products.map((product) => Number(scale.input.value) * product));
    const output = [0, 1].map((entry) => value.reduce((sum, each, index) => sum + weights[index] * each[entry], 0));

    keys.querySelector("path.query").setAttribute("d", `M0 0L${asked.join(" ")}`);
    handle.setAttribute("cx", asked[0]);
    handle.setAttribute("cy", asked[1]);
    place(keys.querySelector("text.query"), asked);
    values.querySelectorAll(".pull").forEach((line, index) => {
      line.setAttribute("d", `M${output.join(" ")}L${value[index].join(" ")}`);
      line.style.strokeWidth = `${1 + 7 * weights[index]}px`;
    });
    const dot = values.querySelector(".output");
    dot.setAttribute("cx", output[0]);
    dot.setAttribute("cy", output[1]);
    place(values.querySelector("text.output"), output);
    rows.forEach((row, index) => {
      row.cells[1].textContent = asNumber(products[index]);
      setBar(row.cells[2], weights[index]);
    });
    const best = weights.indexOf(Math.max(...weights));
    const alike = names.filter((_, index) => weights[index].toFixed(2) === weights[best].toFixed(2));
    spoken.textContent =
      `The query (${asked.map(asNumber).join(", ")}) gives ${weights[best].toFixed(2)} of its weight to ` +
      `${alike.length > 1 ? "each of " : ""}${alike.map((name) => `“${name}”`).join(" and ")}; ` +
      `the output is (${output.map(asNumber).join(", ")}).`;
  };

  const drag = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(plane.getScreenCTM().inverse());
    [at.x, at.y].forEach((coordinate, entry) => {
      entries[entry].input.value = coordinate;
      entries[entry].show();
    });
    draw();
  };
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    handle.addEventListener("pointermove", drag);
  });
  handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", drag));
  handle.addEventListener("pointercancel", () => handle.removeEventListener("pointermove", drag));
  controls.addEventListener("input", draw);
  draw();
});
