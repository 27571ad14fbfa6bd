"""The generated jobs queue as the real ones do, under the rule that Remediani simulates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cpsched import systems, traces
from cpsched.model.estimates import Requested
from cpsched.simulation.simulate import simulate
from cpsched_papers.generators.eurora import EURORA, EuroraOptions

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.model.workload import Workload

pytestmark = pytest.mark.slow


def queue_under_prb(workload: Workload) -> tuple[float, int]:
    """Jobs waiting under prb with requested times: mean over time, and most at once."""
    run = simulate(workload, systems.load("eurora"), dispatcher="prb", predictor=Requested())
    schedule = run.schedule
    assert not schedule.rejected
    submit, start = schedule.workload.submit, schedule.start
    mean = (start - submit).sum() / (schedule.end.max() - submit.min())
    # What starts at once never waits. At one instant jobs leave the queue before others join:
    # a job that waits joins before it leaves, so the count never falls below zero.
    waited = start > submit
    moments = np.concatenate([start[waited], submit[waited]])
    change = np.repeat([-1, 1], waited.sum())
    order = np.lexsort((change, moments))
    return float(mean), int(np.cumsum(change[order]).max())


@pytest.mark.shared
def test_the_excerpt_has_26_jobs_waiting(shared: Path) -> None:
    """The figure that the generator is calibrated to: 25.9 on average, 232 at most."""
    mean, peak = queue_under_prb(traces.read(shared / "traces" / "eurora-2014.ext.csv.gz"))
    assert mean == pytest.approx(25.9, abs=0.1)
    assert peak == 232


def test_the_generated_log_queues_like_the_excerpt() -> None:
    """Three months of two seeds: about 26 on average, over 200 at peaks."""
    results = [
        queue_under_prb(EURORA.generate(EuroraOptions(jobs=60_000, seed=seed))) for seed in (1, 2)
    ]
    assert 15 < np.mean([mean for mean, _ in results]) < 40
    assert all(peak > 200 for _, peak in results)
