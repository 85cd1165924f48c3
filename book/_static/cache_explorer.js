// A decode step by step, without and with a key-value cache: which rows are computed, and what that costs.
// Data: { tokens, prompt, step, without, cached }, the last two with [projections, scores and averages, all] for each step.

explore("cache", (root, { tokens, prompt, step: first, without, cached }) => {
  const [rows, costs] = root.querySelectorAll("table");
  const last = without.length - 1;
  const step = slider("step", { min: 1, max: last + 1, step: 1, value: first + 1 }, String);
  const [back, next] = ["step back", "next step"].map((words) => element("button", { type: "button" }, words));
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, back, next, step.control);
  root.append(controls, spoken);

  const draw = () => {
    const now = Number(step.input.value) - 1;
    const read = prompt + now;
    const isNew = (position) => (now ? position === read - 1 : position < read);
    rows.caption.textContent = `Step ${now + 1}: rows of K and V, one for each token`;
    tokens.forEach((_, position) => {
      const states = position < read ? ["computed", isNew(position) ? "computed" : "read"] : ["", ""];
      states.forEach((state, column) => {
        const cell = rows.rows[position + 1].cells[column + 1];
        cell.textContent = cell.className = state;
      });
    });
    [without, cached].forEach((counts, column) => {
      const soFar = counts.slice(0, now + 1).reduce((sum, [, , all]) => sum + all, 0);
      [...counts[now], soFar].forEach((count, row) => {
        costs.rows[row + 1].cells[column + 1].textContent = count.toLocaleString("en-US");
      });
    });
    // A button that is switched off would lose the keyboard's focus.
    back.setAttribute("aria-disabled", now === 0);
    next.setAttribute("aria-disabled", now === last);
    const ratio = without[now][2] / cached[now][2];
    const what = `the ${prompt} token${prompt > 1 ? "s" : ""} of the prompt`;
    const newToken = `“${tokens[read - 1]}”`;
    spoken.textContent = now
      ? `Step ${now + 1}: ${newToken} is new. Without a cache, the rows of all ${read} tokens are computed; with a cache, ` +
        `that of ${newToken} is computed and ${read - 1} are read. The step costs ${ratio.toFixed(1)} times as much without a cache.`
      : `Step 1: ${what} ${prompt > 1 ? "are" : "is"} read. Nothing is in the cache yet, so both ways cost the same.`;
  };

  const move = (by) => {
    step.input.value = Number(step.input.value) + by; // the slider keeps it within its limits
    step.show();
    draw();
  };
  back.addEventListener("click", () => move(-1));
  next.addEventListener("click", () => move(1));
  step.input.addEventListener("input", draw);
  draw();
});
