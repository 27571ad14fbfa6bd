"""The benchmarks of decisions: the views they are timed on, and their tables."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tiny import jobs

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


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
    assert view.waiting.runtime_estimate.tolist() == small.waiting.runtime_estimate.tolist()


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
    from cpsched.mapping import fit
    from cpsched.simulation.simulate import simulate
    from cpsched_papers.generators.eurora import EURORA, EuroraOptions

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
