// Speculative decoding, step by step: a draft model proposes tokens, a large model judges all of them in one call.
// Data: { prompt, rounds: [{ drafts: [[token, q, p, drawn, kept]], token }] }; kept is null where an earlier draft of the
// round was rejected.

explore("speculation", (root, { prompt, rounds }) => {
  const [rows, counts] = root.querySelectorAll("table");
  const text = root.querySelector(".shaded");
  const nameOf = (token) => ({ " ": "space", "\n": "new line" })[token] ?? token;

  // Each step: how many drafts of a round are written, read by the large model and judged, and whether it has written.
  const steps = rounds.flatMap(({ drafts }, round) => {
    const all = drafts.length;
    const asked = drafts.filter(([, , , , kept]) => kept !== null).length;
    const state = (drafted, read, judged, written) => ({ round, drafted, read, judged, written });
    return [
      ...drafts.map((_, place) => state(place + 1, false, 0, false)),
      state(all, true, 0, false),
      ...[...Array(asked).keys()].map((place) => state(all, true, place + 1, false)),
      state(all, true, asked, true),
    ];
  });
  const first = steps.findIndex(({ written }) => written);
  const step = slider("step", { min: 1, max: steps.length, step: 1, value: first + 1 }, (at) => `${at} of ${steps.length}`);
  const [back, next, round] = ["step back", "next step", "next round"].map((words) => element("button", { type: "button" }, words));
  const spoken = spokenLine();
  // Under the text, so that on a telephone both are in view.
  root.querySelector(".key").after(element("div", { class: "controls" }, back, next, round, step.control), spoken);

  // Two decimals; for a small number two digits that count, so that p / q can be tried.
  const digits = (value) => value.toFixed(value > 0 && value < 0.1 ? 1 - Math.floor(Math.log10(value)) : 2);
  const write = (cell, words) => {
    cell.className = "";
    cell.textContent = words;
  };
  const share = (cell, value, shown) => {
    if (!shown) return write(cell, "");
    cell.className = "bar";
    setBar(cell, value);
    cell.textContent = digits(value);
  };
  // Write the tokens of a round into the text: those that stay, and at the round that is shown the others, too.
  const spans = ({ drafts, token }, { drafted, judged, written }, isPast) => {
    const made = drafts.slice(0, drafted).map(([word, , , , kept], place) => {
      const open = place >= judged && !(written && kept === null) && !(judged && drafts[judged - 1][4] === false);
      return element("span", { class: open ? "draft" : kept ? "kept" : "rejected" }, word);
    });
    const stay = drafts.filter(([, , , , kept]) => kept).length;
    if (written) made.splice(stay, 0, element("span", { class: "large" }, token));
    return isPast ? made.slice(0, stay + 1) : made;
  };
  const say = ({ round: number, drafted, read, judged, written }) => {
    const { drafts, token } = rounds[number];
    const begin = `Round ${number + 1}: `;
    if (written) {
      const stay = drafts.filter(([, , , , kept]) => kept).length;
      const where =
        stay < drafts.length
          ? `in place of “${nameOf(drafts[stay][0])}”, the large model draws “${nameOf(token)}” from the positive part of p − q.`
          : `all drafts are kept, so the large model adds “${nameOf(token)}”, drawn from p: a token that costs no further call.`;
      return `${begin}${where} One call wrote ${stay + 1} token${stay ? "s" : ""}.`;
    }
    if (judged) {
      const [word, q, p, drawn, kept] = drafts[judged - 1];
      const chance = Math.min(1, p / q);
      const why = p >= q ? "p is at least q" : `p / q is ${digits(chance)}`;
      const rest = drafts.length - judged;
      const dropped = rest ? ` The ${rest === 1 ? "draft" : `${rest} drafts`} after it ${rest === 1 ? "is" : "are"} dropped.` : "";
      return `${begin}“${nameOf(word)}” is kept with probability ${digits(chance)}, because ${why}. The number drawn is ${drawn.toFixed(2)}: ${kept ? "kept." : `rejected.${dropped}`}`;
    }
    if (read) return `${begin}one call of the large model reads all ${drafts.length} drafts, and gives p for each.`;
    const [word, q] = drafts[drafted - 1];
    return `${begin}the draft model proposes “${nameOf(word)}”, to which it gives the probability q = ${digits(q)}.`;
  };

  const draw = () => {
    const at = Number(step.input.value) - 1;
    const state = steps[at];
    const { round: number, drafted, read, judged, written } = state;
    const { drafts, token } = rounds[number];
    rows.caption.textContent = `Round ${number + 1}: q is the probability with the draft model, p with the large one`;
    const lines = [...rows.rows].slice(1);
    lines.slice(0, -1).forEach((line, place) => {
      const { cells } = line;
      line.hidden = place >= drafts.length; // the last round of a text may have fewer drafts
      const [word, q, p, drawn, kept] = drafts[place] ?? [];
      const isThere = place < drafted;
      const isJudged = place < judged;
      const isDropped = isThere && kept === null && judged > 0 && drafts[judged - 1][4] === false;
      write(cells[1], isThere ? nameOf(word) : "");
      share(cells[2], q, isThere);
      share(cells[3], p, isThere && read);
      share(cells[4], Math.min(1, p / q), isJudged);
      cells[4].classList.toggle("with-tick", isJudged); // at the number that was drawn
      cells[4].style.setProperty("--tick", (drawn ?? 0).toFixed(4));
      write(cells[5], isJudged ? drawn.toFixed(2) : "");
      write(cells[6], isJudged ? (kept ? "yes" : "no") : isDropped ? "dropped" : "");
    });
    const stay = drafts.filter(([, , , , kept]) => kept).length;
    const { cells } = lines.at(-1);
    write(cells[1], written ? nameOf(token) : "");
    const source =
      stay < drafts.length ? `drawn from the positive part of p − q, in place of draft ${stay + 1}` : "drawn from p, after the last draft";
    write(cells[2], written ? source : "");

    const whole = { drafted: Infinity, judged: Infinity, written: true };
    text.replaceChildren(
      element("span", {}, prompt),
      ...rounds.slice(0, number).flatMap((each) => spans(each, { ...whole, judged: each.drafts.length }, true)),
      ...spans(rounds[number], state, false),
    );
    const before = rounds.slice(0, number).flatMap((each) => each.drafts);
    const keptBefore = before.filter(([, , , , kept]) => kept).length;
    const keptNow = keptBefore + drafts.slice(0, judged).filter(([, , , , kept]) => kept).length;
    const tokens = keptNow + number + (written ? 1 : 0);
    const calls = number + (read ? 1 : 0);
    const shown = [
      [tokens, tokens],
      [calls, tokens],
      [`${keptNow} of ${before.length + drafted}`, ""],
    ];
    shown.forEach((pair, row) => pair.forEach((words, column) => write(counts.rows[row + 1].cells[column + 1], words)));
    // A button that is switched off would lose the keyboard's focus.
    back.setAttribute("aria-disabled", at === 0);
    for (const button of [next, round]) button.setAttribute("aria-disabled", at === steps.length - 1);
    spoken.textContent = say(state);
  };

  const move = (to) => {
    step.input.value = to + 1; // the slider keeps it within its limits
    step.show();
    draw();
  };
  back.addEventListener("click", () => move(Number(step.input.value) - 2));
  next.addEventListener("click", () => move(Number(step.input.value)));
  round.addEventListener("click", () => {
    const now = Number(step.input.value) - 1;
    const end = steps.findIndex(({ written }, index) => index > now && written);
    move(end < 0 ? steps.length - 1 : end);
  });
  step.input.addEventListener("input", draw);
  draw();
});
