// The forward pass of a transformer, for the live models of the explorers. Every function is one that the book explains.
// A matrix is an array of rows (Float64Array). Weights come from course_lib.explorers.weights.

// Return a packed model by its modules: { "blocks.0.attention.to_query": { weight, bias }, ... }.
function unpackedModules(weights) {
  const modules = {};
  for (const [name, tensor] of Object.entries(weights)) {
    const end = name.lastIndexOf(".");
    (modules[name.slice(0, end)] ??= {})[name.slice(end + 1)] = unpacked(tensor);
  }
  return modules;
}

// Return a vector, or a matrix, of which a tensor with more dimensions has one row for each entry of the first.
function unpacked({ shape, half, unit, whole }) {
  const bytes = atob(half ?? whole);
  const numbers = new Float64Array(bytes.length / 2);
  for (let index = 0; index < numbers.length; index += 1) {
    const bits = bytes.charCodeAt(2 * index) + 256 * bytes.charCodeAt(2 * index + 1);
    numbers[index] = half ? fromHalf(bits) : unit * (bits < 32_768 ? bits : bits - 65_536);
  }
  if (shape.length === 1) return numbers;
  const width = numbers.length / shape[0];
  return Array.from({ length: shape[0] }, (_, row) => numbers.subarray(row * width, (row + 1) * width));
}

// Return the number that 16 bits stand for: a sign, five bits of exponent, ten of fraction.
function fromHalf(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction;
  return bits >> 15 ? -size : size;
}

// Return how many modules there are of a name with the layer's number in it: countLayers(modules, "blocks.#.attention_norm").
function countLayers(modules, name) {
  let layers = 0;
  while (modules[name.replace("#", layers)]) layers += 1;
  return layers;
}

// Return the dot product of two vectors, or of a part of them.
function dot(first, second, start = 0, end = first.length) {
  let total = 0;
  for (let index = start; index < end; index += 1) total += first[index] * second[index];
  return total;
}

function add(rows, others) {
  return rows.map((row, index) => row.map((entry, column) => entry + others[index][column]));
}

function linear(rows, { weight, bias }) {
  return rows.map((row) => {
    const output = new Float64Array(weight.length);
    for (let index = 0; index < weight.length; index += 1) output[index] = dot(row, weight[index]) + (bias ? bias[index] : 0);
    return output;
  });
}

function normalise(rows, { gain, bias }) {
  return rows.map((row) => {
    const mean = row.reduce((total, entry) => total + entry, 0) / row.length;
    const variance = row.reduce((total, entry) => total + (entry - mean) ** 2, 0) / row.length;
    return row.map((entry, column) => (gain[column] * (entry - mean)) / Math.sqrt(variance + 1e-5) + bias[column]);
  });
}

// Return the angle of an entry's pair at a position: the pairs of a vector turn at speeds from 1 down to nearly 1/10000.
function angleAt(position, column, width) {
  return position / 10000 ** ((column - (column % 2)) / width);
}

// Return the sinusoidal code of a position.
function sinusoids(position, width) {
  return Float64Array.from({ length: width }, (_, column) => {
    const angle = angleAt(position, column, width);
    return column % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

// Turn the pairs of each head of a vector by the angles of its position: rotary positions.
function rotated(vector, position, heads) {
  const width = vector.length / heads;
  const turned = new Float64Array(vector.length);
  for (let first = 0; first < vector.length; first += 2) {
    const angle = angleAt(position, first % width, width);
    turned[first] = vector[first] * Math.cos(angle) - vector[first + 1] * Math.sin(angle);
    turned[first + 1] = vector[first] * Math.sin(angle) + vector[first + 1] * Math.cos(angle);
  }
  return turned;
}

// Let rows of `reading` read rows of `memory`; return { output, weights: [head][query][key] }.
// causal: no row reads what comes after it. present: which keys may be read, all by default. rotary: whether positions
// are rotations. kept: a key-value cache { key, value }, to which the keys and values of `memory` are appended.
function attend(modules, name, reading, memory, { heads, causal, present, rotary, kept }) {
  let query = linear(reading, modules[`${name}.to_query`]);
  let key = linear(memory, modules[`${name}.to_key`]);
  let value = linear(memory, modules[`${name}.to_value`]);
  const before = kept ? kept.key.length : 0;
  if (rotary) [query, key] = [query, key].map((rows) => rows.map((row, index) => rotated(row, before + index, heads)));
  if (kept) {
    kept.key.push(...key);
    kept.value.push(...value);
    ({ key, value } = kept);
  }
  const width = query[0].length / heads;
  const weights = Array.from({ length: heads }, () => []);
  const mixed = query.map((row, position) => {
    const output = new Float64Array(row.length);
    const mayRead = (index) => !(causal && index > before + position) && present?.[index] !== false;
    for (let head = 0; head < heads; head += 1) {
      const [start, end] = [head * width, (head + 1) * width];
      const shares = softmax(key.map((each, index) => (mayRead(index) ? dot(row, each, start, end) / Math.sqrt(width) : -Infinity)));
      shares.forEach((share, index) => {
        if (!share) return;
        for (let column = start; column < end; column += 1) output[column] += share * value[index][column];
      });
      weights[head].push(shares);
    }
    return output;
  });
  const last = modules[`${name}.to_output`]; // a single head may do without
  return { output: last ? linear(mixed, last) : mixed, weights };
}

function feedForward(modules, name, rows) {
  const hidden = linear(rows, modules[`${name}.expand`]);
  return linear(hidden.map((row) => row.map((entry) => Math.max(0, entry))), modules[`${name}.contract`]);
}

// Run a pre-norm block; return { vectors, weights: of its self-attention, looks: of the memory, if it reads one }.
// `how` is for self-attention, `across` for what reads the memory: { memory, module, heads }.
function runBlock(modules, name, vectors, how, across) {
  const own = normalise(vectors, modules[`${name}.attention_norm`]);
  const { output, weights } = attend(modules, `${name}.attention`, own, own, how);
  vectors = add(vectors, output);
  let looks;
  if (across) {
    const asking = normalise(vectors, modules[`${name}.cross_attention_norm`]);
    const read = attend(modules, `${name}.${across.module}`, asking, across.memory, { heads: across.heads });
    vectors = add(vectors, read.output);
    looks = read.weights;
  }
  const branch = normalise(vectors, modules[`${name}.feed_forward_norm`]);
  return { vectors: add(vectors, feedForward(modules, `${name}.feed_forward`, branch)), weights, looks };
}
