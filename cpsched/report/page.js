"use strict";

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

/* ---- schedules ---- */
const DAY = 86400;
const WAITS = [
  [0, "#9cc3e6", "no wait"], [60, "#f7dc6f", "up to 1 min"], [600, "#f5b041", "up to 10 min"],
  [3600, "#e67e22", "up to 1 h"], [21600, "#d1495b", "up to 6 h"], [86400, "#b5236a", "up to 1 d"],
  [Infinity, "#8e44c9", "more"],
];
/* The muted colours of Paul Tol (Colour Schemes, 2021): told apart by the colour-blind. */
const MANY = ["#cc6677", "#332288", "#ddcc77", "#117733", "#88ccee", "#882255", "#44aa99",
  "#999933", "#aa4499"];
const OTHERS = "#7c838a", UNKNOWN = "#c9ced3";
/* Between two marks of an axis that counts days. */
const STEPS = [60, 300, 900, 3600, 10800, 21600, 43200,
  ...[1, 2, 7, 14, 28, 70, 140, 365, 730, 3650].map((days) => days * DAY)];
let chart = null;

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function spanText(seconds) {
  if (seconds === null) return "unknown";
  const parts = [[DAY, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const said = [];
  for (const [size, unit] of parts) {
    const number = Math.floor(seconds / size);
    seconds -= number * size;
    if (number) said.push(`${number} ${unit}`);
  }
  return said.slice(0, 2).join(" ") || "0 s";
}

class Chart {
  constructor(plot, runs, packed) {
    this.runs = runs;
    this.packed = packed;
    this.cache = new Map();
    this.tickers = new Map();
    this.current = -1;
    const names = {};
    for (const root of plot.roots) names[root.id] = root.attributes.name;
    const item = { docid: "report", roots: names, root_ids: Object.keys(names) };
    this.ready = Bokeh.embed.embed_items({ report: plot }, [item])
      .then(() => {
        this.document = Bokeh.documents[0];
        const find = (name) => this.document.get_model_by_name(name);
        [this.rects, this.line, this.shade, this.shown, this.rows, this.queue] =
          ["rects", "line", "shade", "shown", "rows", "queue"].map(find);
        [this.main, this.below] = ["chart", "overview"].map(find);
        this.shown.change.connect(() => { if (this.data) this.count(); });
        this.paint();
      });
  }

  async show(index) {
    await this.ready;
    const first = this.current < 0;
    if (!this.cache.has(index)) this.cache.set(index, await unpacked(this.packed[index]));
    const same = !first && this.runs[index].place === this.runs[this.current].place;
    this.current = index;
    this.data = this.cache.get(index);
    this.axes();
    if (!same) this.move(...(this.data.rects.job.length > 4000 ? this.runs[index].day : this.data.window));
    this.choices();
    this.draw();
    this.say();
  }

  ms(second) { return 1000 * (second + (this.data.epoch || 0)); }
  second(ms) { return ms / 1000 - (this.data.epoch || 0); }

  moment(second) {
    if (second === null) return "unknown";
    const date = new Date(this.ms(second)).toISOString();
    if (this.data.epoch !== null) return date.slice(0, 19).replace("T", " ");
    return `day ${1 + Math.floor(second / DAY)} ${date.slice(11, 19)}`;
  }

  axes() {
    const { height, nodes, unit, window, times, queue } = this.data;
    const [start, end] = window.map((second) => this.ms(second));
    this.rows.setv({ start: height, end: 0 });
    this.rows.reset_start = height;
    this.rows.reset_end = 0;
    this.shown.setv({ bounds: [start, end], min_interval: 60000, reset_start: start, reset_end: end });
    const axis = this.main.left[0];
    axis.axis_label = `${unit}s`;
    /* Labels once given are not taken back: where rows are cores they become numbers again. */
    const labels = nodes.length ? nodes : Array.from(axis.major_label_overrides.keys(), String);
    axis.major_label_overrides = new Map(labels.map((name, at) => [at, name]));
    const edges = times.map((second) => this.ms(second));
    this.line.data = { left: edges.slice(0, -1), right: edges.slice(1), queue };
    this.below.x_range.setv({ start, end });
    this.count();
    this.queue.setv({ start: 0, end: 1.08 * Math.max(1, ...queue) });
    this.shade.data = this.data.shade
      ? { url: [`data:image/png;base64,${this.data.shade}`], x: [start], y: [0], w: [end - start], h: [height] }
      : { url: [], x: [], y: [], w: [], h: [] };
  }

  /* The library's axes know dates only: where a log has none, days are counted. */
  count() {
    for (const plot of [this.main, this.below]) {
      const axis = plot.below[0], [start, end] = [plot.x_range.start / 1000, plot.x_range.end / 1000];
      if (!this.tickers.has(axis)) this.tickers.set(axis, axis.ticker);
      if (this.data.epoch !== null) {
        if (axis.ticker !== this.tickers.get(axis)) axis.setv({ ticker: this.tickers.get(axis), major_label_overrides: new Map() });
        continue;
      }
      const step = STEPS.find((one) => (end - start) / one <= 8) || 36500 * DAY, labels = new Map();
      for (let at = Math.ceil(start / step) * step; at <= end; at += step) {
        const day = `day ${1 + Math.floor(at / DAY)}`, time = new Date(1000 * at).toISOString().slice(11, 16);
        const named = labels.size === 0 && step < DAY ? `${time}\n${day}` : time;
        labels.set(1000 * at, at % DAY === 0 ? day : named);
      }
      const Fixed = Bokeh.Models.get("FixedTicker");
      axis.setv({ ticker: new Fixed({ ticks: [...labels.keys()] }), major_label_overrides: labels });
    }
  }

  /* How much of the machine each value of a text holds in what is shown. */
  held(codes) {
    const { rects } = this.data, held = new Map();
    const [from, to] = [this.shown.start, this.shown.end].map((ms) => this.second(ms));
    rects.job.forEach((job, at) => {
      const seconds = Math.min(rects.end[at], to) - Math.max(rects.start[at], from);
      if (seconds > 0) {
        const area = seconds * (rects.high[at] - rects.low[at]);
        held.set(codes[job], (held.get(codes[job]) || 0) + area);
      }
    });
    return held;
  }

  /* A text that no job has is nothing to colour by. */
  choices() {
    const box = document.getElementById("colour");
    for (const option of box.options) {
      const of = this.data.texts[option.value];
      option.disabled = of !== undefined && of.codes.every((code) => code < 0 || of.values[code] === "");
    }
    if (box.selectedOptions[0].disabled) box.value = "wait";
  }

  colours() {
    const mode = document.getElementById("colour").value, { jobs, texts } = this.data;
    if (mode === "wait") {
      const of = jobs.start.map((start, at) => start - jobs.submit[at]);
      const found = of.map((wait) => WAITS.findIndex(([most]) => wait <= most));
      const there = new Set(found);
      this.legend(WAITS.filter((_, at) => there.has(at)).map(([, colour, text]) => [colour, text]));
      return found.map((at) => WAITS[at][1]);
    }
    const { codes, values } = texts[mode], held = this.held(codes);
    const order = [...held.keys()].filter((code) => code >= 0);
    order.sort((a, b) => held.get(b) - held.get(a) || a - b);
    const rank = new Map(order.map((code, at) => [code, at]));
    const entries = order.slice(0, MANY.length).map((code, at) => [MANY[at], values[code]]);
    if (order.length > MANY.length) entries.push([OTHERS, `${order.length - MANY.length} others`]);
    if (held.has(-1)) entries.push([UNKNOWN, "unknown"]);
    this.legend(entries);
    return codes.map((code) => (code < 0 ? UNKNOWN : MANY[rank.get(code)] || OTHERS));
  }

  legend(entries) {
    const marks = entries.map(([colour, text]) => {
      const mark = document.createElement("span");
      mark.style.setProperty("--mark", colour);
      mark.textContent = text;
      return mark;
    });
    document.getElementById("legend").replaceChildren(...marks);
  }

  draw() {
    const { jobs, rects, texts } = this.data, colours = this.colours();
    const text = (name) => texts[name].codes.map((code) => (code < 0 ? "unknown" : texts[name].values[code]));
    const of = {
      job: text("id"), user: text("user"), queue: text("queue"), name: text("name"),
      nodes: text("where"), outcome: text("outcome"),
      submitted: jobs.submit.map((second) => this.moment(second)),
      started: jobs.start.map((second) => this.moment(second)),
      ended: jobs.end.map((second) => this.moment(second)),
      waited: jobs.start.map((start, at) => spanText(start - jobs.submit[at])),
      ran: jobs.end.map((end, at) => spanText(end === null ? null : end - jobs.start[at])),
      asked: jobs.requested.map(spanText), predicted: jobs.predicted.map(spanText),
      cores: jobs.cores.map((cores) => cores.toLocaleString("en")), color: colours,
    };
    const columns = {};
    for (const name of Object.keys(of)) columns[name] = rects.job.map((job) => of[name][job]);
    columns.left = rects.start.map((second) => this.ms(second));
    columns.right = rects.end.map((second) => this.ms(second));
    columns.bottom = rects.high;
    columns.top = rects.low;
    this.rects.data = columns;
  }

  move(start, end) {
    const [first, last] = this.data.window, length = Math.min(end - start, last - first);
    const from = Math.max(first, Math.min(start, last - length));
    this.shown.setv({ start: this.ms(from), end: this.ms(from + length) });
  }

  press(what) {
    if (!this.data) return;
    const [start, end] = [this.shown.start, this.shown.end].map((ms) => this.second(ms));
    const middle = (start + end) / 2, length = end - start, offset = this.data.epoch || 0;
    const [first, last] = this.data.window;
    const day = Math.floor((middle + offset) / DAY) * DAY - offset;
    if (what === "all") this.move(first, last);
    if (what === "week") this.move(middle - 3.5 * DAY, middle + 3.5 * DAY);
    if (what === "day") this.move(day, day + DAY);
    if (what === "busiest") this.move(...this.runs[this.current].day);
    if (what === "back") this.move(start - length, start);
    if (what === "on") this.move(end, end + length);
    /* Whoever holds most of what is seen now gets a colour of their own; dragging changes none. */
    if (document.getElementById("colour").value !== "wait") this.draw();
  }

  say() {
    const run = this.runs[this.current], number = (n) => n.toLocaleString("en");
    let said = `${run.name}: all ${number(run.of)} jobs that ran are drawn.`;
    if (run.jobs < run.of) {
      said = `${run.name}: ${number(run.jobs)} of ${number(run.of)} jobs are drawn one by one, ` +
        `with ${(100 * run.share).toFixed(1)} % of all core hours`;
      if (run.focus) {
        const [start, end] = run.focus.map((second) => this.moment(second).slice(0, -3));
        said += `; all of them from ${start} to ${end}, elsewhere the largest`;
      }
      said += ". The grey behind them is what the others held.";
    }
    if (run.instant) said += ` ${number(run.instant)} of them took no time: there is nothing to see of these.`;
    document.getElementById("shown").textContent = said;
  }

  /* Bokeh draws on a canvas, which knows nothing of the page's colours. */
  paint() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const [ink, soft, line] = [of("--ink"), of("--soft"), of("--line")];
    for (const plot of [this.main, this.below]) {
      plot.setv({ background_fill_color: null, border_fill_color: null, outline_line_color: null });
      for (const axis of [...plot.left, ...plot.below]) {
        axis.setv({
          axis_label_text_color: soft, major_label_text_color: ink, axis_line_color: line,
          major_tick_line_color: line, minor_tick_line_color: null,
        });
      }
      for (const grid of plot.center) if ("grid_line_color" in grid.attributes) grid.grid_line_color = line;
    }
  }
}

(async () => {
  const { plot, runs } = JSON.parse(document.getElementById("island").textContent);
  if (runs.length) {
    const packed = Array.from(document.querySelectorAll("script.run"), (one) => one.textContent);
    const select = document.getElementById("run");
    chart = new Chart(plot, runs, packed);
    select.addEventListener("change", () => chart.show(Number(select.value)));
    document.getElementById("colour").addEventListener("change", () => chart.draw());
    for (const button of document.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => chart.press(button.dataset.show));
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.paint());
    await chart.show(Number(select.value));
  }
  document.documentElement.dataset.ready = "yes";
})();
