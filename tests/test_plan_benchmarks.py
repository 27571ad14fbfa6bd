"""The benchmarks of the planning dispatchers run, go on where they were, and say what is wrong."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import jobs

from cpsched.study.paired import ratio

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def campaign() -> Any:
    """Runs and their file."""
    return import_module("campaign")


@pytest.fixture
def paired() -> Any:
    """Ratios of paired runs."""
    return import_module("paired")


@pytest.fixture
def few(campaign: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A campaign in which every log is six jobs of two processors on HPC2N's 240."""
    from cpsched import systems
    from cpsched.mapping import fit

    workload = jobs(
        *((10 * i, 2, 30, 60) for i in range(6)), resources=("core", "mem"), layout="processors"
    )

    def fitted(_: Path, log: str, first: int, seed: int) -> Any:
        return fit(
            campaign.moved(workload.select(first=first or None), seed), systems.load("hpc2n")
        )

    monkeypatch.setattr(campaign, "fitted", fitted)
    return campaign


def test_jitter_delays_by_whole_seconds_and_keeps_submit_order(campaign: Any) -> None:
    """The same seed gives the same log; seed 0 the log itself."""
    log = jobs(*((i // 3, 1, 5) for i in range(300)))
    later = campaign.moved(log, 7)
    assert campaign.moved(log, 0) is log
    assert later.digest() == campaign.moved(log, 7).digest()
    assert later.digest() != campaign.moved(log, 8).digest()
    assert (np.diff(later.submit) >= 0).all()
    before = dict(zip(log.job_id.tolist(), log.submit.tolist(), strict=True))
    delay = [now - before[job] for job, now in zip(later.job_id, later.submit, strict=True)]
    assert set(delay) == {0, 1, 2, 3, 4, 5}


def test_a_ratio_and_its_interval_are_of_logarithms(paired: Any) -> None:
    """Ratios 1/2 and 2 have the mean 1; t(0.975, 1) = 12.706 and s / sqrt(2) = ln 2."""
    found = ratio([1, 4], [2, 2])
    assert found.mean == pytest.approx(1)
    assert np.log(found.high) == pytest.approx(12.7062 * np.log(2), rel=1e-4)
    assert found.low == pytest.approx(1 / found.high)


def test_one_pair_has_no_interval_and_zeros_no_ratio(paired: Any) -> None:
    """There is no spread of one number, and no ratio to nothing."""
    assert paired.shown(ratio([3], [2])) == "1.500"
    assert paired.shown(ratio([1, 0], [1, 1])) == "-"
    assert paired.shown(ratio([], [])) == "-"


def test_places_tell_who_is_not_behind(paired: Any) -> None:
    """One is better in every run, one now and then."""
    values = {"a": [10, 11, 12], "b": [10.1, 10.9, 12.1], "c": [20, 22, 25]}
    assert paired.places(values) == {"a": "first", "b": "tied"}
    assert paired.places({"a": [2], "b": [3], "c": [2]}) == {"a": "first", "c": "tied"}


def test_what_is_done_is_not_done_again(few: Any, tmp_path: Path) -> None:
    """A second campaign finds the results of the first, and a cut one says what is left."""
    cases = [
        few.Case("HPC2N", 5, "actual", name, seed) for name in ("fifo", "easy") for seed in (1, 2)
    ]
    path = tmp_path / "plans.jsonl"
    none: frozenset[str] = frozenset()
    assert few.carry_out(cases, few.Results(path), tmp_path, redo=none, minutes=-1) == 4
    assert not path.exists()
    assert few.carry_out(cases, few.Results(path), tmp_path, redo=none, minutes=60) == 0
    assert len(path.read_text().splitlines()) == 4
    again = few.Results(path)
    assert few.carry_out(cases, again, tmp_path, redo=none, minutes=60) == 0
    assert len(path.read_text().splitlines()) == 4
    # Nobody waits on 240 processors.
    assert {row["wait_max"] for row in again.rows.values()} == {0}
    assert {row["bsld_mean"] for row in again.rows.values()} == {1.0}


def test_a_result_of_another_source_is_redone_on_demand(few: Any, tmp_path: Path) -> None:
    """Only where asked for; the later line counts."""
    case = few.Case("HPC2N", 3, "actual", "fifo", 0)
    results = few.Results(tmp_path / "plans.jsonl")
    results.add(case, {"source": "older", "wait_max": 99})
    few.carry_out([case], results, tmp_path, redo=frozenset(), minutes=60)
    assert results.rows[case]["wait_max"] == 99
    few.carry_out([case], results, tmp_path, redo=frozenset(["fifo"]), minutes=60)
    assert few.Results(results.path).rows[case]["wait_max"] == 0


def test_a_broken_line_of_results_is_named(campaign: Any, tmp_path: Path) -> None:
    """A campaign that was killed while it wrote leaves half a line."""
    path = tmp_path / "plans.jsonl"
    path.write_text('{"case": {"log": "HPC2N"\n')
    with pytest.raises(SystemExit, match=r"plans\.jsonl, line 1: no result of a run"):
        campaign.Results(path)


def test_a_report_has_a_line_a_dispatcher(few: Any, tmp_path: Path, capsys: Any) -> None:
    """The tables of a paired panel, with ratios to EASY."""
    plans = import_module("plans")
    panel = plans.Panel("paired", ("HPC2N",), ("actual",), ("fifo", "easy"), 6, 2)
    results = few.Results(tmp_path / "plans.jsonl")
    few.carry_out(panel.cases(), results, tmp_path, redo=frozenset(), minutes=60)
    capsys.readouterr()
    plans.report(panel, results)
    lines = capsys.readouterr().out.splitlines()
    assert "### HPC2N, 6 jobs, actual, paired runs with seeds 1, 2" in lines
    row = [
        cell.strip() for cell in next(line for line in lines if "`fifo`" in line).split("|")[1:-1]
    ]
    # No wait: a bounded slowdown of 1 in every run, and no ratio of waits of 0.
    assert row[:4] == ["`fifo`", "1.00", "1.0", "0"]
    assert row[6:10] == ["1.000 (1.000-1.000)", "first", "-", ""]


def test_plans_refuses_bad_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line each."""
    plans = import_module("plans")
    for arguments, message in (
        ([], "--traces is needed"),
        (["--traces", str(tmp_path), "--seeds", "0"], "must be at least 1"),
        (["--traces", str(tmp_path), "--out", str(tmp_path)], "no HPC2N-2002-2.2-cln.swf.gz in"),
        (["--report", "--out", str(tmp_path)], "no results in"),
    ):
        monkeypatch.setattr(sys, "argv", ["plans.py", *arguments])
        with pytest.raises(SystemExit) as end:
            plans.main()
        assert end.value.code
        assert message in f"{end.value} {capsys.readouterr().err}"


@pytest.mark.parametrize("nodes", [8, 300])
def test_a_made_view_is_consistent_and_the_same_for_any_machine(nodes: int) -> None:
    """What is free is what jobs leave, and a larger machine has the same jobs and as much free."""
    views = import_module("views")
    view, small = (views.Made(size, 8, 20, 10, 3).view() for size in (nodes, 8))
    held = np.zeros_like(view.free)
    for index in range(len(view.running)):
        node, _, amount = view.running.allocation(index)
        held[node] += amount
    assert (view.free == view.system.capacity - held).all()
    assert (view.free >= 0).all()
    assert view.free.sum(axis=0).tolist() == small.free.sum(axis=0).tolist()
    assert view.running.handle.tolist() == small.running.handle.tolist()
    assert (view.running.expected_end > view.now).all()
    assert view.waiting.plan.tolist() == small.waiting.plan.tolist()


def test_decisions_are_sampled_and_timed() -> None:
    """A decision is one at which something fits and something does not."""
    from cpsched import systems
    from cpsched.mapping import fit
    from cpsched.simulation.simulate import simulate

    views = import_module("views")
    # 240 processors; jobs of 150 and 90 in turns, and one at a time fits beside another.
    log = jobs(
        *((i, 150 if i % 2 else 90, 50, 60) for i in range(30)),
        resources=("core", "mem"), layout="processors",
    )  # fmt: skip
    fitted = fit(log, systems.load("hpc2n"))
    seen: list[int] = []
    sample = views.Sample(
        system=fitted.system, names=("cph-3:window=5", "rollout"), step=2, count=4, repeats=2,
        look=lambda view, found: seen.append(len(found)), least=3, most=25,
    )  # fmt: skip
    simulate(fitted, dispatcher="easy", observers=(sample,))
    assert len(sample.waiting) == 4
    assert seen == [2] * 4
    assert all(3 <= waiting <= 25 for waiting in sample.waiting)
    assert [len(of) for of in sample.seconds.values()] == [4, 4]


def test_nodes_prints_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each dispatcher and queue."""
    command = "decisions.py nodes --nodes 4 6 --waiting 5 --views 1 --repeats 1 --running 3"
    monkeypatch.setattr(sys, "argv", command.split())
    import_module("decisions").main()
    printed = capsys.readouterr().out
    assert "### 4 against 6 nodes" in printed
    assert printed.count("\n|") == 7


def test_a_log_among_more_nodes_runs_as_on_its_own() -> None:
    """One job holds what was added, the others start when and where they did."""
    from cpsched import systems
    from cpsched.generators.eurora import EURORA, EuroraOptions
    from cpsched.mapping import fit
    from cpsched.simulation.simulate import simulate

    views = import_module("views")
    alone = fit(
        EURORA.generate(EuroraOptions(jobs=1000, seed=2)).select(first=60), systems.load("eurora")
    )
    small, large = (simulate(log).schedule for log in (alone, views.among(alone, 150)))
    assert large.system.num_nodes == 150
    assert large.start.tolist() == [int(alone.workload.submit[0]), *small.start.tolist()]
    assert large.workload.units[0] == 150 - 64


def test_live_prints_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for each dispatcher."""
    command = "decisions.py live --length 1000 --skip 0 --jobs 20 --nodes 80 --runs 1"
    monkeypatch.setattr(sys, "argv", [*command.split(), "--dispatcher", "easy"])
    import_module("decisions").main()
    printed = capsys.readouterr().out
    assert "### 64 nodes, and the same log among 80" in printed
    assert printed.count("\n|") == 3


def test_results_are_json_lines(few: Any, tmp_path: Path) -> None:
    """Others can read them."""
    results = few.Results(tmp_path / "plans.jsonl")
    few.carry_out(
        [few.Case("HPC2N", 2, "actual", "rollout")], results, tmp_path, redo=frozenset(), minutes=9
    )
    row = json.loads(results.path.read_text())
    assert row["case"] == {
        "log": "HPC2N", "jobs": 2, "predictor": "actual", "dispatcher": "rollout", "seed": 0,
    }  # fmt: skip
    assert row["ended"] == 2
