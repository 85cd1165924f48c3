// The captioner of Chapter 15 in the page: compose a scene, and it writes the caption, word by word.
// Data: { scene, colours, shapes, relations, unseen, vocabulary, side, paper, coverage, heads, normalisations,
// weights }; coverage has a byte for each pixel of each shape as first and as second object of each relation.

class LiveCaptioner {
  constructor({ heads, side, normalisations, weights }) {
    this.normalisations = normalisations;
    this.modules = unpackedModules(weights);
    this.heads = heads;
    this.side = side;
    this.layers = countLayers(this.modules, "blocks.#.attention_norm");
  }

  // Return the memory of a picture, given as three planes: a row for each location.
  see(planes) {
    const { modules } = this;
    let [seen, side] = [planes, this.side];
    this.normalisations.forEach((norm, index) => {
      const layer = modules[`encoder.layers.${3 * index}`]; // convolution, batch normalisation and ReLU in turn
      const size = Math.sqrt(layer.weight[0].length / seen.length);
      const stride = size === 1 ? 1 : 2;
      seen = convolved(seen, side, layer, size, stride).map((plane, channel) =>
        plane.map((entry) => Math.max(0, norm.gain[channel] * entry + norm.shift[channel])),
      );
      side /= stride;
    });
    const along = (index) => (2 * index) / (side - 1) - 1;
    return Array.from({ length: side * side }, (_, location) => {
      const place = [along(Math.floor(location / side)), along(location % side)];
      const [added] = linear([place], modules["encoder.position"]);
      return added.map((entry, channel) => entry + seen[channel][location]);
    });
  }

  // Return the logits after each of the words, and with which weights each read the memory: the mean of all blocks.
  write(words, memory) {
    const { modules, heads, layers } = this;
    const table = modules.embed.weight;
    let vectors = words.map((word, position) => add([table[word]], [sinusoids(position, table[word].length)])[0]);
    const looks = words.map(() => memory.map(() => 0));
    for (let layer = 0; layer < layers; layer += 1) {
      const across = { memory, module: "cross_attention.part", heads: 1 };
      const step = runBlock(modules, `blocks.${layer}`, vectors, { heads, causal: true }, across);
      vectors = step.vectors;
      step.looks[0].forEach((row, word) => row.forEach((look, key) => (looks[word][key] += look / layers)));
    }
    return { logits: linear(normalise(vectors, modules.norm), modules.to_logits).map((row) => [...row]), looks };
  }
}

// Return what a convolution makes of planes of side × side: planes of side / stride.
function convolved(planes, side, { weight, bias }, size, stride) {
  const across = side / stride;
  const margin = (size - 1) / 2;
  return weight.map((kernel, channel) => {
    const plane = new Float64Array(across * across).fill(bias[channel]);
    for (let y = 0; y < across; y += 1) {
      for (let x = 0; x < across; x += 1) {
        for (let below = 0; below < size; below += 1) {
          for (let right = 0; right < size; right += 1) {
            const [row, column] = [stride * y + below - margin, stride * x + right - margin];
            if (row < 0 || column < 0 || row >= side || column >= side) continue;
            for (let input = 0; input < planes.length; input += 1) {
              plane[across * y + x] += kernel[(input * size + below) * size + right] * planes[input][side * row + column];
            }
          }
        }
      }
    }
    return plane;
  });
}

explore("captions", (root, data) => {
  const captioner = new LiveCaptioner(data);
  const { side, vocabulary } = data;
  const [start, end] = ["<start>", "<end>"].map((word) => vocabulary.indexOf(word));
  const longest = data.scene.length + 1;
  const coverage = Uint8Array.from(atob(data.coverage), (character) => character.charCodeAt(0));
  const table = root.querySelector("table");
  const canvas = element("canvas", { role: "img" });
  root.querySelector(".seen").replaceChildren(canvas);
  const names = ["first colour", "first shape", "relation", "second colour", "second shape"];
  const colours = Object.keys(data.colours);
  const kinds = [colours, data.shapes, data.relations, colours, data.shapes];
  const fields = kinds.map((words, index) => {
    const options = words.map((word) => element("option", { selected: word === data.scene[index] && "" }, word));
    return element("select", { "aria-label": names[index] }, ...options);
  });
  const more = element("button", { type: "button" }, "write the next word");
  const all = element("button", { type: "button" }, "write the caption");
  const again = element("button", { type: "button" }, "begin again");
  const spoken = spokenLine();
  root.prepend(element("div", { class: "controls scene", role: "group", "aria-label": "the scene" }, ...fields));
  table.before(element("div", { class: "controls" }, more, all, again));
  root.append(spoken);
  let planes, memory, written, chosen;
  root.live = (words) => ({ planes: planes.map((plane) => [...plane]), ...captioner.write(words, memory) }); // for the tests

  const compose = () => {
    const [colour, shape, relation, otherColour, otherShape] = fields.map((field) => field.value);
    const objects = [
      [colour, shape],
      [otherColour, otherShape],
    ];
    planes = [0, 1, 2].map((channel) => {
      const plane = new Float64Array(side * side).fill(data.paper);
      objects.forEach(([paint, form], which) => {
        const number = (2 * data.relations.indexOf(relation) + which) * data.shapes.length + data.shapes.indexOf(form);
        for (let pixel = 0; pixel < plane.length; pixel += 1) {
          const opacity = coverage[number * plane.length + pixel] / 255;
          plane[pixel] = plane[pixel] * (1 - opacity) + data.colours[paint][channel] * opacity;
        }
      });
      return plane;
    });
    memory = captioner.see(planes);
    written = [start];
  };

  const ended = () => written.at(-1) === end || written.length > longest;

  const write = () => {
    const logits = captioner.write(written, memory).logits.at(-1);
    written.push(logits.indexOf(Math.max(...logits)));
    chosen = written.length - 2;
  };

  const writeAll = () => {
    while (!ended()) write();
    chosen = Math.min(names.indexOf("second colour"), written.length - 2); // a word whose map is easy to read
  };

  const draw = () => {
    const words = written.slice(1).map((word) => vocabulary[word].replace(/[<>]/g, ""));
    const { logits, looks } = words.length ? captioner.write(written.slice(0, -1), memory) : { logits: [], looks: [] };
    const shares = logits.map(softmax);
    const rows = words.map((word, index) => {
      const button = element("button", { type: "button", "aria-pressed": index === chosen }, word);
      button.addEventListener("click", () => {
        chosen = index;
        draw();
        table.rows[index + 1].querySelector("button").focus();
      });
      const ranking = shares[index].map((_, token) => token).sort((a, b) => shares[index][b] - shares[index][a]);
      const nextBest = `${vocabulary[ranking[1]].replace(/[<>]/g, "")} ${shares[index][ranking[1]].toFixed(2)}`;
      const probability = element("td", { class: "bar" });
      setBar(probability, shares[index][written[index + 1]]);
      return element("tr", {}, element("th", { scope: "row" }, button), probability, element("td", {}, nextBest));
    });
    table.replaceChildren(table.caption, table.rows[0], ...rows);
    const pixels = Array.from({ length: 3 * side * side }, (_, at) => 255 * planes[at % 3][Math.floor(at / 3)]);
    drawLit(canvas, side, pixels, chosen === null ? null : looks[chosen]);
    canvas.setAttribute(
      "aria-label",
      chosen === null ? "The scene, fully lit" : `The scene as lit when the captioner wrote “${words[chosen]}”`,
    );
    more.setAttribute("aria-disabled", ended());
    all.setAttribute("aria-disabled", ended());
    again.setAttribute("aria-disabled", chosen === null);
    spoken.textContent = report(words, looks, shares);
  };

  const report = (words, looks, shares) => {
    const truth = fields.map((field) => field.value);
    const objects = [truth.slice(0, 2), truth.slice(3)].filter((pair) => data.unseen.some((each) => each.join() === pair.join()));
    const withheld = [...new Set(objects.map((pair) => pair.join(" ")))];
    const warning = withheld.length ? ` Training never showed a ${withheld.join(" or a ")}.` : "";
    if (chosen === null) return `The captioner has read the picture and written nothing yet.${warning}`;
    const across = Math.sqrt(looks[chosen].length);
    const most = looks[chosen].indexOf(Math.max(...looks[chosen]));
    const look =
      `“${words[chosen]}” has probability ${shares[chosen][written[chosen + 1]].toFixed(2)}; its largest weight ` +
      `(${looks[chosen][most].toFixed(2)}) is on row ${Math.floor(most / across) + 1}, column ${(most % across) + 1} of ${across} by ${across} locations.`;
    if (!ended()) return look + warning;
    const caption = words.filter((word) => word !== "end").join(" ");
    const verdict = caption === truth.join(" ") ? "The caption is right." : `The caption says “${caption}”: that is wrong.`;
    return `${verdict} ${look}${warning}`;
  };

  const begin = () => {
    written = [start];
    chosen = null; // the picture is fully lit
    draw();
  };

  const press = (button, act) =>
    button.addEventListener("click", () => {
      if (ended()) return;
      act();
      draw();
    });
  press(more, write);
  press(all, writeAll);
  again.addEventListener("click", begin);
  const show = () => {
    compose();
    writeAll();
    draw();
  };
  fields.forEach((field) => field.addEventListener("input", show));
  show();
});
