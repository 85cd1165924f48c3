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
    drawLit(canvas, side, pixels, word === null ? null : weights[word]);
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
