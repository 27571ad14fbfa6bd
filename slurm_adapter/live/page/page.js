// Draws /queue.json, again and again. What Slurm's users wrote only ever becomes text.
"use strict";

const EVERY = 15000;
const MOST = 40;
const DAY = 86400;
const STEPS = [900, 1800, 3600, 7200, 10800, 14400, 21600];

// Two units at most, as everywhere in cpsched: 45 s, 20 min, 1 h 24 min, 2 d 3 h.
function span(seconds) {
  if (seconds === null || seconds === undefined) return "later";
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60), hours = Math.round(seconds / 3600);
  const two = (whole, unit, rest, smaller) => `${whole} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1440) return two(Math.floor(minutes / 60), "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

function ahead(second, now) {
  return second === null || second === undefined ? "-" : `in ${span(Math.max(0, second - now))}`;
}

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function bar(kind, from, to, now, width, title) {
  const made = element("span", undefined, kind);
  const left = Math.max(0, from - now), right = Math.min(width, to - now);
  if (right <= left && left >= width) return null;
  made.style.left = `${100 * left / width}%`;
  made.style.width = `${100 * Math.max(0, right - left) / width}%`;
  made.title = title;
  return made;
}

function lane(label, bars) {
  const row = element("div", undefined, "row");
  const name = element("div", label, "label");
  name.title = label;
  const line = element("div", undefined, "lane");
  line.append(...bars.filter(Boolean));
  row.append(name, line);
  return row;
}

function axis(width) {
  const ticks = [], step = STEPS.find(one => width / one <= 5) ?? DAY;
  for (let at = 0; at <= 0.94 * width; at += step) {
    const tick = element("span", at ? `+${span(at)}` : "now", "tick");
    tick.style.left = `${100 * at / width}%`;
    ticks.push(tick);
  }
  const row = lane("", ticks);
  row.classList.add("axis");
  return row;
}

function chart(seen) {
  const now = seen.now;
  const likely = job => seen.bounds ? job.planned : job.p50;
  const waiting = seen.waiting.filter(job => likely(job) !== null)
    .sort((one, other) => likely(one) - likely(other)).slice(0, MOST);
  const running = seen.running.slice(0, MOST);
  const latest = [...waiting.map(job => job.p90 ?? likely(job)), ...running.map(job => job.end ?? now)];
  const width = Math.min(DAY, Math.max(3600, ...latest.map(second => 1.05 * (second - now))));
  const rows = [axis(width)];
  for (const job of running) {
    const end = job.end ?? now + width;
    const title = `${job.job}: runs, at most until ${ahead(end, now)}`;
    rows.push(lane(`${job.job} ${job.user}`, [bar("run", now, end, now, width, title)]));
  }
  for (const job of waiting) {
    if (seen.bounds) {
      const title = `${job.job}: starts ${ahead(job.planned, now)} at the latest, if no later job goes first`;
      rows.push(lane(`${job.job} ${job.user}`, [bar("may", now, job.planned, now, width, title)]));
      continue;
    }
    const last = job.p90 ?? now + width;
    const title = `${job.job}: starts ${ahead(job.p10, now)} to ${ahead(job.p90, now)}`;
    rows.push(lane(`${job.job} ${job.user}`, [
      bar("may", job.p10, last, now, width, title),
      bar("wait", job.p50, job.p50 + (job.time_limit ?? DAY), now, width, title),
    ]));
  }
  document.getElementById("chart").replaceChildren(...rows);
}

function table(seen) {
  const now = seen.now;
  document.getElementById("interval").textContent = seen.bounds ? "Bounds" : "80 % interval";
  document.getElementById("may").textContent = seen.bounds
    ? "until the latest start by time limits: no past jobs are known" : "80 % interval of the start";
  document.getElementById("wait").hidden = seen.bounds;
  const heads = Array.from(document.querySelectorAll("thead th"), head => head.textContent);
  const rows = seen.waiting.map(job => {
    const row = element("tr");
    const held = job.for_engine ? "held for an engine" : "held";
    const both = seen.bounds && job.planned !== null ? `0 s to ${span(job.planned - now)}` : job.p10 === null ? "-" : `${span(job.p10 - now)} to ${span(job.p90 === null ? null : job.p90 - now)}`;
    row.append(
      element("td", job.job), element("td", job.user, "name"), element("td", job.partition, "name"),
      element("td", job.cores.toLocaleString("en"), "number"),
      element("td", job.time_limit === null ? "none" : span(job.time_limit)),
      element("td", span(now - job.submit)), element("td", ahead(job.p50, now)), element("td", both),
      element("td", ahead(job.planned, now)), element("td", ahead(job.slurm_expects, now)),
      element("td", job.held ? `${held} (${job.reason})` : job.reason, "name"));
    [...row.cells].forEach((cell, at) => { cell.dataset.label = heads[at]; });
    return row;
  });
  document.getElementById("jobs").replaceChildren(...rows);
}

function show(seen) {
  const wrong = document.getElementById("error");
  wrong.hidden = !seen.error;
  wrong.textContent = seen.error ?? "";
  if (seen.now === null) return;
  const out = seen.closed_nodes ? `, ${seen.closed_nodes} out of service` : "";
  document.getElementById("summary").textContent =
    `${seen.running.length} running and ${seen.waiting.length} waiting jobs; `
    + `${seen.cores_in_use.toLocaleString("en")} of ${seen.cores.toLocaleString("en")} cores in use, `
    + `${seen.nodes} nodes${out}; forecasts under ${seen.dispatcher}${seen.policy ? ` (${seen.policy})` : ""}; `
    + `seen ${new Date(1000 * seen.now).toLocaleTimeString()}`;
  chart(seen);
  table(seen);
  document.getElementById("twin").hidden = !seen.statement;
  if (seen.statement) document.getElementById("statement").textContent = seen.statement;
  document.body.dataset.ready = "yes";
}

async function look() {
  try {
    const answer = await fetch("/queue.json");
    show(await answer.json());
  } catch (error) {
    const wrong = document.getElementById("error");
    wrong.hidden = false;
    wrong.textContent = `cpsched does not answer: ${error.message}`;
  }
}

look();
setInterval(look, EVERY);
