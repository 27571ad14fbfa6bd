/* ---- tables: a click on a heading sorts, another one turns the order round ---- */
function sortTable(header) {
  const table = header.closest("table"), body = table.tBodies[0];
  const column = header.cellIndex, down = header.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  /* Cells of texts that show numbers, as ratios with their intervals, have the number too. */
  const text = Array.from(body.rows).every((row) => row.cells[column].dataset.value === undefined);
  const sign = down ? -1 : 1;
  const key = (row) => {
    const cell = row.cells[column];
    if (text) return cell.textContent;
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  };
  const order = (a, b) => {
    const [x, y] = [a.key, b.key];
    if (x === null || y === null) return (x === null) - (y === null); /* unknown: always last */
    return sign * (text ? x.localeCompare(y, "en", { numeric: true }) : x - y);
  };
  const rows = Array.from(body.rows, (row) => ({ row, key: key(row) })).sort(order);
  body.append(...rows.map((one) => one.row));
}
for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => sortTable(button.closest("th")));
}

/* ---- light or dark ---- */
const dark = () => {
  const said = document.documentElement.dataset.theme;
  return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  if (chart) chart.paint();
});

/* What is folded away is on paper, too, where it says something there. */
const unfolded = [];
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.printed:not([open])")) {
    part.open = true;
    unfolded.push(part);
  }
  if (chart?.data) chart.onPaper();
});
addEventListener("afterprint", () => {
  for (const part of unfolded.splice(0)) part.open = false;
  for (const picture of document.querySelectorAll(".paper")) picture.remove();
});

/* What scrolls in its box can be reached by the keyboard. */
function reachable() {
  for (const box of document.querySelectorAll("figure > div")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0; else box.removeAttribute("tabindex");
  }
}
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true);
reachable();

async function start() {
  const { plot, runs } = JSON.parse(document.getElementById("island").textContent);
  if (runs.length) {
    const library = document.createElement("script");
    library.textContent = await unpacked(document.getElementById("library").textContent);
    document.head.append(library);
    const packed = Array.from(document.querySelectorAll("script.schedule"), (one) => one.textContent);
    const selects = [...document.querySelectorAll("select.run")];
    chart = new Chart(plot, runs, packed);
    selects.forEach((select, side) => select.addEventListener("change", () => chart.show(chosen(selects, runs, side))));
    document.getElementById("colour").addEventListener("change", () => chart.draw());
    document.getElementById("job").addEventListener("input", () => chart.look());
    for (const button of document.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => chart.press(button.dataset.show));
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.paint());
    await chart.show(chosen(selects, runs, 0));
  }
  document.documentElement.dataset.ready = "yes";
}
/* The words and the other charts are there before the schedules, which take a moment. */
requestAnimationFrame(() => setTimeout(start));
