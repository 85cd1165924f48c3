// Which stacks learn: slide depth and learning rate, and compare the orders of normalisation.
// Data: { orders, depths, rates; losses: for each of them, and each training, the mean of each `every` steps;
// learned: a loss below it counts as learned; shown: the places of the depth and rate that are shown first }.

explore("orders", (root, { orders, depths, rates, losses, every, learned, shown }) => {
  const lines = root.querySelector("table");
  const curves = orders.map((_, kind) => [...root.querySelectorAll(`path.kind-${kind}`)]);
  const slide = (name, values, value) =>
    slider(name, { min: 0, max: values.length - 1, step: 1, value }, (place) => String(values[place]));
  const depth = slide("blocks", depths, shown[0]);
  const rate = slide("learning rate", rates, shown[1]);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, depth.control, rate.control);
  root.append(controls, spoken);

  const range = (values, write) => {
    const [low, high] = [Math.min(...values), Math.max(...values)].map(write);
    return low === high ? low : `${low} to ${high}`;
  };
  const draw = () => {
    const [deep, fast] = [Number(depth.input.value), Number(rate.input.value)];
    const which = `${depths[deep]} blocks, learning rate ${rates[fast]}`;
    const counts = orders.map((order, kind) => {
      const trainings = losses[kind][deep][fast];
      const places = trainings.map((row) => row.findIndex((loss) => loss < learned));
      const steps = places.filter((place) => place >= 0).map((place) => every * (place + 1));
      const some = steps.length === trainings.length ? "" : ` (${steps.length} of ${trainings.length})`;

      trainings.forEach((row, index) => {
        const points = row.map((loss, place) => `${every * (place + 1)} ${loss}`);
        curves[kind][index].setAttribute("d", `M${points.join("L")}`);
      });
      const [, ofLoss, ofSteps] = lines.rows[kind + 1].cells;
      ofLoss.textContent = range(trainings.map((row) => row.at(-1)), (loss) => loss.toFixed(2));
      ofSteps.textContent = steps.length ? range(steps, String) + some : "never";
      return `${steps.length} of ${trainings.length} with ${order}`;
    });
    lines.caption.textContent = which;
    spoken.textContent = `${which}. Trainings whose loss falls below ${learned}: ${counts.join("; ")}.`;
  };
  controls.addEventListener("input", draw);
  draw();
});
