// What axe-core finds in the theme and its extensions, put right in the page.
document.addEventListener("DOMContentLoaded", () => {
  const correct = (selector, change) => document.querySelectorAll(selector).forEach(change);

  // sphinx-book-theme: the label of a button must hold the words that stand on it ("Search Ctrl+K") ...
  correct(".search-button-field, .theme-switch-button", (button) => button.removeAttribute("aria-label"));
  // ... and the name of the book, above the contents, belongs to a landmark.
  correct(".sidebar-primary-item:has(> .navbar-brand)", (item) => {
    item.setAttribute("role", "region");
    item.setAttribute("aria-label", "Book");
  });

  // Pages are folded under others in the contents, as the exercises of a chapter, and the arrow that unfolds them has no name.
  correct(".bd-sidebar-primary summary", (arrow) => {
    const page = arrow.closest("li").querySelector("a").textContent.trim();
    arrow.setAttribute("aria-label", `Pages under ${page}`);
  });

  // Markdown's task lists: a box is named by the text beside it.
  correct(".task-list-item-checkbox", (box) => box.setAttribute("aria-label", box.parentElement.textContent.trim()));

  // docutils: a bibliography is a list of items; the role that it writes is deprecated.
  correct("[role=doc-biblioentry]", (entry) => entry.setAttribute("role", "listitem"));

  // jupyterquiz draws its questions after the page has loaded. Its fields have a name beside them, unconnected; its
  // answers belong to a question; what it says of an answer is spoken.
  const nameQuizzes = () => {
    correct(".Quiz .Input-text:not([aria-label])", (field) => field.setAttribute("aria-label", "Your answer"));
    correct(".Quiz .Answer:not([role])", (answers) => {
      answers.setAttribute("role", "group");
      answers.setAttribute("aria-labelledby", answers.id.replace("quizAns", "quizQn"));
    });
    correct(".Quiz .Feedback:not([role])", (feedback) => feedback.setAttribute("role", "status"));
  };
  new MutationObserver(nameQuizzes).observe(document.body, { childList: true, subtree: true });
  nameQuizzes();

  // A table that is wider than its window scrolls, and the keyboard must be able to reach it. (Those of the ledger are
  // reached in any case: far away they are not laid out, and nobody can tell.)
  const reach = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    }
  });
  correct(".bd-article table:not(.ledger)", (table) => reach.observe(table));
});
