"use strict";
/* Tables: a click on a heading sorts, another one reverses the order; unknown values come last. */
for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => {
    const header = button.parentElement, table = header.closest("table"), at = header.cellIndex;
    const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const key = (row) => row.cells[at].dataset.value, rows = [...table.tBodies[0].rows];
    const isText = rows.every((row) => key(row) === undefined);
    rows.sort((a, b) => {
      if (isText) return sign * a.cells[at].textContent.localeCompare(b.cells[at].textContent, "en", { numeric: true });
      const unknown = (key(a) === undefined) - (key(b) === undefined);
      return unknown || sign * (key(a) - key(b));
    });
    table.tBodies[0].append(...rows);
  });
}

const root = document.documentElement, layouts = [];
document.getElementById("theme").addEventListener("click", () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
  /* Canvases take their colours from the style when they are painted. */
  for (const { plots } of layouts) for (const plot of plots) plot.change.emit();
});

async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (char) => char.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

/* Schedules: which run each chart shows, and which job is selected in both. */
async function draw(card) {
  const item = JSON.parse(await unpacked(card.querySelector(".item")));
  const [view] = await Bokeh.embed.embed_item({ ...item, target_id: card.querySelector(".gantt") });
  const plots = view.model.children, runs = plots.flatMap((plot) => plot.renderers);
  layouts.push({ view, plots });
  card.querySelectorAll("select").forEach((select, side) => select.addEventListener("change", () => {
    for (const run of runs) if (run.name.startsWith(`${side} `)) run.visible = run.name === `${side} ${select.value}`;
  }));
  const sources = new Set(runs.map((run) => run.data_source).filter((source) => source.data.job));
  const pick = (job) => {
    for (const source of sources) {
      const chosen = Array.from(source.data.job).flatMap((other, at) => (other === job ? [at] : []));
      if (String(chosen) !== String(source.selected.indices)) source.selected.indices = chosen;
    }
  };
  for (const source of sources) {
    source.selected.properties.indices.change.connect(() => pick(source.data.job[source.selected.indices[0]]));
  }
  card.querySelector("input").addEventListener("input", (event) => pick(event.target.value.trim()));
}

async function start() {
  const cards = document.querySelectorAll(".schedules");
  if (cards.length) {
    const library = document.createElement("script");
    library.textContent = await unpacked(document.getElementById("library"));
    document.head.append(library);
    for (const card of cards) await draw(card);
  }
  root.dataset.ready = "yes";
}
requestAnimationFrame(() => setTimeout(start));

/* On a phone the table of groups would hide what follows. */
if (innerWidth < 800) for (const part of document.querySelectorAll(".change details")) part.open = false;

/* Folded parts that say something on paper are unfolded there. */
for (const [event, open] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => document.querySelectorAll("details.printed").forEach((part) => { part.open = open; }));
}
