// Formulas are drawn when one comes near the window, or when the page has long been there; a few at a time, so that the
// page answers a reader meanwhile.
(() => {
  const PIECE = 8; // milliseconds of work in one go, on a fast machine: a telephone takes four times as long
  const LATER = 3000; // milliseconds after the page has loaded: then the reader has begun to read
  const { mathjax } = document.currentScript.dataset;
  const left = [...document.querySelectorAll(".math")];
  const pause = () => new Promise((resolve) => setTimeout(resolve));

  const drawAll = async () => {
    for (let number = 1; left.length; await pause()) {
      const start = performance.now();
      await MathJax.typesetPromise(left.splice(0, number));
      number = performance.now() - start < PIECE ? 2 * number : Math.ceil(number / 2);
    }
  };
  window.MathJax.startup = { pageReady: drawAll };

  let drawn = null; // a promise from the moment on at which drawing has begun
  const begin = () =>
    (drawn ??= new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = mathjax;
      script.onload = () => resolve(MathJax.startup.promise);
      document.head.append(script);
    }));
  const near = new IntersectionObserver(
    (formulas) => {
      if (formulas.some((formula) => formula.isIntersecting)) {
        near.disconnect();
        begin();
      }
    },
    { rootMargin: "100% 0px" },
  );

  window.drawFormulas = begin;
  window.addEventListener("beforeprint", () => MathJax.typeset?.(left.splice(0)));
  window.addEventListener("load", () => {
    left.forEach((formula) => near.observe(formula));
    setTimeout(begin, LATER);
  });
})();
