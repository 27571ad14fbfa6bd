"""The benchmark of WLA: the paper's tables as they are printed, and improvements worked by hand."""

from argparse import Namespace
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STUDY = """\
dispatchers = ["easy", "wla", "wla:solver=greedy", "wla:backfill=none"]
[runtime_models]
"a10 b10" = "locality:alpha=0.1,beta=0.1"
[[workloads]]
name = "SDSC-BLUE"
file = "log.swf"
systems = ["line.toml"]
[run]
overrun = "extend"
"""
LINE = """\
name = "line"
title = "eight nodes"
source = "made up"
resources = ["core"]
default_expected_wait = 60
[[nodes]]
group = "node"
count = 8
core = 1
[log]
processors = "whole-nodes"
"""


@pytest.fixture
def wla(monkeypatch):
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("wla")


def test_the_papers_tables_are_whole(wla):
    """Tables I to VI: 25 cells for each of two logs, three measures and two solvers."""
    assert len(wla.PAPER) == 12
    assert {len(cells) for cells in wla.PAPER.values()} == {25}
    assert wla.PAPER["SDSC-BLUE", "wait", "greedy"][50, 50] == 26.86
    assert wla.PAPER["ANL-Intrepid", "utilization", "branch-and-bound"][10, 20] == 1.02


def test_improvements_are_shares_of_the_default(wla):
    """A wait of 90 instead of 100 is 10 % better, a utilization of 0.55 instead of 0.5 as well."""
    same = {"longest": 1, "widest": 1, "contiguous": 1}
    base = wla.Figures(wait=100, response=200, utilization=0.5, **same)
    other = wla.Figures(wait=90, response=250, utilization=0.55, **same)
    improvements = [other.improvement(base, what) for what in ("wait", "response", "utilization")]
    assert improvements == pytest.approx([10, -25, 10])


def test_tables_and_maps_are_made_of_a_study(wla, tmp_path, capsys):
    """Ours beside the paper's; cells without a run have a hyphen."""
    from cpsched.study import carry_out, load_study

    log = [
        f"{job} {10 * job} -1 {50 + 7 * job} {1 + job % 5} -1 -1 {1 + job % 5} 200 -1 1 1 1 -1 1"
        " -1 -1 -1"
        for job in range(1, 30)
    ]
    (tmp_path / "log.swf").write_text("\n".join(log) + "\n")
    (tmp_path / "line.toml").write_text(LINE)
    (tmp_path / "study.toml").write_text(STUDY)
    carry_out(load_study(tmp_path / "study.toml"), tmp_path / "out")
    wla.tables(Namespace(folder=tmp_path / "out", map=tmp_path / "map.png"))
    shown = capsys.readouterr().out
    assert (
        "SDSC-BLUE: improvement of wait in per cent, B&B / greedy (the paper's); log contiguous,"
        " backfill=easy" in shown
    )
    assert "- / - (11.7 / 11.4)" in shown
    assert (tmp_path / "map.png").stat().st_size > 0
    wla.beyond(Namespace(folder=tmp_path / "out"))
    assert " 100 |" in capsys.readouterr().out
    wla.draws(Namespace(folders=[tmp_path / "out"]))
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "a10" in line]
    assert {row[1].strip() for row in rows} == {"SDSC-BLUE", "SDSC-BLUE, all"}
    assert all(row[11].strip() == "0.0" for row in rows if row[3].strip() == "easy")


def test_the_greedy_loses_nothing_or_something(wla, capsys):
    wla.gap(Namespace(problems=20))
    rows = [line for line in capsys.readouterr().out.splitlines() if line.endswith("% |")]
    assert len(rows) == 4
