// The trained classifier of Chapter 10 in the page: hide words of a review, and see logits and probability move.
// Data: { vocabulary, reviews: [[token, ...], ...], heads, positions, weights }.

class LiveClassifier {
  constructor({ heads, positions, weights }) {
    this.modules = unpackedModules(weights);
    this.heads = heads;
    this.positions = positions;
    this.layers = countLayers(this.modules, "blocks.#.attention_norm");
  }

  // Return the logits of tokens, of which only those that are present are read and pooled.
  judge(tokens, present) {
    const { table } = this.modules.embed;
    let vectors = tokens.map((token, position) => {
      const scaled = table[token].map((entry, _, row) => entry * Math.sqrt(row.length));
      return this.positions ? add([scaled], [sinusoids(position, scaled.length)])[0] : scaled;
    });
    for (let layer = 0; layer < this.layers; layer += 1) {
      ({ vectors } = runBlock(this.modules, `blocks.${layer}`, vectors, { heads: this.heads, present }));
    }
    const seen = normalise(vectors, this.modules.norm).filter((_, position) => present[position]);
    const mean = seen[0].map((_, column) => seen.reduce((sum, vector) => sum + vector[column], 0) / seen.length);
    return [...linear([mean], this.modules.to_logits)[0]];
  }
}

explore("hiding", (root, data) => {
  const classifier = new LiveClassifier(data);
  root.classifier = classifier; // for the tests, which hold its logits to torch's
  const table = root.querySelector("table");
  const words = element("div", { class: "words", role: "group", "aria-label": "words of the review: press one to hide it" });
  const another = element("button", { type: "button", class: "another" }, "another review");
  const all = element("button", { type: "button", class: "another" }, "show all words");
  const spoken = spokenLine();
  root.querySelector(".words").replaceWith(words);
  root.append(element("div", { class: "controls" }, another, all), spoken);
  let index = 0;
  let tokens, present;

  const draw = () => {
    [...words.children].forEach((button, position) => button.setAttribute("aria-pressed", !present[position]));
    const [before, now] = [tokens.map(() => true), present].map((each) => classifier.judge(tokens, each));
    [now, before].forEach((logits, row) => {
      const { cells } = table.rows[row + 1];
      [...logits, logits[1] - logits[0]].forEach((each, column) => (cells[column + 1].textContent = asNumber(each)));
      setBar(cells[4], softmax(logits)[1]);
    });
    const praise = (logits) => softmax(logits)[1].toFixed(2);
    const odds = (logits) => asNumber(logits[1] - logits[0]);
    const hidden = tokens.filter((_, position) => !present[position]).map((token) => `“${data.vocabulary[token]}”`);
    spoken.textContent = hidden.length
      ? `Without ${hidden.join(" and ")}, the probability of praise is ${praise(now)}, with all words ${praise(before)}; ` +
        `the log-odds of praise are ${odds(now)}, with all words ${odds(before)}.`
      : `With all words, the probability of praise is ${praise(now)}, and the log-odds of praise are ${odds(now)}.`;
  };

  const show = () => {
    tokens = data.reviews[index];
    present = tokens.map(() => true);
    words.replaceChildren(
      ...tokens.map((token, position) => {
        const button = element("button", { type: "button" }, data.vocabulary[token]);
        button.addEventListener("click", () => {
          if (present[position] && present.filter(Boolean).length === 1) {
            spoken.textContent = "One word must stay: there is no mean of nothing.";
            return;
          }
          present[position] = !present[position];
          draw();
        });
        return button;
      }),
    );
    draw();
  };

  another.hidden = data.reviews.length === 1;
  another.addEventListener("click", () => {
    index = (index + 1) % data.reviews.length;
    show();
  });
  all.addEventListener("click", () => {
    present = tokens.map(() => true);
    draw();
  });
  show();
});
