// Choose a word, and see where the captioner looked. Each scene: { side, pixels: [r, g, b, ...] from 0 to 255, words,
// weights: [[...] for each word] }.

explore("looking", (root, scenes) => {
  let scene = 0;
  let word = null; // null shows the picture fully lit
  const canvas = element("canvas", { role: "img" });
  const words = element("div", { class: "words", role: "group", "aria-label": "words of the caption" });
  const another = element("button", { type: "button", class: "another" }, "another picture");
  root.querySelector(".figure").replaceChildren(canvas, words, another);

  const draw = () => {
    const { side, pixels, weights, words: spoken } = scenes[scene];
    canvas.width = canvas.height = side;
    const context = canvas.getContext("2d");
    const frame = context.createImageData(side, side);
    const light = word === null ? null : weights[word];
    const cells = light ? Math.sqrt(light.length) : 1;
    const brightest = light ? Math.max(...light) : 1;
    for (let y = 0; y < side; y += 1) {
      for (let x = 0; x < side; x += 1) {
        const cell = Math.floor((y * cells) / side) * cells + Math.floor((x * cells) / side);
        const lit = light ? 0.18 + (0.82 * light[cell]) / brightest : 1;
        const at = y * side + x;
        for (let channel = 0; channel < 3; channel += 1) {
          frame.data[4 * at + channel] = pixels[3 * at + channel] * lit;
        }
        frame.data[4 * at + 3] = 255;
      }
    }
    context.putImageData(frame, 0, 0);
    canvas.setAttribute(
      "aria-label",
      word === null ? "The picture, fully lit" : `The picture as lit when the captioner wrote “${spoken[word]}”`,
    );
    words.querySelectorAll("button").forEach((button, index) => button.setAttribute("aria-pressed", index === word));
  };

  const show = (index) => {
    scene = index;
    word = null;
    words.replaceChildren(
      ...scenes[scene].words.map((spoken, position) => {
        const button = element("button", { type: "button" }, spoken);
        for (const event of ["mouseenter", "focus", "click"]) {
          button.addEventListener(event, () => {
            word = position;
            draw();
          });
        }
        return button;
      }),
    );
    draw();
  };

  another.addEventListener("click", () => show((scene + 1) % scenes.length));
  show(0);
});
