"""Every dispatcher keeps jobs in segments and under few switches, or refuses them."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.errors import ConfigError
from cpsched.model.topology import Topology, TopologyKind
from cpsched.util.registry import entries, names
from cpsched.verification import verify

pytestmark = pytest.mark.slow

NODES = 24
BLOCKS = Topology(NODES, group_sizes=((7, 5, 6, 6),), kind=TopologyKind.BLOCK)
REFUSE = {
    "ipsched",
    "aucsched1",
    "aucsched2",
    "aucsched3",
    "cp-nodes",
    "cp-0",
    "cp-1",
    "cp-2",
    "cp-3",
}
BACKFILLING = (
    "easy:order=slowdown", "easy:allocator=lowest-switch", "easy:allocator=contiguous",
    "easy:backfill=sjf,allocator=fewest-groups", "conservative:allocator=lowest-switch",
    "greedy:allocator=contiguous", "conservative:depth=2,allocator=contiguous", "slurm-backfill:reserve=amounts",
    "easy:allocator=balanced", "lookahead:allocator=fewest-groups", "fifo:allocator=pack",
)  # fmt: skip


def workload(kind):
    """Sixty jobs on one-core nodes; every third asks where its nodes lie."""
    rng = np.random.default_rng(7)
    num = 60
    nodes, runtime = rng.integers(1, NODES // 2, num), rng.integers(1, 100, num)
    asked = np.zeros(num, dtype=np.int64)
    for job in range(0, num, 3):
        if kind == "segment":
            asked[job] = rng.integers(2, 5)
            nodes[job] = asked[job] * max(nodes[job] // asked[job] - 1, 1)
        else:
            asked[job] = -(-nodes[job] // 6) + rng.integers(0, 2)
    submit = np.cumsum(rng.integers(0, 20, num))
    more = rng.integers(0, 50, num)
    rows = np.stack([submit, nodes, runtime, runtime + more], axis=1).tolist()
    return jobs(*rows, nodes_min=nodes, nodes_max=nodes, **{kind: asked})


def of_blocks():
    return replace(machine(*[(1,)] * NODES), topology=BLOCKS)


@pytest.mark.parametrize("kind", ["segment", "max_switches"])
@pytest.mark.parametrize(
    "dispatcher", [*sorted({*names("dispatchers")} - {"batsim", "learned"}), *BACKFILLING]
)
def test_places_are_kept_or_refused(dispatcher, kind):
    """All jobs run, no rule is broken; or one line says what cannot be kept."""
    system = of_blocks()
    if dispatcher in REFUSE:
        name = entries("dispatchers")[dispatcher].of or dispatcher
        with pytest.raises(ConfigError, match=f"^{name} cannot place jobs with segments or"):
            run(workload(kind), system, dispatcher)
        return
    schedule = run(workload(kind), system, dispatcher).schedule
    assert (schedule.start >= 0).all()
    assert verify(schedule) == []
