"""Make the pictures of the gallery: ``make pictures``; those of the report, narrow for phones."""

from __future__ import annotations

import sys
from pathlib import Path

from cpsched.cli.main import build
from cpsched.report.figures import bars, lines, nodes, tradeoff
from cpsched.report.html.make import make_report
from cpsched.study import carry_out, load_study

HERE = Path(__file__).resolve().parent
#: Inches, so that letters keep eight pixels where a phone gives the picture 340; with names beside.
NARROW, NAMED = 4.4, 5.4
#: Files of the report, and what they are called here.
OF_THE_DEMO = {
    "slowdown-against-the-longest-waits": "gallery-tradeoff",
    "waits-of-all-jobs": "gallery-waits",
    "nodes-under-easy": "gallery-nodes",
}
OF_THE_WHAT_IF = {"who-gains-and-who-loses": "gallery-who"}
WHAT_IF = (
    "what-if", str(HERE.parents[1] / "data/logs/eurora-sample.csv.gz"), "--system", "eurora",
    "--change", "add-nodes group=gpu,count=8", "--no-report", "--out",
)  # fmt: skip


def main(demo: Path) -> None:
    """Carry out what is missing, and draw."""
    bars.WIDE = nodes._WIDTH = tradeoff._WIDTH = NARROW
    lines.WIDE = NAMED
    draw_changes = bars.draw_changes
    bars.draw_changes = lambda kinds: draw_changes({"size": kinds["size"]})
    carry_out(load_study("demo"), demo, jobs=1)
    keep(demo, OF_THE_DEMO)
    what_if = demo.with_name("what-if")
    arguments = [*WHAT_IF, str(what_if)]
    build(arguments)(arguments, standalone_mode=False)
    keep(what_if, OF_THE_WHAT_IF)


def keep(study: Path, names: dict[str, str]) -> None:
    """Draw the report of a study, and keep some of its figures."""
    for figure in make_report(study).figures:
        for part, name in names.items():
            if part in figure.name:
                (HERE / f"{name}.svg").write_bytes(figure.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
