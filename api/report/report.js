// The table of items: a heading sorts by its column, the search field keeps the rows with the typed text.
for (const list of document.querySelectorAll("section.list")) {
  const body = list.querySelector("tbody"), field = list.querySelector("input"), status = list.querySelector("[role=status]");
  const rows = [...body.rows];
  const say = () => { status.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length + " shown"; };
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    say();
  });
  list.querySelectorAll("th").forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      list.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const numeric = heading.classList.contains("number");
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (numeric && (x === "" || y === "")) return (x === "") - (y === "");
        const order = numeric ? x - y : x.localeCompare(y);
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
  say();
}
