"""A killed simulation goes on to the identical result."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import CLASSES, jobs, machine, machines, workloads

from cpsched.base.spec import build
from cpsched.base.types import MISSING
from cpsched.errors import CpschedError, RunError
from cpsched.mapping import fit
from cpsched.model.topology import Topology
from cpsched.simulation import checkpoint
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.run import schedule_of
from cpsched.simulation.simulator import Simulator

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
@settings(max_examples=20)
@pytest.mark.parametrize("dispatcher", CLASSES)
def test_going_on_from_a_file_gives_the_same(dispatcher, workload, system, until, tmp_path_factory):
    """
    Stop anywhere, write, read in a new simulator, go on: everything is as without the stop.

    So equal input gives equal output, too.
    """
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


def _leaves(saved, path=()):
    for key, value in saved.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _altered(saved, path, *values):
    """Return a state with one part replaced, or left out."""
    first, *rest = path
    if rest:
        return {**saved, first: _altered(saved[first], rest, *values)}
    return {key: item for key, item in saved.items() if key != first} | dict.fromkeys(
        [first] if values else [], *values
    )


@pytest.mark.parametrize(
    "dispatcher", ["easy", "rollout", "slurm-backfill", "aucsched2:interval=none"]
)
def test_an_altered_part_is_one_line(dispatcher):
    """Whatever part of a state is missing or something else: a RunError, and no other."""
    rows = [(job, 1 + job % 3, 20 + job % 7, 40) for job in range(30)]
    fitted = fit(jobs(*rows, user=[f"u{job % 3}" for job in range(30)]), machine((3,), (3,)))
    cut = _simulator(fitted, dispatcher)
    while cut.machine.num_waiting < 3 or cut.machine.num_running < 3:
        assert cut.step()
    saved = cut.state()
    messages = []
    for path, value in _leaves(saved):
        others = [(), ("x",), (None,), (np.array(["x", "y"]),), (np.full((2, 2), -7),), ([[]],)]
        if isinstance(value, np.ndarray) and value.size and value.dtype == np.int64:
            others += [(value[:-1],), (value - 2**40,), (value + 2**61,), (value.astype(float),)]
        for other in others:
            again = _simulator(fitted, dispatcher)
            try:
                again.restore(_altered(saved, path, *other))
            except RunError as error:
                messages.append(str(error))
                continue
            # What a dispatcher or an observer remembers is trusted.
            if path[:2] == ("cluster", "machine"):
                with contextlib.suppress(CpschedError):
                    again.run()
    assert len(messages) > 100
    assert not any("\n" in message for message in messages)


@pytest.mark.parametrize("until", [10, 30, 60])
def test_a_limit_of_switches_that_has_passed_stays_passed(until):
    """
    At 50 two nodes are free, under two switches: the last job has waited for one since 1.

    It waits for 20 s, so that at 30 its limit has passed, and starts at 50; with it, at 100.
    """
    system = replace(machine(*[(1,)] * 4), topology=Topology(4, (2,)))
    workload = jobs(
        (0, 1, 100), (0, 1, 50), (0, 1, 100), (0, 1, 50), (1, 2, 10),
        nodes_min=[1, 1, 1, 1, 2], max_switches=[0, 0, 0, 0, 1], switch_wait=[20] * 5,
    )  # fmt: skip
    fitted = fit(workload, system)
    whole = _simulator(fitted, "fifo")
    whole.run()
    assert whole.start_time.tolist() == [0, 0, 0, 0, 50]
    first, again = _simulator(fitted, "fifo"), _simulator(fitted, "fifo")
    first.run(until)
    again.restore(first.state())
    again.run()
    assert again.start_time.tolist() == [0, 0, 0, 0, 50]
