// The model of Chapter 14, attention alone, in the page: type a sequence that repeats, and see the stripe of an induction head.
// Data: { sequence, letters, heads, longest, begin: [layer, head], weights }.

class LiveAttentionOnly {
  constructor({ heads, weights }) {
    this.modules = unpackedModules(weights);
    this.heads = heads;
    this.layers = countLayers(this.modules, "norms.#");
  }

  // Return the logits after each of the tokens, and all attention weights: [layer][head][query][key].
  read(tokens) {
    const { modules, heads } = this;
    const table = modules.embed.weight;
    let vectors = tokens.map((token, position) => add([table[token]], [sinusoids(position, table[token].length)])[0]);
    const maps = [];
    for (let layer = 0; layer < this.layers; layer += 1) {
      const own = normalise(vectors, modules[`norms.${layer}`]);
      const { output, weights } = attend(modules, `attentions.${layer}`, own, own, { heads, causal: true });
      vectors = add(vectors, output);
      maps.push(weights);
    }
    return { logits: linear(normalise(vectors, modules.norm), modules.unembed).map((row) => [...row]), maps };
  }
}

explore("induction", (root, data) => {
  const model = new LiveAttentionOnly(data);
  root.model = model; // for the tests, which hold its logits to torch's
  const [mapName, map] = [".map-name", ".map"].map((each) => root.querySelector(each));
  const [shares, next] = root.querySelectorAll("table");
  const field = element("input", { inputmode: "text", maxlength: data.longest, size: data.longest, value: data.sequence });
  field.spellcheck = false;
  field.autocapitalize = "off";
  const write = element("button", { type: "button" }, "write the next letter");
  const numbers = (count) => Array.from({ length: count }, (_, index) => String(index + 1));
  const layer = choices("layer", numbers(model.layers), data.begin[0]);
  const head = choices("head", numbers(data.heads), data.begin[1]);
  const spoken = spokenLine();
  root.prepend(element("div", { class: "controls" }, element("label", {}, "letters that the model reads ", field), write));
  map.after(element("div", { class: "controls" }, layer.group, head.group));
  root.append(spoken);

  // Whether a query's own letter stands before a key, at an earlier position than the query: an induction head looks there.
  const isMatch = (letters, query, key) => key > 0 && key <= query && letters[key - 1] === letters[query];

  const draw = () => {
    const typed = [...field.value.toLowerCase()];
    const letters = typed.filter((each) => data.letters.includes(each));
    const dropped = typed.length - letters.length;
    const told = dropped ? `Only the letters ${data.letters} are read. ` : "";
    write.setAttribute("aria-disabled", !letters.length || letters.length === data.longest);
    if (!letters.length) {
      spoken.textContent = `${told}Type some letters, and then the same once more.`;
      return;
    }
    const { logits, maps } = model.read(letters.map((each) => data.letters.indexOf(each)));
    const [chosenLayer, chosenHead] = [layer.chosen(), head.chosen()];
    const weights = maps[chosenLayer][chosenHead];
    const name = `Layer ${chosenLayer + 1}, head ${chosenHead + 1}`;
    mapName.textContent = `${name}: a row for each query, a column for each key. Outlined: what follows an earlier copy of the query.`;
    map.setAttribute("aria-label", mapName.textContent);
    map.style.setProperty("--cells", letters.length);
    const cell = (query, key) => {
      const look = isMatch(letters, query, key) ? "match" : key > query && "future";
      const made = element("i", { class: look, title: `${letters[query]} reads ${letters[key]}: ${weights[query][key].toFixed(2)}` });
      made.style.setProperty("--weight-here", weights[query][key].toFixed(3));
      return made;
    };
    map.replaceChildren(
      ...["", ...letters].map((letter) => element("b", {}, letter)),
      ...letters.flatMap((letter, query) => [element("b", {}, letter), ...letters.map((_, key) => cell(query, key))]),
    );

    const positions = letters.map((_, position) => position);
    const matches = positions.map((query) => positions.filter((key) => isMatch(letters, query, key)));
    const repeats = positions.filter((query) => matches[query].length);
    const given = (rows, query) => matches[query].reduce((sum, key) => sum + rows[query][key], 0);
    const share = (rows) => repeats.reduce((sum, query) => sum + given(rows, query), 0) / Math.max(1, repeats.length);
    maps.forEach((heads, row) => heads.forEach((rows, column) => setBar(shares.rows[row + 1].cells[column + 1], share(rows))));
    const probabilities = softmax(logits.at(-1));
    const best = probabilities.map((_, token) => token).sort((a, b) => probabilities[b] - probabilities[a] || a - b);
    [...next.rows].slice(1).forEach((row, index) => {
      row.cells[0].textContent = data.letters[best[index]];
      setBar(row.cells[1], probabilities[best[index]]);
    });

    const last = letters.length - 1;
    const most = weights[last].indexOf(Math.max(...weights[last]));
    spoken.textContent =
      `${told}After “${letters[last]}” the model expects “${data.letters[best[0]]}” (${probabilities[best[0]].toFixed(2)}). ` +
      `${name} gives ${weights[last][most].toFixed(2)} of the last letter’s weight to “${letters[most]}” at position ${most}` +
      (isMatch(letters, last, most) ? `, which follows an earlier “${letters[last]}”.` : ".") +
      (repeats.length ? "" : " No letter has come twice, so there is nothing to copy yet.");
    return data.letters[best[0]];
  };

  write.addEventListener("click", () => {
    if (write.getAttribute("aria-disabled") === "true") return;
    field.value += draw();
    draw();
  });
  field.addEventListener("input", draw);
  [layer, head].forEach(({ group }) => group.addEventListener("input", draw));
  draw();
});
