// <div class="softmax-explorer" data-scores="0.5,2,1"></div>: bars of softmax weights under a slider for the temperature.

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".softmax-explorer").forEach(buildSoftmaxExplorer);
});

function softmax(scores, temperature) {
  const largest = Math.max(...scores);
  const exponentials = scores.map((score) => Math.exp((score - largest) / temperature));
  const total = exponentials.reduce((sum, each) => sum + each, 0);
  return exponentials.map((each) => each / total);
}

function buildSoftmaxExplorer(root) {
  const scores = root.dataset.scores.split(",").map(Number);
  root.innerHTML = `
    <label>temperature <input type="range" min="-2" max="1" step="0.02" value="0"> <output class="reading"></output></label>
    <div class="bars"></div>
    <p class="hint">Move the sliders. The scores below the bars can be changed too.</p>`;
  const slider = root.querySelector("input");
  const bars = root.querySelector(".bars");

  const columns = scores.map((score, index) => {
    const column = document.createElement("div");
    column.className = "column";
    column.innerHTML = `
      <div class="track"><span class="share"></span><div class="bar"></div></div>
      <input type="range" min="-3" max="3" step="0.1" value="${score}" aria-label="score ${index + 1}">
      <span class="score"></span>`;
    bars.append(column);
    return column;
  });

  // The slider holds the exponent, so that equal movements multiply the temperature by equal factors.
  const draw = () => {
    const temperature = 10 ** Number(slider.value);
    root.querySelector(".reading").textContent = temperature.toPrecision(2);
    const current = columns.map((column) => Number(column.querySelector("input").value));
    softmax(current, temperature).forEach((weight, index) => {
      const column = columns[index];
      column.querySelector(".bar").style.height = `${100 * weight}%`;
      column.querySelector(".share").textContent = weight.toFixed(2);
      column.querySelector(".score").textContent = current[index].toFixed(1);
    });
  };
  root.addEventListener("input", draw);
  draw();
}
