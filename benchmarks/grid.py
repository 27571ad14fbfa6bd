"""
The grid of the README: dispatchers on several logs, as two tables and a picture.

    python benchmarks/grid.py STUDY DIR

Carries out what is missing of STUDY (``grid.toml``, beside the logs that it names) in DIR, prints
what ``cpsched compare`` says of all logs, and writes ``grid-slowdown.csv`` and ``grid-wait.csv`` to
``docs/results/data``, and ``docs/pictures/grid.svg``. Every cell is a ratio to the baseline;
blue is lower and orange higher by every interval. The picture is drawn for 390 pixels, as a phone
has, and follows the reader's choice of light or dark.
"""

from __future__ import annotations

import argparse
import csv
from html import escape
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.report import load_results
from cpsched.report.across_logs import across_logs, sentences
from cpsched.report.findings import LONGEST, QUALITY
from cpsched.report.terminal import view_text
from cpsched.report.views import compared_text, mean_text, over_logs, ratio_text
from cpsched.study import carry_out, load_study

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.report.across_logs import AcrossLogs
    from cpsched.report.views import View
    from cpsched.study.comparisons import Result

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAMES = ("grid-slowdown", "grid-wait")
#: Of the picture, in pixels: its width, that of the names of logs, and the height of a row.
WIDTH, MARGIN, HEIGHT = 390, 86, 22
#: A ratio of this much, or its inverse, has the full colour.
STRONG = 4
STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.head, .key { font-size: 11px; } .head { font-weight: 600; } .name { font-size: 10px; }
.small { font-size: 10px; }
.number { text-anchor: middle; } .less { fill: #0072b2; } .more { fill: #d55e00; }
.unclear { fill: #8c959f; } line { stroke: #8c959f; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .less { fill: #2f9ee0; } .more { fill: #e8722c; }
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("study", help="grid.toml, beside its logs")
    parser.add_argument("out", type=Path, help="folder of the runs")
    args = parser.parse_args()
    outcome = carry_out(load_study(args.study), args.out, jobs=1)
    if outcome.failed:
        raise SystemExit(f"{outcome.failed[0].name}: {outcome.failed[0].error}")
    table = load_results(args.out)
    entries = across_logs(table)
    for name, view in zip(NAMES, over_logs(table), strict=False):
        print(f"{view_text(view, 100)}\n")
        write(DOCS / "results" / "data" / f"{name}.csv", view)
    print("\n".join(sentences(entries)))
    picture = drawn(entries, table.study.baseline.dispatcher or "the baseline")
    (DOCS / "pictures" / "grid.svg").write_text(picture, encoding="utf-8")


def write(path: Path, view: View) -> None:
    """Write a table as CSV: a ratio and its interval in a cell."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(view.headers)
        for row in view.rows:
            cells = (" ".join(filter(None, compared_text(cell))) for cell in row)
            out.writerow(cell.replace("\n", " ") for cell in cells)


def drawn(entries: Sequence[AcrossLogs], base: str) -> str:
    """Return the picture as SVG."""
    parts = list(_parts(entries, base))
    height = max(at for at, _ in parts) + 12
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="520" viewBox="0 0 {WIDTH} {height}">',
            f"<style>{STYLE}</style>",
            *(part for _, part in parts),
            "</svg>\n",
        ]
    )


def _parts(entries: Sequence[AcrossLogs], base: str) -> Iterator[tuple[int, str]]:
    """Yield what is drawn, each with how far down it reaches."""
    wide = (WIDTH - MARGIN) / len(entries)
    middles = [MARGIN + wide * (at + 0.5) for at in range(len(entries))]
    yield _text(0, 14, f"mean bounded slowdown, {base} = 1", "head")
    for row, x in zip(entries, middles, strict=True):
        # Two lines: a name of two parts is wider than its column.
        first, dash, rest = row.name.partition("-")
        yield _text(x, 34, first + dash, "name number")
        yield _text(x, 47, rest, "name number")
    y = 54
    for name in entries[0].runs:
        yield _text(0, y + 15, name)
        for entry, x in zip(entries, middles, strict=True):
            yield from _cell(entry.row(name, QUALITY), x, y, wide)
        y += HEIGHT
    yield y, f'<line x1="0" x2="{WIDTH}" y1="{y + 5}" y2="{y + 5}"/>'
    y += 12
    for title, figure in (("all logs", QUALITY), ("longest wait", LONGEST)):
        yield _text(0, y + 13, title, "head")
        for row, x in zip(entries, middles, strict=True):
            mean = row.mean(figure)
            if mean is not None:
                ratio, _, interval = mean_text(mean).partition("\n")
                yield _text(x, y + 13, ratio, "head number")
                yield _text(x, y + 26, interval.replace(" to ", "-"), "number small")
        y += 34
    yield _text(0, y + 13, "worst log", "head")
    for row, x in zip(entries, middles, strict=True):
        worst, where = row.worst(QUALITY)
        yield _text(x, y + 13, "-" if worst is None else ratio_text(worst), "head number")
        yield _text(x, y + 26, where, "number small")
    y += 48
    x = 0
    for kind, words, far in (("less", "lower", 62), ("more", "higher", 66), ("unclear", "", 0)):
        yield (
            y,
            f'<rect class="{kind}" fill-opacity="0.5" x="{x}" y="{y - 9}" width="11" height="11"/>',
        )
        yield _text(x + 15, y, words or "no clear difference (95 %)", "key")
        x += far


def _cell(row: Result | None, x: float, y: int, wide: float) -> Iterator[tuple[int, str]]:
    if row is None or row.ratio is None:
        yield _text(x, y + 15, "-", "number")
        return
    kind = {"better": "less", "worse": "more"}.get(row.effect, "unclear")
    strength = min(abs(log(row.ratio)) / log(STRONG), 1) if row.effect else 0
    box = f'x="{x - wide / 2 + 1:.1f}" y="{y}" width="{wide - 2:.1f}" height="{HEIGHT - 2}"'
    yield y, f'<rect class="{kind}" fill-opacity="{0.15 + 0.5 * strength:.2f}" {box}/>'
    yield _text(x, y + 15, ratio_text(row.ratio), "number")


def _text(x: float, y: int, words: str, kind: str = "") -> tuple[int, str]:
    named = f' class="{kind}"' if kind else ""
    return y, f'<text{named} x="{x:.1f}" y="{y}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
