"""The schedules of two folders of studies are compared job by job."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cpsched.study import carry_out, load_study

LOG = "; MaxProcs: 4\n" + "".join(
    f"{i} {10 * i} 0 {40 + i} 2 -1 -1 2 60 -1 1 1 1 -1 1 -1 -1 -1\n" for i in range(1, 9)
)
STUDY = """\
systems = ["four.toml"]
dispatchers = ["fifo", "easy"]
[[workloads]]
name = "small"
file = "small.swf"
"""


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    return import_module("schedules")


def test_schedules_differ_where_a_start_differs(
    schedules: Any, four_cores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal runs count no jobs, one moved start counts one, and a missing run is a dash."""
    (four_cores / "small.swf").write_text(LOG)
    (four_cores / "study.toml").write_text(STUDY)
    carry_out(load_study(four_cores / "study.toml"), "before")
    shutil.copytree("before", "after")

    def cells() -> list[list[str]]:
        schedules.main(["before", "after"])
        lines = capsys.readouterr().out.splitlines()
        rows = [line.split("|")[1:-1] for line in lines if line.startswith("|")]
        return [[cell.strip() for cell in row] for row in rows[2:]]

    assert cells() == [["fifo", "0"], ["easy", "0"]]
    (changed,) = Path("after/runs").glob("*-easy-*/jobs.parquet")
    rows = pq.read_table(changed)
    starts = rows["start"].to_pylist()
    starts[3] += 1
    pq.write_table(rows.set_column(rows.column_names.index("start"), "start", [starts]), changed)
    (gone,) = Path("before/runs").glob("*-fifo-*/run.json")
    gone.unlink()
    assert cells() == [["easy", "1"], ["fifo", "-"]]
