"""Make the pictures of the gallery: ``make pictures``; they are figures of reports."""

from __future__ import annotations

import sys
from pathlib import Path

from cpsched.cli.main import build
from cpsched.report.html.make import make_report
from cpsched.study import carry_out, load_study

HERE = Path(__file__).resolve().parent
#: Files of the report, and their names here.
OF_THE_DEMO = {
    "leading-metrics": "gallery-forest",
    "waits-of-all-jobs": "gallery-waits",
    "nodes-under-easy-on": "gallery-nodes",
}
OF_THE_WHAT_IF = {"change-of-waits": "gallery-who"}
WHAT_IF = (
    "what-if", str(HERE.parents[1] / "data/logs/eurora-sample.csv.gz"), "--system", "eurora",
    "--change", "add-nodes group=gpu,count=8", "--no-report", "--out",
)  # fmt: skip


def main(demo: Path) -> None:
    """Carry out what is missing, and draw."""
    carry_out(load_study("demo"), demo, jobs=1)
    copy_figures(demo, OF_THE_DEMO)
    what_if = demo.with_name("what-if")
    arguments = [*WHAT_IF, str(what_if)]
    build(arguments)(arguments, standalone_mode=False)
    copy_figures(what_if, OF_THE_WHAT_IF)


def copy_figures(study: Path, names: dict[str, str]) -> None:
    """Make the report of a study, and copy some of its figures."""
    for figure in make_report(study).figures:
        for part, name in names.items():
            if part in figure.name:
                (HERE / f"{name}.svg").write_bytes(figure.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
