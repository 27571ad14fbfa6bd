"""What must hold for every dispatcher on every workload."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import DISPATCHERS, machines, run, workloads

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


@given(workload=workloads(), order=st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(workload, order):
    """Accounting writes jobs as they end: lines in any order are the same workload."""
    lines = list(range(len(workload)))
    order.shuffle(lines)
    first, second = (_as_read(workload, rows) for rows in (sorted(lines), lines))
    assert first.digest() == second.digest()


def _as_read(workload, lines):
    """Build the workload from its rows as a reader would that finds them in this order."""
    columns = {}
    for name in COLUMNS:
        value = getattr(workload, name)
        decoded = value.decode() if isinstance(value, Labels) else value
        columns[name] = [decoded[row] for row in lines]
    return Workload.build(title="lines", resources=workload.resources, **columns)
