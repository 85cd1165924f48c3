// The trained encoder and decoder of Chapter 9, in the page: type a number, and it is translated token by token.
// Data: { number, vocabulary, heads, longest, weights }.

const START = 1;
const END = 2;

class Translator {
  constructor({ vocabulary, heads, weights }) {
    this.vocabulary = vocabulary;
    this.heads = heads;
    this.modules = unpackedModules(weights);
    this.layers = countLayers(this.modules, "encoder.#.attention_norm");
  }

  // Return the vectors of tokens: rows of the table times the root of their width, plus sines and cosines.
  embed(tokens) {
    const { table } = this.modules.embed;
    return tokens.map((token, position) => {
      const code = sinusoids(position, table[token].length);
      return table[token].map((entry, column) => entry * Math.sqrt(code.length) + code[column]);
    });
  }

  // Return the memory of source tokens, one row each.
  encode(source) {
    let vectors = this.embed(source);
    for (let layer = 0; layer < this.layers; layer += 1) {
      ({ vectors } = runBlock(this.modules, `encoder.${layer}`, vectors, { heads: this.heads }));
    }
    return normalise(vectors, this.modules.encoder_norm);
  }

  // Return the logits after each of the tokens, and where each of them looks in the memory: the mean of all heads.
  decode(tokens, memory) {
    const { heads, layers, modules } = this;
    let vectors = this.embed(tokens);
    const looks = tokens.map(() => memory.map(() => 0));
    for (let layer = 0; layer < layers; layer += 1) {
      const across = { memory, module: "cross_attention", heads };
      const step = runBlock(modules, `decoder.${layer}`, vectors, { heads, causal: true }, across);
      vectors = step.vectors;
      step.looks.forEach((head) =>
        head.forEach((row, query) => row.forEach((look, key) => (looks[query][key] += look / (heads * layers)))),
      );
    }
    const { table } = modules.embed;
    return { logits: linear(normalise(vectors, modules.decoder_norm), { weight: table }), looks };
  }

  // Return the tokens of the English name of a number below a million.
  read(number) {
    return englishName(number).map((word) => this.vocabulary.indexOf(word));
  }
}

const UNITS = `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
  seventeen eighteen nineteen`.split(/\s+/);
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

function englishName(number) {
  if (number < 20) return [UNITS[number]];
  if (number < 100) return [TENS[Math.floor(number / 10) - 2], ...(number % 10 ? [UNITS[number % 10]] : [])];
  const [size, name] = number < 1000 ? [100, "hundred"] : [1000, "thousand"];
  const rest = number % size;
  const joined = rest ? [...(rest < 100 ? ["and"] : []), ...englishName(rest)] : [];
  return [...englishName(Math.floor(number / size)), name, ...joined];
}

explore("translation", (root, data) => {
  const translator = new Translator(data);
  root.translator = translator; // for the tests, which hold its logits to torch's
  const figure = root.querySelector(".figure");
  const field = element("input", { inputmode: "numeric", maxlength: 6, size: 7, value: data.number });
  const whole = element("button", { type: "submit" }, "translate");
  const more = element("button", { type: "button" }, "one token at a time");
  const form = element("form", { class: "controls" }, element("label", {}, "a number below a million ", field), whole, more);
  const spoken = spokenLine();
  root.append(form, spoken);
  let source, memory, written;

  const begin = () => {
    const digits = field.value.replace(/[\s,.']/g, "");
    if (!/^\d{1,6}$/.test(digits)) {
      spoken.textContent = "Write a whole number from 0 to 999999, in digits.";
      return false;
    }
    source = translator.read(Number(digits));
    memory = translator.encode(source);
    written = [START];
    return true;
  };

  const ended = () => written.at(-1) === END || written.length > data.longest;

  const write = () => {
    const { logits } = translator.decode(written, memory);
    written.push(logits.at(-1).indexOf(Math.max(...logits.at(-1))));
  };

  const draw = () => {
    const words = source.map((token) => data.vocabulary[token]);
    const { looks, logits } = translator.decode(written.slice(0, -1), memory);
    const tokens = written.slice(1).map((token) => data.vocabulary[token]);
    const head = element("tr", {}, element("td"), ...words.map((word) => element("th", { scope: "col" }, element("span", {}, word))));
    const rows = looks.map((row, index) => {
      const cells = row.map((weight, key) =>
        element("td", { style: `--weight-here: ${weight.toFixed(3)}`, title: `${tokens[index]} looks at ${words[key]}: ${weight.toFixed(2)}` }),
      );
      return element("tr", {}, element("th", { scope: "row" }, tokens[index]), ...cells);
    });
    const caption = `${Number(field.value.replace(/\D/g, "")).toLocaleString("en")}: weights, to write each German token, of the English words`;
    figure.replaceChildren(element("table", {}, element("caption", {}, caption), head, ...rows));
    const look = looks.at(-1);
    const best = look.indexOf(Math.max(...look));
    const chance = softmax(logits.at(-1))[written.at(-1)];
    spoken.textContent =
      (ended() ? `Done: ${tokens.join(" ").replace(" <end>", "")}. ` : `Written so far: ${tokens.join(" ")}. `) +
      `The last token, “${tokens.at(-1)}”, has probability ${chance.toFixed(2)} and looks most at “${words[best]}” (${look[best].toFixed(2)}).`;
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!begin()) return;
    while (!ended()) write();
    draw();
  });
  field.addEventListener("input", () => (written = null));
  more.addEventListener("click", () => {
    if ((!written || ended()) && !begin()) return;
    write();
    draw();
  });
});
