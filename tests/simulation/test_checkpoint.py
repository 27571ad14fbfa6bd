"""A killed simulation goes on to the identical result."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import result, simulator
from tiny import CLASSES, jobs, machine, machines, workloads

from cpsched.errors import RunError
from cpsched.model.topology import Topology
from cpsched.simulation import checkpoint
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING, JobType

pytestmark = pytest.mark.slow


@given(
    dispatcher=st.sampled_from(CLASSES),
    predictor=st.sampled_from(["requested", "last", "gbm-log:start=2,window=8,trees=2"]),
    workload=workloads(),
    system=machines(),
    until=st.integers(0, 60),
)
@settings(max_examples=60)
def test_going_on_from_a_file_gives_the_same(
    dispatcher, predictor, workload, system, until, tmp_path_factory
):
    """
    Stop anywhere, write, read in a new simulator, go on: everything is as without the stop.

    So equal input gives equal output, too.
    """
    fitted = fit(workload, system)
    uninterrupted = simulator(fitted, dispatcher, predictor=predictor)
    uninterrupted.run()
    cut = simulator(fitted, dispatcher, predictor=predictor)
    cut.run(until=until)
    path = tmp_path_factory.mktemp("checkpoint") / "state.npz"
    checkpoint.write(path, "me", cut.state())
    again = simulator(fitted, dispatcher, predictor=predictor)
    again.restore(checkpoint.read(path, "me"))
    again.run()
    assert result(again) == result(uninterrupted)


ROWS = {name: [value] * 5 for name, value in {
    "job_type": JobType.EVOLVING, "units_min": 1, "units_max": 8, "resize_cost": 0,
    "evolve_after": 40, "evolve_to": 8,
}.items()}  # fmt: skip
FOUR = [(0, 1, 100), (0, 1, 50), (0, 1, 100), (0, 1, 50), (1, 2, 10)]
#: Jobs, capacities of nodes, the dispatcher, the runtime model, and when they end.
CASES = {
    "held": (
        jobs((0, 1, 9), (1, 1, 2), (2, 1, 1), dependency=[-1, 0, -1], begin=[MISSING, MISSING, 20]),
        (1,), "fifo", "recorded", [9, 11, 21],
    ),
    "cancelled": (
        jobs((0, 1, 5), (1, 1, 5), (2, 1, 5), (10, 1, 9), (20, 1, 5), (30, 1, 5),
             cancel=[MISSING, 3, 5, 12, 30, 30]),
        (1,), "fifo", "recorded", [5, 3, 5, 12, 25, 30],
    ),
    # From 40 on the first job has 8 units.
    "evolving": (
        jobs((0, 4, 100), **{name: value[:1] for name, value in ROWS.items()}),
        (8,), "malleable:strategy=preferred", "recorded", [70],
    ),
    # At 50 two nodes are free, under two switches: the last job has waited for 20 s, and may.
    "switches": (
        jobs(*FOUR, nodes_min=[1, 1, 1, 1, 2], max_switches=[0, 0, 0, 0, 1], switch_wait=[20] * 5),
        (1, 1, 1, 1), "fifo", "recorded", [100, 50, 100, 50, 60],
    ),
    # Which jobs are sensitive is drawn again from the seed, not kept.
    "random": (
        jobs(*[(at, 2, 20 + at) for at in range(8)], nodes_min=[2] * 8),
        (1, 1, 1), "fifo", "locality:log=scattered", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("until", [1, 3, 5, 11, 30, 60])
@pytest.mark.parametrize("case", CASES)
def test_what_is_to_come_is_in_a_checkpoint(case, until):
    """Begin times, dependencies, cancellations, sizes asked for, limits that have passed."""
    workload, cores, dispatcher, model, ends = CASES[case]
    system = machine(*[(number,) for number in cores])
    if case == "switches":
        system = replace(system, topology=Topology(4, (2,)))
    fitted = fit(workload, system)
    uninterrupted, cut, again = (
        simulator(fitted, dispatcher, runtime_model=model) for _ in range(3)
    )
    uninterrupted.run()
    cut.run(until)
    again.restore(cut.state())
    again.run()
    assert again.end_time.tolist() == uninterrupted.end_time.tolist()
    assert again.outcome.tolist() == uninterrupted.outcome.tolist()
    assert ends is None or uninterrupted.end_time.tolist() == ends


def test_damaged_and_foreign_files_are_refused(tmp_path):
    """One line says what is wrong; nothing is unpickled."""
    fitted = fit(jobs((0, 1, 5)), machine((1,)))
    path = tmp_path / "state.npz"
    checkpoint.write(path, "me", simulator(fitted, "fifo").state())
    with pytest.raises(RunError, match="checkpoint of another run"):
        checkpoint.read(path, "you")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(RunError, match="not a checkpoint, or is damaged"):
        checkpoint.read(path, "me")
    np.save(path.with_suffix(".npy"), np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(RunError, match="not a checkpoint, or is damaged"):
        checkpoint.read(path.with_suffix(".npy"), "me")
