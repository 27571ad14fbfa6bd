"""ESP in whole nodes: the published table exactly, on machines of any size."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cpsched import systems, traces
from cpsched.base import registry
from cpsched.errors import ConfigError
from cpsched.mapping import fit
from cpsched.simulation.simulate import simulate
from cpsched_papers.generators.esp import ESP_NODES, EspNodesOptions

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.model.workload import Workload

#: Nodes of 16 (parts of the machine, rounded up), jobs and seconds, by hand.
TABLE = {
    "A": (1, 75, 267),
    "B": (1, 9, 322),
    "C": (8, 3, 534),
    "D": (4, 3, 616),
    "E": (8, 3, 315),
    "F": (1, 9, 1846),
    "G": (2, 6, 1334),
    "H": (3, 6, 1067),
    "I": (1, 24, 1432),
    "J": (1, 24, 725),
    "K": (2, 15, 487),
    "L": (2, 36, 366),
    "M": (4, 15, 187),
    "Z": (16, 2, 100),
}


def made(**options: Any) -> Workload:
    return ESP_NODES.generate(EspNodesOptions(**options))


def rows(workload: Workload) -> Counter[Any]:
    """Return how many jobs there are of each name, nodes and runtime."""
    columns = (workload.name.decode(), workload.units.tolist(), workload.runtime.tolist())
    return Counter(zip(*columns, strict=True))


def test_it_is_registered() -> None:
    assert registry.load("generators", "esp-nodes") is ESP_NODES


def test_it_is_the_published_table() -> None:
    """228 jobs, all at once; with Z 230, of which the two of the whole machine are urgent."""
    expected = {(name, nodes, time): jobs for name, (nodes, jobs, time) in TABLE.items()}
    full = made(full=True)
    assert rows(full) == expected
    del expected["Z", 16, 100]
    plain = made()
    assert len(plain) == 228
    assert rows(plain) == expected
    assert (plain.submit == 0).all()
    assert not plain.urgent.any()
    assert full.submit[full.urgent].tolist() == [40 * 60, 120 * 60]
    assert full.units[full.urgent].tolist() == [16, 16]
    # The others are the same ones in the same order.
    assert full.take(np.flatnonzero(~full.urgent)).name.decode() == plain.name.decode()


def test_sizes_are_parts_of_any_machine_rounded_up() -> None:
    """0.1582 of 500 nodes is 79.1, 0.0957 is 47.85, and 0.03125 is 15.625."""
    workload = made(nodes=500)
    nodes = dict(zip(workload.name.decode(), workload.units.tolist(), strict=True))
    assert (nodes["H"], nodes["K"], nodes["A"], nodes["C"]) == (80, 48, 16, 250)
    # 0.0625 of 1,600 is 100 exactly.
    assert made(nodes=1600).units[[name == "B" for name in made().name.decode()]].max() == 100
    assert (made(nodes=1).units == 1).all()


def test_arrivals_may_be_those_of_esp_2() -> None:
    """50 at once, then gaps of 30 s in the mean; ids count up with the submits."""
    gaps = []
    for seed in range(10):
        workload = made(initial=50, seed=seed, full=True)
        assert workload.job_id.tolist() == [str(number) for number in range(1, 231)]
        submit = workload.submit[~workload.urgent]
        assert (submit[:50] == 0).all()
        gaps.extend(np.diff(submit[49:]).tolist())
    # 1,780 gaps: the mean's own deviation is below 0.25 s.
    assert np.mean(gaps) == pytest.approx(30, abs=1)


def test_seeds_are_orders() -> None:
    """The same jobs in another order, which is not that of the types."""
    one, same, other = made(), made(seed=1), made(seed=2)
    assert one.digest() == same.digest() != other.digest()
    assert rows(one) == rows(other)
    assert len(set(one.name.decode()[:50])) > 8


def test_all_jobs_run_on_the_machine_of_the_thesis() -> None:
    """In 215 minutes at best: the nodes of all jobs times their minutes over 16."""
    workload = made()
    system = systems.load("esp-16")
    best = int((workload.units * workload.runtime).sum()) / 16
    assert best / 60 == pytest.approx(215.07, abs=0.01)
    fitted = fit(workload, system, malleable="share=0.5,least=0.5,most=4")
    assert fitted.rejected == ()
    assert fitted.workload.units_max.max() == 16
    end = simulate(workload, system).schedule.end.max()
    assert best <= end < 1.2 * best


def test_requested_times_follow_the_factor() -> None:
    workload = made(request_factor=1.5)
    assert np.array_equal(workload.requested_time, np.ceil(1.5 * workload.runtime))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 0}, "nodes: 0 is not between"),
        ({"initial": 1.5}, r"initial: 1\.5 is not a whole number"),
        ({"gap": -1.0}, r"gap: -1\.0 is not between"),
        ({"request_factor": 0.5}, r"request_factor: 0\.5 is not between 1\.0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EspNodesOptions(**options)


def test_the_command_line_writes_it(cpsched, tmp_path: Path) -> None:
    """And a table has all of it, urgent jobs among them."""
    file = tmp_path / "esp.parquet"
    code, out, err = cpsched("workload", "generate", "esp-nodes", "--full", "--out", str(file))
    assert (code, err) == (0, "")
    assert "230 jobs" in out
    assert traces.read(file).digest() == made(full=True).digest()
