// What positions add to one score: choose an encoding, the position of the query, and the offset of the key.
// Data: { scores: for each code a row for each query, from offset -reach to reach; alone, reach }.

explore("positions", (root, { scores, alone, reach }) => {
  const names = Object.keys(scores);
  const lines = root.querySelector("table");
  const path = (look) => root.querySelector(`path.${look}`);
  const code = choices("encoding", names, 0);
  const last = reach + scores[names[0]].length - 1;
  const query = slider("query at i", { min: reach, max: last, step: 1, value: reach }, asNumber);
  const offset = slider("offset j − i", { min: -reach, max: reach, step: 1, value: -2 }, asNumber);
  const spoken = spokenLine();
  const controls = element("div", { class: "controls" }, code.group, query.control, offset.control);
  root.append(controls, spoken);

  const through = (row) => row.map((score, column) => [column - reach, score]);
  const draw = () => {
    const name = names[code.chosen()];
    const rows = scores[name];
    const [i, delta] = [query, offset].map(({ input }) => Number(input.value));
    const row = rows[i - reach];
    const column = rows.map((each) => each[delta + reach]);
    const shown = [row[delta + reach], Math.min(...column), Math.max(...column)];
    const edges = [Math.max, Math.min].map((edge) => row.map((_, each) => edge(...rows.map((line) => line[each]))));

    const join = (points) => `M${points.map((point) => point.join(" ")).join("L")}`;
    path("band").setAttribute("d", `${join([...through(edges[0]), ...through(edges[1]).reverse()])}Z`);
    path("curve").setAttribute("d", join(through(row)));
    path("added").setAttribute("d", `M${delta} ${alone}V${shown[0]}`);
    path("here").setAttribute("d", `M${delta} ${shown[0]}h0`);
    const added = shown.map((score) => score - alone);
    [shown.map(() => alone), added, shown].forEach((line, index) => {
      line.forEach((value, place) => {
        lines.rows[index + 1].cells[place + 1].textContent = asNumber(value);
      });
    });
    lines.caption.textContent = `Offset ${asNumber(delta)}: here query ${i} and key ${i + delta}; over all queries`;

    const [score, lowest, highest] = shown.map(asNumber);
    spoken.textContent =
      `${name}, query at ${i}, key at ${i + delta}: the tokens alone give ${asNumber(alone)}, ` +
      `the positions add ${asNumber(added[0])}, and the score is ${score}. ` +
      (lowest === highest
        ? `At offset ${asNumber(delta)} it is the same wherever the query stands.`
        : `At offset ${asNumber(delta)} it goes from ${lowest} to ${highest}, as the query moves.`);
  };
  controls.addEventListener("input", draw);
  draw();
});
