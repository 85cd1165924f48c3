// Sorting, for whoever allows scripts; without it the table stands in the order of the names.
for (const [column, header] of [...document.querySelectorAll("#students thead tr:first-child th")].entries()) {
  const button = document.createElement("button");
  button.textContent = header.textContent;
  header.replaceChildren(button);
  button.addEventListener("click", () => {
    const up = header.getAttribute("aria-sort") !== "ascending";
    const sign = up ? 1 : -1;
    const body = document.querySelector("#students tbody");
    const key = (row) => column ? Number(row.cells[column].dataset.points) : row.cells[0].textContent;
    const order = (a, b) => sign * (column ? key(a) - key(b) : key(a).localeCompare(key(b)));
    body.replaceChildren(...[...body.rows].sort(order));
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
  });
}
