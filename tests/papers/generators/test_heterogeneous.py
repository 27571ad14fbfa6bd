"""The workloads of Soner's thesis: shares, sizes, nodes, GPU ranges, lengths."""

import numpy as np
import pytest

from cpsched import systems
from cpsched.papers.generators.heterogeneous import HETEROGENEOUS, HeterogeneousOptions
from cpsched.papers.generators.heterogeneous_tables import ESP_1024, PRESETS, TREE_1024, TSUBAME
from cpsched.systems.mapping import fit
from cpsched.util.types import UNBOUNDED, Split

pytestmark = pytest.mark.slow

SYSTEMS = {ESP_1024: "esp-1024", TSUBAME: "tsubame2", TREE_1024: "tree-1024"}


def make(**options):
    return HETEROGENEOUS.generate(HeterogeneousOptions(**options))


def hours(workload, cores):
    """Theoretical run time (T 7.4) in hours."""
    return float((workload.units * workload.runtime).sum() / cores / 3600)


def test_the_workloads_of_the_thesis_are_there():
    """Five of Table 7.2, twelve of 8.4 and six of these again, eight of 8.5 and nine of 8.6."""
    tables = [name.partition("-")[0] for name in PRESETS]
    assert [tables.count(table) for table in ("8.4", "8.5", "8.6")] == [12 + 6, 8, 9]
    assert list(PRESETS)[:5] == ["I", "II", "III", "IV", "V"]


@pytest.mark.parametrize("name", PRESETS)
def test_every_workload_fits_its_machine(name):
    """No job is rejected; sizes are multiples of a node's cores, run times 60 to 600 s."""
    preset = PRESETS[name]
    workload = make(workload=name, seed=2)
    assert fit(workload, systems.load(SYSTEMS[preset.machine])).rejected == ()
    assert np.all(workload.units % preset.machine.cores == 0)
    assert workload.units.max() <= preset.max_cores
    assert 60 <= workload.runtime.min() < 80
    assert 580 < workload.runtime.max() <= 600
    assert np.array_equal(workload.requested_time, workload.runtime)
    if preset.jobs is not None:
        assert len(workload) == preset.jobs
    else:
        cores = preset.machine.nodes * preset.machine.cores
        assert hours(workload, cores) == pytest.approx(preset.hours, rel=0.005)


@pytest.mark.parametrize(
    ("name", "jobs", "printed"),
    [("8.6-1", 3491, 5.0), ("8.6-2", 2095, 2.98), ("8.6-3", 3491, 5.0)],
)
def test_the_jobs_of_table_8_6_last_the_hours_it_prints(name, jobs, printed):
    """Table 8.6 prints 4.94 to 5.02 h for 3,491 jobs, 2.96 to 3.02 h for 2,095."""
    lengths = [hours(make(workload=name, seed=seed), 1408 * 12) for seed in range(1, 8)]
    assert np.mean(lengths) == pytest.approx(printed, rel=0.02)
    assert len(make(workload=name)) == jobs


@pytest.mark.parametrize(
    ("name", "shares"),
    [("I", [100, 0, 0, 0]), ("III", [50, 50, 0, 0]), ("V", [33.3, 33.3, 16.7, 16.7])],
)
def test_types_have_their_shares(name, shares):
    """Table 7.2. Of 1,400 jobs or so, a share is off by 4 points at three deviations."""
    names = np.array(make(workload=name).name.decode())
    percentages = [100 * (names == letter).mean() for letter in "ABCD"]
    assert percentages == pytest.approx(shares, abs=4)
    assert "E" not in names


def test_types_ask_for_what_they_are():
    """Table 7.3 on TSUBAME: x cores; x on y nodes; 1, 2, 3 GPUs on each of y nodes."""
    workload = make(workload="8.6-3")
    for name, gpus in zip("ABCDE", (0, 0, 1, 2, 3), strict=True):
        of_type = np.array(workload.name.decode()) == name
        assert np.all(workload.per_node[of_type] == [0, gpus])
        cores, low, high = (
            getattr(workload, column)[of_type] for column in ("units", "nodes_min", "nodes_max")
        )
        if name == "A":
            assert np.all((low == 1) & (high == UNBOUNDED))
            continue
        assert np.array_equal(low, high)
        choices = (4, 8) if name == "B" else (2 * gpus, 4 * gpus)
        fits = np.column_stack([low == -(-cores // each) for each in choices])
        assert fits.any(axis=1).all()
        # Both choices come up.
        assert (fits[:, 0] & ~fits[:, 1]).any()
        assert (fits[:, 1] & ~fits[:, 0]).any()
    assert np.all(workload.request == [1, 0])
    assert not workload.per_node_max.any()


def test_only_table_7_2_says_cores_per_node():
    """There, type B is job type 3 of T 4.1: as many cores on every node, 4 or 8."""
    workload = make(workload="II")
    assert np.all(workload.split == Split.EVEN)
    assert set((workload.units / workload.nodes_min).tolist()) == {4, 8}
    assert np.all(make(workload="8.5-3").split == Split.ANY)


@pytest.mark.parametrize("name", ["8.5-5r", "8.5-6r"])
def test_ranges_change_nothing_else(name):
    """5' and 6': C takes 1 to 3 GPUs, D 2 to 3; E has none above, A and B none at all."""
    ranged, plain = make(workload=name), make(workload=name[:-1])
    for column in ("submit", "units", "runtime", "nodes_min", "per_node"):
        assert np.array_equal(getattr(ranged, column), getattr(plain, column))
    names = np.array(ranged.name.decode())
    assert sorted(set(names.tolist())) == ["A", "B", "C'", "D'", "E"]
    most = np.where((names == "C'") | (names == "D'"), 3, 0)
    assert np.array_equal(ranged.per_node_max[:, 1], most)


@pytest.mark.parametrize(("name", "part"), [("8.4-1", 0), ("8.4-2", 0.5), ("8.4-3", 1)])
def test_contiguous_jobs_have_their_part(name, part):
    """None, half and all of the jobs (T 8.3)."""
    assert make(workload=name).contiguous.mean() == pytest.approx(part, abs=0.001)


def test_fifty_jobs_come_at_once_and_the_others_within_their_part():
    """Workload I: 4 h; the last comes after 0.2 of that, 2,880 s."""
    submit = make(workload="I").submit
    assert np.all(submit[:50] == 0)
    assert submit[-1] == pytest.approx(2880, rel=0.05)
    gaps = np.diff(submit[49:])
    assert np.mean(gaps) == pytest.approx(2880 / len(gaps), rel=0.05)


def test_a_longer_workload_begins_with_the_jobs_of_a_shorter_one():
    short, long = make(jobs=500), make(jobs=1500)
    assert (len(short), len(long)) == (500, 1500)
    for column in ("units", "runtime", "nodes_min", "per_node"):
        assert np.array_equal(getattr(short, column), getattr(long, column)[: len(short)])


def test_options():
    workload = make(
        workload="II", jobs=40, cores_per_node="2", min_time=5, max_time=5, initial=3,
        request_factor=2.0,
    )  # fmt: skip
    assert len(workload) == 40
    assert set(workload.runtime.tolist()) == {5}
    assert set(workload.requested_time.tolist()) == {10}
    assert set((workload.units / workload.nodes_min).tolist()) == {2}
    assert (workload.submit == 0).sum() >= 3
