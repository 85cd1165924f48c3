// What goes deeper is folded: a link that leads into it opens it, and so does printing.
(() => {
  const openAtTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = target?.closest("details.deeper"); fold; fold = fold.parentElement.closest("details.deeper")) {
      fold.open = true;
    }
    target?.querySelector(":scope > details.deeper")?.setAttribute("open", "");
    const next = target?.nextElementSibling; // a label is an empty element before the fold that it names
    if (next?.matches("details.deeper")) next.open = true;
    target?.scrollIntoView();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", openAtTarget);
  else openAtTarget();
  window.addEventListener("hashchange", openAtTarget);
  // A link to where one already is changes no address.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href*='#']");
    if (link && link.href === location.href) openAtTarget();
  });

  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.deeper:not([open])")];
    for (const fold of closed) fold.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
  });
})();
