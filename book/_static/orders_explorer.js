// Which stacks learn: choose the order of normalisation, and slide depth and learning rate.
// Data: { orders, depths, rates; losses: for each of them, and each training, the mean of each `every` steps; chance,
// learned: a loss below it counts as learned; shown: the places of the order, depth and rate that are shown first }.

explore("orders", (root, { orders, depths, rates, losses, every, chance, learned, shown }) => {
  const lines = root.querySelector("table");
  const curves = [...root.querySelectorAll("path.training")];
  const order = choices("normalisation", orders, shown[0]);
  const slide = (name, values, value) =>
    slider(name, { min: 0, max: values.length - 1, step: 1, value }, (place) => String(values[place]));
  const depth = slide("blocks", depths, shown[1]);
  const rate = slide("learning rate", rates, shown[2]);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, order.group, depth.control, rate.control);
  root.append(controls, spoken);

  const range = (values, write) => {
    const [low, high] = [Math.min(...values), Math.max(...values)].map(write);
    return low === high ? low : `${low} to ${high}`;
  };
  const draw = () => {
    const [one, two, three] = [order.chosen(), Number(depth.input.value), Number(rate.input.value)];
    const trainings = losses[one][two][three];
    const places = trainings.map((row) => row.findIndex((loss) => loss < learned));
    const steps = places.map((place) => (place < 0 ? null : every * (place + 1)));
    const last = trainings.map((row) => row.at(-1));

    trainings.forEach((row, index) => {
      const points = row.map((loss, place) => `${every * (place + 1)} ${loss}`);
      curves[index].setAttribute("d", `M${points.join("L")}`);
      const [, ofLoss, ofSteps] = lines.rows[index + 1].cells;
      ofLoss.textContent = asNumber(last[index]);
      ofSteps.textContent = steps[index] === null ? "never" : `${steps[index]} steps`;
    });
    const which = `${orders[one]}, ${depths[two]} blocks, learning rate ${rates[three]}`;
    lines.caption.textContent = which;

    const learning = steps.filter((each) => each !== null);
    const how =
      learning.length === 0
        ? `no training brings the loss below ${learned}`
        : `${learning.length} of ${steps.length} trainings bring the loss below ${learned}, ` +
          `after ${range(learning, String)} steps`;
    spoken.textContent = `${which}: ${how}. Last loss ${range(last, asNumber)}; chance is ${asNumber(chance)}.`;
  };
  controls.addEventListener("input", draw);
  draw();
});
