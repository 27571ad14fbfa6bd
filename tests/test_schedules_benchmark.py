"""Two recordings of schedules are compared job by job."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
LOG = "; MaxProcs: 4\n" + "".join(
    f"{i} {10 * i} 0 {40 + i} 2 -1 -1 2 60 -1 1 1 1 -1 1 -1 -1 -1\n" for i in range(1, 9)
)


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark, for one small log and two dispatchers."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = import_module("schedules")
    monkeypatch.setattr(module, "LOGS", {"small.swf": "four.toml"})
    monkeypatch.setattr(module, "DISPATCHERS", ("fifo", "easy"))
    return module


def test_recordings_differ_where_a_start_differs(
    schedules: Any, four_cores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal recordings count no jobs, one moved start counts one, and a missing run is a dash."""
    (four_cores / "small.swf").write_text(LOG)
    for folder in ("before", "after"):
        schedules.main(["record", folder, "--traces", ".", "--checkout", str(ROOT)])
    changed = Path("after/four-toml.easy.parquet")
    rows = pq.read_table(changed)
    starts = rows["start"].to_pylist()
    starts[3] += 1
    pq.write_table(rows.set_column(1, "start", [starts]), changed)
    Path("before/four-toml.fifo.parquet").unlink()
    capsys.readouterr()
    schedules.main(["compare", "before", "after"])
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("|")
    ]
    assert cells[2:] == [["fifo", "-"], ["easy", "1"]]


def test_what_is_recorded_is_not_simulated_again(
    schedules: Any, four_cores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second call simulates only what is missing."""
    (four_cores / "small.swf").write_text(LOG)
    argv = ["record", "folder", "--traces", ".", "--checkout", str(ROOT)]
    schedules.main(argv)
    Path("folder/four-toml.fifo.parquet").unlink()
    calls = []
    simulate = schedules._simulate
    monkeypatch.setattr(
        schedules, "_simulate", lambda *given: (calls.append(given[3]), simulate(*given))
    )
    schedules.main(argv)
    assert calls == ["fifo"]
