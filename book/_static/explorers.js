// What the explorers share. An explorer is
//   <div class="KIND-explorer"><script type="application/json">data</script><div class="figure">...</div></div>
// made by course_lib.explorers: its figure stands without this script, and KIND_explorer.js makes it answer to the hand.

// Call build(root, data) for each explorer of a kind, when the page is there. Data that the book keeps in a file of its
// own (book/_extensions) are fetched when the reader comes near: a telephone shows the text first.
function explore(kind, build) {
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(`.${kind}-explorer`).forEach((root) => {
      const data = root.querySelector("script[type='application/json']");
      root.querySelector(".hint")?.remove(); // it says what can be done in the book: here we are
      if (data?.dataset.file) {
        whenNear(root, () => afterScript(data.dataset.file, () => build(root, keptApart[data.dataset.file])));
      } else {
        build(root, data ? JSON.parse(data.textContent) : root.dataset);
      }
    });
  });
}

const keptApart = {}; // file: data, filled by the files themselves, since a page on a disk may not fetch JSON

function whenNear(part, act) {
  const watch = (entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    act();
  };
  new IntersectionObserver(watch, { rootMargin: "1500px" }).observe(part);
}

function afterScript(file, act) {
  const script = element("script", { src: file });
  script.addEventListener("load", act);
  document.head.append(script);
}

// Make an element: element("button", { type: "button" }, "next"). Attributes that are false are left out.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(attribute, value);
  }
  made.append(...children);
  return made;
}

// Make a slider with its name before it and its value, in words, after it: { control, input, show }.
function slider(name, { min, max, step, value }, words) {
  const input = element("input", { type: "range", min, max, step });
  input.value = value;
  const reading = element("span", { class: "reading", "aria-hidden": "true" });
  const show = () => {
    reading.textContent = words(Number(input.value));
    input.setAttribute("aria-valuetext", reading.textContent);
  };
  input.addEventListener("input", show);
  show();
  const label = element("label", {}, element("span", {}, name), input);
  return { control: element("div", { class: "slider" }, label, reading), input, show };
}

// Make a group of choices of which one is taken: { group, chosen() }.
function choices(name, options, taken) {
  const id = `choice-${(choices.count = (choices.count ?? 0) + 1)}`;
  const inputs = options.map((words, index) => {
    const input = element("input", { type: "radio", name: id, value: index });
    input.checked = index === taken;
    return input;
  });
  const labels = inputs.map((input, index) => element("label", {}, input, options[index]));
  const group = element("fieldset", { class: "choices" }, element("legend", {}, name), ...labels);
  return { group, chosen: () => inputs.findIndex((input) => input.checked) };
}

// Make a line that a screen reader speaks when it changes.
function spokenLine() {
  return element("p", { class: "spoken", role: "status", "aria-live": "polite" });
}

// Draw a square picture (pixels: r, g, b, ... from 0 to 255) as lit by weights on a square grid; null lights all of it.
function drawLit(canvas, side, pixels, weights) {
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  const frame = context.createImageData(side, side);
  const cells = weights ? Math.sqrt(weights.length) : 1;
  const brightest = weights ? Math.max(...weights) : 1;
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      const cell = Math.floor((y * cells) / side) * cells + Math.floor((x * cells) / side);
      const lit = weights ? 0.18 + (0.82 * weights[cell]) / brightest : 1;
      const at = y * side + x;
      for (let channel = 0; channel < 3; channel += 1) {
        frame.data[4 * at + channel] = pixels[3 * at + channel] * lit;
      }
      frame.data[4 * at + 3] = 255;
    }
  }
  context.putImageData(frame, 0, 0);
}

function softmax(scores) {
  const largest = Math.max(...scores);
  const exponentials = scores.map((score) => Math.exp(score - largest));
  const total = exponentials.reduce((sum, each) => sum + each, 0);
  return exponentials.map((each) => each / total);
}

// Write a share into a cell made by course_lib.explorers.markup.bar.
function setBar(cell, share) {
  cell.style.setProperty("--share", share.toFixed(4));
  cell.textContent = share.toFixed(2);
}

// Write a number as in the drawings: a true minus sign, at most two decimals, and no zeros where nothing was rounded.
function asNumber(value) {
  const written = value.toFixed(2);
  const exact = Math.abs(Number(written) - value) < 1e-6;
  const words = exact ? String(Number(written)) : Number(written) === 0 ? "0.00" : written;
  return words.replace("-", "−");
}
