"use strict";

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
  return new Response(stream).text();
}

/* What was written as differences, added up. */
function schedule(text) {
  const data = JSON.parse(text), { jobs, rects } = data;
  const sums = (values) => { let sum = 0; return values.map((value) => (sum += value)); };
  jobs.submit = sums(jobs.submit);
  jobs.start = jobs.submit.map((submit, at) => submit + jobs.wait[at]);
  jobs.end = jobs.start.map((start, at) => (jobs.ran[at] === null ? null : start + jobs.ran[at]));
  rects.job = sums(rects.job);
  rects.start = rects.start.map((start, at) => start + jobs.start[rects.job[at]]);
  rects.end = rects.start.map((start, at) => start + rects.length[at]);
  return data;
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

/* A schedule: the upper or the lower one. */
class Side {
  constructor(at, chart) {
    this.at = at;
    this.chart = chart;
    const find = (name) => chart.document.get_model_by_name(`${name}${at}`);
    [this.main, this.rects, this.line, this.shade, this.rows, this.steps, this.marks, this.marked] =
      ["chart", "rects", "line", "shade", "rows", "queue", "mark", "marked"].map(find);
    this.rects.inspect.connect(() => {
      const [rect] = this.rects.inspected.indices;
      chart.mark(rect === undefined ? null : this.rects.data.job[rect]);
    });
  }

  show(index) {
    const { cache, runs } = this.chart;
    this.data = cache.get(index);
    this.run = runs[index];
    const { height, nodes, unit, times, queue, window, shade } = this.data;
    this.rows.setv({ start: height, end: 0, reset_start: height, reset_end: 0 });
    const axis = this.main.left[0];
    axis.axis_label = `${unit}s`;
    /* Labels once given are not taken back: where rows are cores they become numbers again. */
    const labels = nodes.length ? nodes : Array.from(axis.major_label_overrides.keys(), String);
    axis.major_label_overrides = new Map(labels.map((name, row) => [row, name]));
    this.line.data = { time: times.map((second) => this.chart.ms(second)), queue: [...queue, queue.at(-1)] };
    const [start, end] = window.map((second) => this.chart.ms(second));
    this.shade.data = shade
      ? { url: [`data:image/png;base64,${shade}`], x: [start], y: [0], w: [end - start], h: [height] }
      : { url: [], x: [], y: [], w: [], h: [] };
  }

  /* Outline all rectangles of a job, and say what became of it; null: of none. */
  mark(id) {
    const { ids, jobs, rects } = this.data, { chart } = this, job = id === null ? -1 : ids.indexOf(id);
    const at = rects.job.flatMap((one, rect) => (one === job ? [rect] : []));
    const seconds = (values) => at.map((rect) => chart.ms(values[rect]));
    this.marks.data = {
      left: seconds(rects.start), right: seconds(rects.end),
      bottom: at.map((rect) => rects.high[rect]), top: at.map((rect) => rects.low[rect]),
    };
    if (job < 0) return `${this.run.name}: not drawn one by one, or it did not run`;
    return `${this.run.name}: starts ${chart.moment(jobs.start[job])} after ${spanText(jobs.wait[job])}`;
  }

  /* How much of the machine each value of a text holds in what is shown. */
  hold(codes, held) {
    const { rects, texts } = this.data, { values } = texts[codes];
    const [from, to] = this.chart.inside();
    rects.job.forEach((job, at) => {
      const seconds = Math.min(rects.end[at], to) - Math.max(rects.start[at], from);
      if (seconds > 0) {
        const code = texts[codes].codes[job], name = code < 0 ? null : values[code];
        held.set(name, (held.get(name) || 0) + seconds * (rects.high[at] - rects.low[at]));
      }
    });
  }

  waits() {
    return this.data.jobs.wait.map((wait) => WAITS.findIndex(([most]) => wait <= most));
  }

  draw(colours) {
    const { jobs, rects, texts } = this.data, { chart } = this;
    const text = (name) => texts[name].codes.map((code) => (code < 0 ? "unknown" : texts[name].values[code]));
    const moments = (seconds) => seconds.map((second) => chart.moment(second));
    const of = {
      job: this.data.ids, user: text("user"), queue: text("queue"), name: text("name"),
      nodes: text("where"), outcome: text("outcome"),
      submitted: moments(jobs.submit), started: moments(jobs.start), ended: moments(jobs.end),
      waited: jobs.wait.map(spanText), ran: jobs.ran.map(spanText),
      asked: jobs.requested.map(spanText), predicted: jobs.predicted.map(spanText),
      cores: jobs.cores.map((cores) => cores.toLocaleString("en")), color: colours,
    };
    const columns = {};
    for (const name of Object.keys(of)) columns[name] = rects.job.map((job) => of[name][job]);
    columns.left = rects.start.map((second) => chart.ms(second));
    columns.right = rects.end.map((second) => chart.ms(second));
    columns.bottom = rects.high;
    columns.top = rects.low;
    this.rects.data = columns;
  }

  say() {
    const { run, chart } = this, number = (n) => n.toLocaleString("en");
    let said = `${run.name}: all ${number(run.of)} jobs that ran are drawn.`;
    if (run.jobs < run.of) {
      said = `${run.name}: ${number(run.jobs)} of ${number(run.of)} jobs are drawn one by one, ` +
        `with ${(100 * run.share).toFixed(1)} % of all core hours`;
      if (run.focus) {
        const [start, end] = run.focus.map((second) => chart.moment(second).slice(0, -3));
        said += `; all of them from ${start} to ${end}, elsewhere the largest`;
      }
      said += ". The grey behind them is what the others held.";
    }
    if (run.instant) said += ` ${number(run.instant)} of them took no time: there is nothing to see of these.`;
    return said;
  }
}

class Chart {
  constructor(plot, runs, packed) {
    this.runs = runs;
    this.packed = packed;
    this.cache = new Map();
    this.tickers = new Map();
    const names = {};
    for (const root of plot.roots) names[root.id] = root.attributes.name;
    const item = { docid: "report", roots: names, root_ids: Object.keys(names) };
    this.ready = Bokeh.embed.embed_items({ report: plot }, [item])
      .then(() => {
        this.document = Bokeh.documents[0];
        const find = (name) => this.document.get_model_by_name(name);
        [this.shown, this.queue, this.below] = ["shown", "queue", "overview"].map(find);
        this.sides = Array.from({ length: Math.min(runs.length, 2) }, (_, at) => new Side(at, this));
        this.shown.change.connect(() => { if (this.data) this.count(); });
      });
  }

  /* The schedules chosen; both are of one workload and system, because they share their axis. */
  async show(indices) {
    await this.ready;
    const before = this.place;
    this.place = this.runs[indices[0]].place;
    this.data = null;
    for (const side of this.sides) {
      if (!this.cache.has(indices[side.at])) {
        this.cache.set(indices[side.at], schedule(await unpacked(this.packed[indices[side.at]])));
      }
    }
    this.data = this.cache.get(indices[0]);
    for (const side of this.sides) side.show(indices[side.at]);
    this.axes();
    const large = this.data.rects.job.length > 4000;
    if (this.place !== before) this.move(...(large ? this.runs[indices[0]].day : this.data.window));
    this.choices();
    this.draw();
    this.mark(null);
    this.paint();
  }

  /* The job under the pointer, or else the one whose number was typed, in both schedules. */
  mark(hovered) {
    const id = hovered ?? (document.getElementById("job").value.trim() || null);
    const said = this.sides.map((side) => side.mark(id)).join("; ");
    document.getElementById("marked").textContent = id === null
      ? "Point at a job, or type its number, to see it in every chart." : `Job ${id}. ${said}.`;
  }

  /* Outline the job whose number was typed, and show its time where it lies outside. */
  look() {
    if (!this.data) return;
    this.mark(null);
    const starts = this.sides.flatMap((side) => side.marks.data.left.slice(0, 1));
    const { start, end } = this.shown, length = (end - start) / 1000;
    if (starts.length && !starts.some((at) => start <= at && at < end)) {
      const from = this.second(starts[0]) - length / 3;
      this.move(from, from + length);
    }
  }

  ms(second) { return 1000 * (second + (this.data.epoch || 0)); }
  second(ms) { return ms / 1000 - (this.data.epoch || 0); }
  inside() { return [this.shown.start, this.shown.end].map((ms) => this.second(ms)); }

  moment(second) {
    if (second === null) return "unknown";
    const date = new Date(this.ms(second)).toISOString();
    if (this.data.epoch !== null) return date.slice(0, 19).replace("T", " ");
    return `day ${1 + Math.floor(second / DAY)} ${date.slice(11, 19)}`;
  }

  axes() {
    const windows = this.sides.map((side) => side.data.window);
    this.window = [Math.min(...windows.map(([start]) => start)), Math.max(...windows.map(([, end]) => end))];
    const [start, end] = this.window.map((second) => this.ms(second));
    this.shown.setv({ bounds: [start, end], min_interval: 60000, reset_start: start, reset_end: end });
    this.below.x_range.setv({ start, end });
    this.count();
    this.queue.setv({ start: 0, end: 1.08 * Math.max(1, ...this.sides.flatMap((side) => side.data.queue)) });
  }

  get plots() { return [...this.sides.map((side) => side.main), this.below]; }

  /* The library's axes know dates only: where a log has none, days are counted. */
  count() {
    for (const plot of this.plots) {
      const axis = plot.below[0], [start, end] = [plot.x_range.start / 1000, plot.x_range.end / 1000];
      if (!this.tickers.has(axis)) this.tickers.set(axis, axis.ticker);
      const most = innerWidth < 700 ? 4 : 8;
      if (this.data.epoch !== null) {
        this.tickers.get(axis).desired_num_ticks = most - 1;
        if (axis.ticker !== this.tickers.get(axis)) axis.setv({ ticker: this.tickers.get(axis), major_label_overrides: new Map() });
        continue;
      }
      const step = STEPS.find((one) => (end - start) / one <= most) || 36500 * DAY, labels = new Map();
      for (let at = Math.ceil(start / step) * step; at <= end; at += step) {
        const day = `day ${1 + Math.floor(at / DAY)}`, time = new Date(1000 * at).toISOString().slice(11, 16);
        const named = labels.size === 0 && step < DAY ? `${time}\n${day}` : time;
        labels.set(1000 * at, at % DAY === 0 ? day : named);
      }
      const Fixed = Bokeh.Models.get("FixedTicker");
      axis.setv({ ticker: new Fixed({ ticks: [...labels.keys()] }), major_label_overrides: labels });
    }
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

  /* Colours mean the same in both schedules. */
  draw() {
    const mode = document.getElementById("colour").value;
    if (mode === "wait") {
      const found = this.sides.map((side) => side.waits()), there = new Set(found.flat());
      this.legend(WAITS.filter((_, at) => there.has(at)).map(([, colour, text]) => [colour, text]));
      this.sides.forEach((side, at) => side.draw(found[at].map((one) => WAITS[one][1])));
    } else {
      const held = new Map();
      for (const side of this.sides) side.hold(mode, held);
      const order = [...held.keys()].filter((name) => name !== null);
      order.sort((a, b) => held.get(b) - held.get(a) || (a < b ? -1 : 1));
      const rank = new Map(order.map((name, at) => [name, MANY[at] || OTHERS]));
      const entries = order.slice(0, MANY.length).map((name, at) => [MANY[at], name]);
      if (order.length > MANY.length) entries.push([OTHERS, `${order.length - MANY.length} others`]);
      if (held.has(null)) entries.push([UNKNOWN, "unknown"]);
      this.legend(entries);
      for (const side of this.sides) {
        const { codes, values } = side.data.texts[mode];
        side.draw(codes.map((code) => (code < 0 ? UNKNOWN : rank.get(values[code]) || OTHERS)));
      }
    }
    this.say();
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

  move(start, end) {
    const [first, last] = this.window, length = Math.min(end - start, last - first);
    const from = Math.max(first, Math.min(start, last - length));
    this.shown.setv({ start: this.ms(from), end: this.ms(from + length) });
  }

  press(what) {
    if (!this.data) return;
    const [start, end] = this.inside();
    const middle = (start + end) / 2, length = end - start, offset = this.data.epoch || 0;
    const [first, last] = this.window;
    const day = Math.floor((middle + offset) / DAY) * DAY - offset;
    if (what === "all") this.move(first, last);
    if (what === "week") this.move(middle - 3.5 * DAY, middle + 3.5 * DAY);
    if (what === "day") this.move(day, day + DAY);
    if (what === "busiest") this.move(...this.sides[0].run.day);
    if (what === "back") this.move(start - length, start);
    if (what === "on") this.move(end, end + length);
    /* Whoever holds most of what is seen now gets a colour of their own; dragging changes none. */
    if (document.getElementById("colour").value !== "wait") this.draw();
  }

  say() {
    for (const side of this.sides) {
      const name = document.getElementById(`name${side.at}`), mark = document.createElement("span");
      mark.className = "run";
      mark.style.setProperty("--mark", side.run.color);
      mark.textContent = side.run.name;
      name.replaceChildren(mark);
    }
    document.getElementById("shown").textContent = this.sides.map((side) => side.say()).join(" ");
  }

  /* Bokeh draws on a canvas, which knows nothing of the page's colours. */
  paint(style = getComputedStyle(document.documentElement)) {
    const of = (name) => style.getPropertyValue(name.replace(/^var\((.*)\)$/, "$1")).trim();
    const [ink, soft, line, edge] = [of("--ink"), of("--soft"), of("--line"), of("--edge")];
    for (const plot of this.plots) {
      for (const axis of [...plot.left, ...plot.below]) {
        axis.setv({
          axis_label_text_color: soft, major_label_text_color: ink, axis_line_color: edge,
          major_tick_line_color: edge, minor_tick_line_color: null,
        });
      }
      for (const grid of plot.center) if ("grid_line_color" in grid.attributes) grid.grid_line_color = line;
    }
    for (const side of this.sides) {
      side.steps.glyph.line_color = of(side.run.color);
      side.marked.glyph.line_color = ink;
    }
  }

  /* Canvases keep the width and the colours of the screen: paper gets light ones as wide as it is. */
  onPaper() {
    const root = document.documentElement, { theme } = root.dataset;
    root.dataset.theme = "light";
    this.paint();
    for (const plot of this.plots) {
      const { canvas } = Bokeh.index.get_by_id(plot.id).export("png");
      canvas.className = "paper";
      document.getElementById(plot.name).append(canvas);
    }
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    this.paint();
  }
}

/* Only schedules of one workload and system can lie above each other. */
function chosen(selects, runs, changed) {
  const place = runs[Number(selects[changed].value)].place;
  selects.forEach((select, side) => {
    if (side !== changed && runs[Number(select.value)].place !== place) {
      const others = runs.flatMap((run, at) => (run.place === place ? [at] : []));
      select.value = String(others.find((at) => at !== Number(selects[changed].value)) ?? others[0]);
    }
  });
  return selects.map((select) => Number(select.value));
}
