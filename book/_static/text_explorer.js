// The language model of Chapter 11 in the page: it reads what is typed, and writes on.
// Data: { prompt, characters, heads, longest, begin: [layer, head], weights }.

class LiveLanguageModel {
  constructor({ heads, longest, weights }) {
    this.modules = unpackedModules(weights);
    this.heads = heads;
    this.longest = longest;
    this.known = [];
    this.kept = Array.from({ length: countLayers(this.modules, "blocks.#.attention_norm") }, () => ({ key: [], value: [] }));
  }

  // Return the logits of the token after `tokens`, of which the last `longest` are read, and the attention weights of
  // the last position: [layer][head][key]. Keys and values of what was read before are kept.
  read(tokens) {
    const window = tokens.slice(-this.longest);
    let same = 0;
    while (same < window.length - 1 && window[same] === this.known[same]) same += 1;
    this.known = window;
    const { weight } = this.modules.embed;
    let vectors = window.slice(same).map((token) => weight[token]);
    const looks = this.kept.map((kept, layer) => {
      kept.key.length = kept.value.length = same;
      const step = runBlock(this.modules, `blocks.${layer}`, vectors, { heads: this.heads, causal: true, rotary: true, kept });
      vectors = step.vectors;
      return step.weights.map((head) => head.at(-1));
    });
    const [logits] = linear(normalise([vectors.at(-1)], this.modules.norm), { weight });
    return { logits: [...logits], looks };
  }
}

// Return the probabilities that the next token is drawn with, as course_lib.decoding.sampling_probabilities does.
function samplingProbabilities(logits, temperature, topK, topP) {
  const ranking = logits.map((_, token) => token).sort((a, b) => logits[b] - logits[a] || a - b);
  if (temperature === 0) return logits.map((_, token) => (token === ranking[0] ? 1 : 0));
  const shares = softmax(logits.map((logit) => logit / temperature));
  const first = ranking.slice(0, topK);
  const total = first.reduce((sum, token) => sum + shares[token], 0);
  const kept = new Map();
  let together = 0;
  for (const token of first) {
    if (together >= topP) break;
    kept.set(token, shares[token] / total);
    together += shares[token] / total;
  }
  return logits.map((_, token) => (kept.get(token) ?? 0) / together);
}

// Return a function that gives the same numbers from 0 to 1 for the same seed (Park and Miller's multiplier).
function generatorOf(seed) {
  let state = 1_000_003 * seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function draw(probabilities, generator) {
  let rest = generator();
  const drawn = probabilities.findIndex((share) => (rest -= share) < 0);
  return drawn < 0 ? probabilities.indexOf(Math.max(...probabilities)) : drawn; // all were added up, and rounding is left
}

explore("text", (root, data) => {
  const model = new LiveLanguageModel(data);
  root.model = model; // for the tests, which hold its logits to torch's
  const characters = [...data.characters];
  const name = (token) => ({ " ": "space", "\n": "new line" })[characters[token]] ?? characters[token];
  const [shaded, mapName, table] = [".shaded", ".map-name", "table"].map((each) => root.querySelector(each));
  const field = element("textarea", { rows: 3, spellcheck: "false", autocapitalize: "off", maxlength: 2000 });
  field.value = data.prompt;
  const temperature = slider("temperature", { min: 0, max: 2, step: 0.1, value: 1 }, (value) => value.toFixed(1));
  const topK = slider("top-k", { min: 1, max: characters.length, step: 1, value: characters.length }, (value) =>
    value === characters.length ? "all" : String(value),
  );
  const topP = slider("top-p", { min: 0.05, max: 1, step: 0.05, value: 1 }, (value) => (value === 1 ? "all" : value.toFixed(2)));
  const seed = slider("seed", { min: 1, max: 20, step: 1, value: 1 }, String);
  const numbers = (count) => Array.from({ length: count }, (_, index) => String(index + 1));
  const layer = choices("layer", numbers(model.kept.length), data.begin[0]);
  const head = choices("head", numbers(data.heads), data.begin[1]);
  const one = element("button", { type: "button" }, "write one character");
  const forty = element("button", { type: "button" }, "write 40 characters");
  const again = element("button", { type: "button" }, "start again");
  const spoken = spokenLine();
  const sliders = [temperature, topK, topP, seed].map(({ control }) => control);
  root.prepend(element("label", { class: "prompt" }, "the text that the model reads", field));
  shaded.after(
    element("div", { class: "controls" }, layer.group, head.group),
    element("div", { class: "controls" }, one, forty, again),
  );
  root.append(element("div", { class: "controls" }, ...sliders), spoken);
  let prompt, written, generator, strange, timer;

  const start = () => {
    stop();
    strange = [...new Set(field.value)].filter((each) => !characters.includes(each));
    prompt = [...field.value].map((each) => characters.indexOf(characters.includes(each) ? each : " "));
    written = [];
    generator = generatorOf(Number(seed.input.value));
    show();
  };

  const stop = () => {
    clearTimeout(timer);
    timer = null;
    forty.textContent = "write 40 characters";
    spoken.setAttribute("aria-live", "polite");
  };

  const probabilities = (logits) =>
    samplingProbabilities(logits, Number(temperature.input.value), Number(topK.input.value), Number(topP.input.value));

  const show = () => {
    one.disabled = forty.disabled = !prompt.length;
    if (!prompt.length) {
      spoken.textContent = "Write at least one character for the model to read.";
      return;
    }
    const tokens = [...prompt, ...written];
    const { logits, looks } = model.read(tokens);
    const weights = looks[layer.chosen()][head.chosen()];
    const unread = tokens.length - weights.length;
    const largest = Math.max(...weights);
    mapName.textContent = `Layer ${layer.chosen() + 1}, head ${head.chosen() + 1}: what the last character reads`;
    shaded.setAttribute("aria-label", mapName.textContent);
    shaded.replaceChildren(
      ...tokens.map((token, position) => {
        const sign = characters[token];
        const mark = element("span", {}, sign === "\n" ? "⏎\n" : sign);
        if (position >= unread) mark.style.setProperty("--weight-here", (weights[position - unread] / largest).toFixed(3));
        mark.classList.toggle("unread", position < unread);
        mark.classList.toggle("written", position >= prompt.length);
        return mark;
      }),
    );

    const asModel = softmax(logits);
    const asDrawn = probabilities(logits);
    const rows = [...table.rows].slice(1);
    const best = asModel.map((_, token) => token).sort((a, b) => asModel[b] - asModel[a] || a - b).slice(0, rows.length - 1);
    const others = (shares) => Math.max(0, 1 - best.reduce((sum, token) => sum + shares[token], 0));
    rows.forEach((row, index) => {
      const last = index === rows.length - 1;
      if (!last) row.cells[0].textContent = name(best[index]);
      setBar(row.cells[1], last ? others(asModel) : asModel[best[index]]);
      setBar(row.cells[2], last ? others(asDrawn) : asDrawn[best[index]]);
    });
    const at = weights.indexOf(largest);
    const back = weights.length - 1 - at;
    const place = back ? `${back} position${back > 1 ? "s" : ""} before it` : "itself";
    spoken.textContent =
      (strange.length ? `The model does not know ${strange.join(" ")} and reads a space. ` : "") +
      (unread ? `Of the ${tokens.length} characters, the model reads the last ${data.longest}. ` : "") +
      `The model expects “${name(best[0])}” (${asModel[best[0]].toFixed(2)}); ` +
      `${asDrawn.filter((share) => share > 0).length} of ${characters.length} characters can be drawn. ` +
      `The last character gives most weight (${largest.toFixed(2)}) to “${name(tokens[unread + at])}”, ${place}.` +
      (written.length ? ` Written so far: ${written.map((token) => characters[token]).join("")}` : "");
  };

  const write = () => {
    const { logits } = model.read([...prompt, ...written]);
    written.push(draw(probabilities(logits), generator));
  };

  one.addEventListener("click", () => {
    stop();
    write();
    show();
  });
  const writeOn = (left) => {
    write();
    if (left > 1) timer = setTimeout(writeOn, 60, left - 1);
    else stop();
    show();
  };
  forty.addEventListener("click", () => {
    if (timer) {
      stop();
      show();
      return;
    }
    spoken.setAttribute("aria-live", "off"); // one sentence at the end, not forty
    forty.textContent = "stop";
    writeOn(40);
  });
  again.addEventListener("click", start);
  field.addEventListener("input", start);
  seed.input.addEventListener("input", start);
  [temperature, topK, topP].forEach(({ input }) => input.addEventListener("input", show));
  [layer, head].forEach(({ group }) => group.addEventListener("input", show));
  start();
});
