"""Table V of RLScheduler, to the digit: its rules in its own way, and ours for first come."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared"
TRACES = {
    "Lublin-1": SHARED / "arena" / "lublin-1.swf.gz",
    "HPC2N": SHARED / "traces" / "HPC2N-2002-2.2-cln.swf.gz",
    "Lublin-2": SHARED / "arena" / "lublin-2.swf.gz",
}
pytestmark = [pytest.mark.shared, pytest.mark.slow]


@pytest.fixture(scope="module")
def table():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import table_v
    finally:
        sys.path.pop(0)
    if not all(path.exists() for path in TRACES.values()):
        pytest.skip("needs the paper's traces beside the checkout")
    return table_v


@pytest.mark.parametrize("name", TRACES)
def test_its_rules_and_our_first_come_first_served(table, name):
    jobs, machine = table.read(TRACES[name]), table.MACHINES[name]
    for rule in ("FCFS", "SJF", "F1"):
        at = list(table.RULES).index(rule)
        for backfills in (False, True):
            starts = table.theirs(jobs, machine, table.RULES[rule], backfills=backfills)
            assert f"{starts:.2f}" == f"{table.PUBLISHED[name, backfills][at]:.2f}"
    assert f"{table.ours(jobs, machine, 'fifo')[0]:.2f}" == f"{table.PUBLISHED[name, False][0]:.2f}"
