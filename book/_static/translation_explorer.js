// The trained encoder and decoder of Chapter 9, in the page: type a number, and it is translated token by token.
// Data: { number, vocabulary, heads, longest, weights: { name: { shape, unit, whole } } }: a weight is a whole number
// of 16 bits times its unit.
// A matrix is an array of rows (Float64Array); every function below is one that the chapter explains.

const EPSILON = 1e-5;
const START = 1;
const END = 2;

class Translator {
  constructor({ vocabulary, heads, weights }) {
    this.vocabulary = vocabulary;
    this.heads = heads;
    this.weights = Object.fromEntries(Object.entries(weights).map(([name, packed]) => [name, unpacked(packed)]));
    this.layers = Object.keys(weights).filter((name) => /^encoder\.\d+\.attention\.to_query\.weight$/.test(name)).length;
  }

  // Return the vectors of tokens: rows of the table times the root of their width, plus sines and cosines.
  embed(tokens) {
    const { table } = this.named("embed");
    return tokens.map((token, position) =>
      table[token].map((entry, column, row) => {
        const angle = position / 10000 ** ((column - (column % 2)) / row.length);
        return entry * Math.sqrt(row.length) + (column % 2 ? Math.cos(angle) : Math.sin(angle));
      }),
    );
  }

  // Return the memory of source tokens, one row each.
  encode(source) {
    let vectors = this.embed(source);
    for (let layer = 0; layer < this.layers; layer += 1) {
      const own = normalise(vectors, this.named(`encoder.${layer}.attention_norm`));
      vectors = sum(vectors, this.attend(`encoder.${layer}.attention`, own, own).output);
      vectors = sum(vectors, this.feedForward(`encoder.${layer}`, vectors));
    }
    return normalise(vectors, this.named("encoder_norm"));
  }

  // Return the logits after each of the tokens, and where each of them looks in the memory: the mean of all heads.
  decode(tokens, memory) {
    let vectors = this.embed(tokens);
    let looks = tokens.map(() => memory.map(() => 0));
    for (let layer = 0; layer < this.layers; layer += 1) {
      const own = normalise(vectors, this.named(`decoder.${layer}.attention_norm`));
      vectors = sum(vectors, this.attend(`decoder.${layer}.attention`, own, own, true).output);
      const asking = normalise(vectors, this.named(`decoder.${layer}.cross_attention_norm`));
      const across = this.attend(`decoder.${layer}.cross_attention`, asking, memory);
      vectors = sum(vectors, across.output);
      vectors = sum(vectors, this.feedForward(`decoder.${layer}`, vectors));
      looks = looks.map((row, query) => row.map((look, key) => look + across.weights[query][key] / this.layers));
    }
    const { table } = this.named("embed");
    const last = normalise(vectors, this.named("decoder_norm"));
    return { logits: last.map((vector) => table.map((row) => dot(vector, row))), looks };
  }

  // Let rows of `reading` read rows of `memory`, in several heads; a causal row does not read what comes after it.
  attend(name, reading, memory, causal = false) {
    const query = linear(reading, this.named(`${name}.to_query`));
    const key = linear(memory, this.named(`${name}.to_key`));
    const value = linear(memory, this.named(`${name}.to_value`));
    const width = query[0].length / this.heads;
    const weights = reading.map(() => memory.map(() => 0));
    const mixed = query.map((row, position) => {
      const output = new Float64Array(row.length);
      for (let start = 0; start < row.length; start += width) {
        const part = (vector) => vector.subarray(start, start + width);
        const scores = key.map((each, index) =>
          causal && index > position ? -Infinity : dot(part(row), part(each)) / Math.sqrt(width),
        );
        softmax(scores).forEach((weight, index) => {
          weights[position][index] += weight / this.heads;
          part(value[index]).forEach((entry, column) => (output[start + column] += weight * entry));
        });
      }
      return output;
    });
    return { output: linear(mixed, this.named(`${name}.to_output`)), weights };
  }

  feedForward(block, vectors) {
    const branch = normalise(vectors, this.named(`${block}.feed_forward_norm`));
    const hidden = linear(branch, this.named(`${block}.feed_forward.expand`));
    return linear(hidden.map((row) => row.map((entry) => Math.max(0, entry))), this.named(`${block}.feed_forward.contract`));
  }

  // Return the parameters of a module by their last names, as { weight, bias }.
  named(module) {
    const found = Object.entries(this.weights).filter(([name]) => name.slice(0, name.lastIndexOf(".")) === module);
    return Object.fromEntries(found.map(([name, tensor]) => [name.slice(name.lastIndexOf(".") + 1), tensor]));
  }

  // Return the tokens of the English name of a number below a million.
  read(number) {
    return englishName(number).map((word) => this.vocabulary.indexOf(word));
  }
}

function unpacked({ shape, unit, whole }) {
  const bytes = Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const numbers = Float64Array.from({ length: bytes.length / 2 }, (_, index) => unit * view.getInt16(2 * index, true));
  if (shape.length === 1) return numbers;
  return Array.from({ length: shape[0] }, (_, row) => numbers.subarray(row * shape[1], (row + 1) * shape[1]));
}

function dot(first, second) {
  let total = 0;
  for (let index = 0; index < first.length; index += 1) total += first[index] * second[index];
  return total;
}

function linear(rows, { weight, bias }) {
  return rows.map((row) => Float64Array.from(weight, (outgoing, index) => dot(row, outgoing) + bias[index]));
}

function sum(rows, others) {
  return rows.map((row, index) => row.map((entry, column) => entry + others[index][column]));
}

function normalise(rows, { gain, bias }) {
  return rows.map((row) => {
    const mean = row.reduce((total, entry) => total + entry, 0) / row.length;
    const variance = row.reduce((total, entry) => total + (entry - mean) ** 2, 0) / row.length;
    return row.map((entry, column) => (gain[column] * (entry - mean)) / Math.sqrt(variance + EPSILON) + bias[column]);
  });
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
    const caption = `${Number(field.value.replace(/\D/g, "")).toLocaleString("en")}: weights from each German token to the English words`;
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
