// What positions add to one score, with each encoding: choose the position of the query, and the offset of the key.
// Data: { scores: for each encoding a row for each query, from offset -reach to reach; alone, reach }.

explore("positions", (root, { scores, alone, reach }) => {
  const names = Object.keys(scores);
  const panels = root.querySelectorAll("svg"); // one for each encoding
  const lines = root.querySelector("table");
  const last = reach + scores[names[0]].length - 1;
  const query = slider("query at i", { min: reach, max: last, step: 1, value: reach }, asNumber);
  const offset = slider("offset j − i", { min: -reach, max: reach, step: 1, value: -2 }, asNumber);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, query.control, offset.control);
  root.prepend(controls); // above the panels: on a telephone these are longer than a screen
  root.append(spoken);

  const join = (points) => `M${points.map((point) => point.join(" ")).join("L")}`;
  const drawPanel = (panel, row, delta) => {
    const path = (look) => panel.querySelector(`path.${look}`);
    path("curve").setAttribute("d", join(row.map((score, column) => [column - reach, score])));
    path("added").setAttribute("d", `M${delta} ${alone}V${row[delta + reach]}`);
    path("here").setAttribute("d", `M${delta} ${row[delta + reach]}h0`);
  };

  const draw = () => {
    const [i, delta] = [query, offset].map(({ input }) => Number(input.value));
    const said = names.map((name, index) => {
      const rows = scores[name];
      const row = rows[i - reach];
      drawPanel(panels[index], row, delta);
      const column = rows.map((each) => each[delta + reach]);
      const shown = [row[delta + reach], Math.min(...column), Math.max(...column)].map(asNumber);
      shown.forEach((score, place) => {
        lines.rows[index + 1].cells[place + 1].textContent = score;
      });
      const [score, lowest, highest] = shown;
      return `${name} ${score} (${lowest === highest ? "the same for all queries" : `all queries: ${lowest} to ${highest}`})`;
    });
    lines.rows[0].cells[1].textContent = `query ${i}`;
    lines.caption.textContent =
      `Scores at offset ${asNumber(delta)}, of query ${i} for key ${i + delta} ` +
      `and over all queries (without positions: ${asNumber(alone)})`;
    spoken.textContent = `Query at ${i}, key at ${i + delta}: ${said.join("; ")}.`;
  };
  controls.addEventListener("input", draw);
  draw();
});
