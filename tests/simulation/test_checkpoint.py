"""A killed simulation goes on to the identical result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import DISPATCHERS, jobs, machine, machines, workloads

from cpsched.errors import RunError
from cpsched.mapping import fit
from cpsched.model.types import MISSING
from cpsched.simulation import checkpoint
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder, schedule_of
from cpsched.simulation.simulator import Simulator
from cpsched.spec import build

pytestmark = pytest.mark.slow


def _simulator(fitted, dispatcher):
    recorders = [AllocationRecorder(len(fitted.system.resources)), DecisionRecorder()]
    predictor = build("predictors", "requested")
    return Simulator(fitted, build("dispatchers", dispatcher), predictor, observers=recorders)


def _result(fitted, simulator):
    schedule = schedule_of(fitted, simulator, simulator.observers[0])
    segments = schedule.segments
    return (
        schedule.start.tolist(),
        schedule.end.tolist(),
        schedule.outcome.tolist(),
        [getattr(segments, name).tolist() for name in type(segments).__slots__],
        simulator.observers[1].counts(),
    )


@given(workload=workloads(), system=machines(), until=st.integers(0, 60))
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_going_on_from_a_file_gives_the_same(dispatcher, workload, system, until, tmp_path_factory):
    """Stop anywhere, write, read in a new simulator, go on: everything is as without the stop."""
    fitted = fit(workload, system)
    whole = _simulator(fitted, dispatcher)
    whole.run()
    cut = _simulator(fitted, dispatcher)
    cut.run(until=until)
    path = tmp_path_factory.mktemp("checkpoint") / "state.npz"
    checkpoint.write(path, "me", cut.state())
    again = _simulator(fitted, dispatcher)
    again.restore(checkpoint.read(path, "me"))
    again.run()
    assert _result(fitted, again) == _result(fitted, whole)


def test_held_jobs_survive():
    """Dependencies and begin times are part of the state."""
    workload = jobs(
        (0, 1, 9), (1, 1, 2), (2, 1, 1), dependency=[-1, 0, -1], begin=[MISSING, MISSING, 20]
    )
    fitted = fit(workload, machine((1,)))
    cut = _simulator(fitted, "fifo")
    cut.run(until=5)
    again = _simulator(fitted, "fifo")
    again.restore(cut.state())
    again.run()
    assert again.start_time.tolist() == [0, 9, 20]


def test_damaged_and_foreign_files_are_refused(tmp_path):
    """One line says what is wrong; nothing is unpickled."""
    fitted = fit(jobs((0, 1, 5)), machine((1,)))
    path = tmp_path / "state.npz"
    checkpoint.write(path, "me", _simulator(fitted, "fifo").state())
    with pytest.raises(RunError, match="checkpoint of another run"):
        checkpoint.read(path, "you")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(RunError, match="not a checkpoint, or is damaged"):
        checkpoint.read(path, "me")
    np.save(path.with_suffix(".npy"), np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(RunError, match="not a checkpoint, or is damaged"):
        checkpoint.read(path.with_suffix(".npy"), "me")
    other = fit(jobs((0, 1, 5), (1, 1, 1)), machine((1,)))
    saved = _simulator(fitted, "fifo").state()
    with pytest.raises(RunError, match="of 1 jobs, this run has 2"):
        _simulator(other, "fifo").restore(saved)
