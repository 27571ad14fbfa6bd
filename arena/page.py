"""The bench as one page: a table and a picture for each track; nothing loaded, no script."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log2, log10
from pathlib import Path
from typing import TYPE_CHECKING

from arena.logset import QUICK
from arena.scores import SCORE
from cpsched.api.tools import counted, times, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arena.tables import Scored
    from cpsched.api.tools import Table

_STYLE = Path(__file__).with_name("page.css")
#: Of the picture, pixels.
_WIDTH, _HEIGHT, _LEFT, _BELOW, _RIGHT, _LINE = 720, 340, 56, 44, 190, 13


def page(title: str, tracks: Sequence[Scored], notes: Sequence[str]) -> str:
    """Return the page."""
    parts = [f"<h1>{_text(title)}</h1>", *(f"<p>{_text(note)}</p>" for note in notes)]
    links = [f'<a href="#{one.track.name}">{_text(one.track.name)}</a>' for one in tracks]
    parts.append(f"<nav>{' '.join(links)}</nav>")
    for one in tracks:
        parts += _section(one)
    parts.append(_GLOSSARY)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        " 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n"
        "</head>\n<body>\n<main>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )


_GLOSSARY = """<h2>What is shown</h2>
<p>Figures are ratios to the baseline, the first dispatcher of the set: geometric means over the
logs, each counted once, with 95 % intervals (Student's t of the logarithms). The <b>triple</b>
is the geometric mean of three ratios: area-weighted response, p99.9 of the waits (plus a minute)
and mean bounded slowdown (10 s). <b>Ranks</b> are by the triple on each log; their intervals are
of a paired bootstrap over logs and seeds. <em>Not clearly behind</em> the first, and shaded, is
who has an interval of triple over the first's that includes 1. <b>Lower bounds</b> hold for any
schedule of these jobs; they are far below what can be reached. <em>Runtimes known</em>: an
oracle, not ranked. CPU times are of the machine that ran this, and vary.</p>"""


def _section(one: Scored) -> Iterator[str]:
    logs = one.scores.logs
    yield f'<section id="{one.track.name}">'
    yield f"<h2>{_text(one.track.name.capitalize())}: {_text(one.track.title)}</h2>"
    repeated = counted(len(one.scores.seeds), "repetition")
    yield f"<p>{counted(len(logs), 'log')}, {repeated} each.</p>"
    finding, *more = one.sentences()
    yield f'<p class="finding">{_text(finding)}</p>'
    yield from (f"<p>{_text(line)}</p>" for line in more)
    level = [entry.is_level and entry.rank is not None for entry in one.entries]
    yield _table(one.table(), level)
    yield "<h3>Cost and quality</h3>"
    yield _picture(one)
    yield "<h3>Triple on each log</h3>"
    yield _table(one.on_each(), [])
    yield "<h3>Load of each log, and what became of its jobs under the baseline</h3>"
    yield "<ul>"
    for log, lines in one.conditions.items():
        yield f"<li>{_text(log)}: {_text('. '.join(lines))}</li>"
    yield "</ul>"
    yield "</section>"


def _table(table: Table, level: Sequence[bool]) -> str:
    """Return a table; rows of those not clearly behind the first are marked."""
    head = "".join(f"<th>{_text(column.header)}</th>" for column in table.columns)
    cells = [column.cells() for column in table.columns]
    rows = []
    for at, row in enumerate(zip(*cells, strict=True)):
        first, *rest = (_cell(cell) for cell in row)
        mark = ' class="level"' if at < len(level) and level[at] else ""
        data = "".join(f"<td>{cell}</td>" for cell in rest)
        rows.append(f'<tr{mark}><th scope="row">{first}</th>{data}</tr>')
    body = "\n".join(rows)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>'
        "</table></div>"
    )


def _cell(text: str) -> str:
    value, _, interval = text.partition("\n")
    return _text(value) + (f"<small>{_text(interval)}</small>" if interval else "")


def _picture(one: Scored) -> str:
    """Return CPU time of a decision and triple of each entry as SVG."""
    points = sorted(
        (entry.ratios[SCORE].mean, max(entry.cpu_ms, 1e-3), one.name(entry), entry.oracle)
        for entry in one.entries
    )
    low, high = _decades([x for _, x, *_ in points])
    least, most = log2(points[0][0]) - 0.1, log2(points[-1][0]) + 0.1
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BELOW

    def at(x: float, y: float) -> tuple[float, float]:
        across = (log10(x) - low) / (high - low)
        return _LEFT + across * (right - _LEFT), 12 + (log2(y) - least) / (most - least) * (
            bottom - 12
        )

    parts = []
    for power in range(low, high + 1):
        x, _ = at(10**power, points[0][0])
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="12" y2="{bottom}"/>')
        parts.append(_label(x, bottom + 16, f"{10.0**power:g} ms", "middle"))
    for step in range(5):
        value = 2 ** (least + (most - least) * step / 4)
        y = at(10**low, value)[1]
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_label(_LEFT - 6, y + 4, times(value), "end"))
    parts.append(_label(_LEFT, _HEIGHT - 8, "CPU time per decision; triple, better at the top", ""))
    places = [at(x, y) for y, x, *_ in points]
    for (x, y), line, (_, _, name, oracle) in zip(
        places, _apart([y for _, y in places], bottom), points, strict=True
    ):
        kind = "oracle" if oracle else "entry"
        parts.append(f'<path d="M{x + 5:.1f} {y:.1f}L{right:.1f} {line:.1f}"/>')
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
        parts.append(_label(right + 4, line + 4, name, ""))
    drawn = "\n".join(parts)
    return (
        f'<div class="wide"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="CPU time and triple of each dispatcher">\n{drawn}\n</svg></div>'
    )


def _apart(heights: Sequence[float], bottom: float) -> list[float]:
    """Return the heights of names, in ascending order, moved so that none covers another."""
    found: list[float] = []
    for height in heights:
        found.append(max(height, found[-1] + _LINE if found else height))
    limit = bottom
    for at in range(len(found) - 1, -1, -1):
        found[at] = min(found[at], limit)
        limit = found[at] - _LINE
    return found


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = floor(log10(min(values))), ceil(log10(max(values)) + 1e-9)
    return low, max(high, low + 1)


def _label(x: float, y: float, words: str, anchor: str) -> str:
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{end}>{_text(words)}</text>'


def _text(text: str) -> str:
    return escape(visible(text))


def notes_of(told: Mapping[str, object]) -> list[str]:
    """Return what a reader must know of a bench before its tables."""
    logs = told["logs"]
    assert isinstance(logs, list)
    lines = [f"Logs: {', '.join(one['name'] for one in logs)}."]
    if told["seeds"] == QUICK:
        lines.insert(0, "Two repetitions only: to try an entry, not to compare with other benches.")
    missing = told["missing"]
    assert isinstance(missing, list)
    if missing:
        names = ", ".join(missing)
        lines.append(f"Not at hand, and left out: {names} (cpsched bench says where they are).")
    learns = [one["name"] for one in told["entries"] if one["train"]]  # type: ignore[attr-defined]
    new = [one["name"] for one in logs if not one["earlier"]]
    if learns and new:
        lines.append(f"No earlier jobs, so nothing was learnt: on {', '.join(new)}.")
    tuned = [one["name"] for one in logs if one["tuned"]]
    if tuned:
        lines.append(
            "Settings of dispatchers that come with cpsched were chosen on other jobs of"
            f" {', '.join(tuned)}."
        )
    return lines
