"""What must hold for every dispatcher on every workload."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import CLASSES, DISPATCHERS, machines, run, workloads

from cpsched.model.workload import COLUMNS, Labels, Workload
from cpsched.verification import verify

pytestmark = pytest.mark.slow


@given(
    workload=workloads(),
    system=machines(),
    overrun=st.sampled_from(["kill", "extend"]),
    interval=st.sampled_from([None, None, 7]),
    predictor=st.sampled_from(["requested", "actual", "actual:factor=0.5"]),
)
@settings(max_examples=20)
@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_every_schedule_verifies(dispatcher, predictor, workload, system, overrun, interval):
    """Nothing over capacity, nothing before its submit, nobody lost: the verifier's rules."""
    result = run(
        workload, system, dispatcher, predictor, overrun=overrun, dispatch_interval=interval
    )
    assert verify(result.schedule) == []


@given(workload=workloads(), system=machines(), order=st.randoms(use_true_random=False))
@settings(max_examples=15)
@pytest.mark.parametrize("dispatcher", CLASSES)
def test_the_order_of_lines_does_not_matter(dispatcher, workload, system, order):
    """Lines in any order, as long as those of one second are in id order: the same schedule."""
    ids = [int(job_id) for job_id in workload.job_id]
    by_second_and_id = np.lexsort((ids, workload.submit))
    shuffled = list(range(len(workload)))
    order.shuffle(shuffled)
    # Keep the id order within each second, whatever the shuffle did.
    slots: dict[int, list[int]] = {}
    for row in by_second_and_id:
        slots.setdefault(int(workload.submit[row]), []).append(int(row))
    lines = [slots[int(workload.submit[row])].pop(0) for row in shuffled]
    in_order = _starts(_as_read(workload, by_second_and_id.tolist()), system, dispatcher)
    assert _starts(_as_read(workload, lines), system, dispatcher) == in_order


def _as_read(workload, lines):
    """Build the workload from its rows as a reader would that finds them in this order."""
    columns = {}
    for name in COLUMNS:
        value = getattr(workload, name)
        decoded = value.decode() if isinstance(value, Labels) else value
        columns[name] = [decoded[row] for row in lines]
    return Workload.build(title="lines", resources=workload.resources, **columns)


def _starts(workload, system, dispatcher):
    schedule = run(workload, system, dispatcher).schedule
    return dict(zip(workload.job_id.tolist(), schedule.start.tolist(), strict=True))
