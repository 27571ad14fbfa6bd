"""ESP: the tables of the papers exactly, arrivals as they say."""

from collections import Counter

import numpy as np
import pytest

from cpsched import systems
from cpsched.papers.generators.esp import ESP, ESP_NODES, EspNodesOptions, EspOptions
from cpsched.papers.generators.gaussian import gaussian_arrivals
from cpsched.simulation.simulate import simulate
from cpsched.systems.mapping import fit

#: Cores on 8,192, nodes of 16, jobs, and seconds in ESP-2 and as first published: IPSCHED Figure
#: 3 (a) by hand (0.1582 is 162 nodes, 0.0957 98), and parts of the machine, rounded up.
TABLE = {
    "A": (256, 1, 75, 257, 267),
    "B": (512, 1, 9, 341, 322),
    "C": (4096, 8, 3, 536, 534),
    "D": (2048, 4, 3, 601, 616),
    "E": (4096, 8, 3, 312, 315),
    "F": (512, 1, 9, 1846, 1846),
    "G": (1024, 2, 6, 1321, 1334),
    "H": (1296, 3, 6, 1078, 1067),
    "I": (256, 1, 24, 1438, 1432),
    "J": (512, 1, 24, 715, 725),
    "K": (784, 2, 15, 495, 487),
    "L": (1024, 2, 36, 369, 366),
    "M": (2048, 4, 15, 192, 187),
    "Z": (8192, 16, 2, 100, 100),
}


def esp(**options):
    return ESP.generate(EspOptions(**options))


def nodes(**options):
    return ESP_NODES.generate(EspNodesOptions(**options))


def rows(workload):
    """Return how many jobs there are of each name, units and runtime."""
    columns = (workload.name.decode(), workload.units.tolist(), workload.runtime.tolist())
    return Counter(zip(*columns, strict=True))


def test_without_gpus_it_is_the_published_table():
    workload = esp(gpus=0)
    assert len(workload) == 230
    assert rows(workload) == {
        (name, cores, runtime): count for name, (cores, _, count, runtime, _) in TABLE.items()
    }
    assert workload.resources == ("core",)


def test_with_gpus_every_job_but_z_is_doubled():
    """458 jobs; the papers' sum of completion times is 21,822 s on the whole machine."""
    workload = esp()
    assert len(workload) == 458
    assert rows(workload) == {
        (f"{name}{suffix}", cores, runtime): count
        for name, (cores, _, count, runtime, _) in TABLE.items()
        for suffix in ("", "-gpu")
        if (name, suffix) != ("Z", "-gpu")
    }
    assert int((workload.units * workload.runtime).sum() / 8192) == 21_822
    gpus = np.array([name.endswith("-gpu") for name in workload.name.decode()])
    assert np.array_equal(workload.per_node[:, 1], 2 * gpus)
    assert np.all(workload.request == [1, 0])


@pytest.mark.parametrize(("gpus", "minutes"), [(0, [40, 120]), (2, [80, 240])])
def test_z_jobs_come_at_their_own_times(gpus, minutes):
    workload = esp(gpus=gpus, seed=4)
    z = np.array([name == "Z" for name in workload.name.decode()])
    assert (workload.submit[z] / 60).tolist() == minutes


@pytest.mark.parametrize("make", [esp, nodes])
def test_fifty_jobs_come_at_once_and_the_others_with_gaussian_gaps(make):
    """Gaps of mean 30 s, here with a deviation of 10 s; their sum over ten seeds tells."""
    gaps = []
    for seed in range(10):
        workload = make(initial=50, seed=seed)
        assert workload.job_id.tolist() == [str(number + 1) for number in range(len(workload))]
        submit = workload.submit[[name != "Z" for name in workload.name.decode()]]
        assert np.all(submit[:50] == 0)
        assert np.all(np.diff(submit) >= 0)
        gaps.extend(np.diff(submit[49:]).tolist())
    # 1,780 gaps or more: the mean's own deviation is below 0.25 s.
    assert np.mean(gaps) == pytest.approx(30, abs=1)
    assert np.std(gaps) == pytest.approx(10, abs=0.7)
    # A Gaussian has 68 % within one deviation of the mean.
    assert (np.abs(np.array(gaps) - 30) <= 10.5).mean() == pytest.approx(0.7, abs=0.05)
    # The order is random, so the first fifty are not all of one type.
    assert len(set(workload.name.decode()[:50])) > 8


def test_random_sizes_are_up_to_four_cores_off():
    """IPSCHED section VI; a Z job cannot be larger than the machine."""
    workload, same = esp(size_jitter=4), esp()
    base = np.array([TABLE[name.partition("-")[0]][0] for name in workload.name.decode()])
    off = workload.units - base
    assert set(off[base < 8192].tolist()) == set(range(-4, 5))
    assert np.all((off[base == 8192] <= 0) & (off[base == 8192] >= -4))
    assert np.array_equal(workload.submit, same.submit)
    assert workload.name.decode() == same.name.decode()
    for each in (workload, same):
        assert fit(each, systems.load("esp-1024")).rejected == ()


def test_other_machines_get_whole_nodes():
    """0.0957 of 16 nodes is 1.53: two nodes of 4 cores; 0.03125 of them is a half, at least one."""
    workload = esp(nodes=16, cores=4, gpus=0)
    cores = dict(zip(workload.name.decode(), workload.units.tolist(), strict=True))
    assert (cores["A"], cores["K"], cores["Z"]) == (4, 8, 64)


@pytest.mark.parametrize(("count", "initial"), [(0, 5), (3, 5), (5, 5), (5, 0)])
def test_arrivals_at_their_bounds(count, initial):
    submit = gaussian_arrivals(
        np.random.default_rng(1), count, initial=initial, gap=30.0, deviation=0.0
    )
    assert submit.tolist() == [30 * max(0, i + 1 - initial) for i in range(count)]


def test_a_wild_deviation_never_goes_back_in_time():
    submit = gaussian_arrivals(np.random.default_rng(1), 200, initial=1, gap=1.0, deviation=50.0)
    assert np.all(np.diff(submit) >= 0)


# --- as first published --------------------------------------------------------------------------


def test_it_is_the_first_table():
    """228 jobs, all at once; with Z 230, of which the two of the whole machine are urgent."""
    expected = {(name, size, time): jobs for name, (_, size, jobs, _, time) in TABLE.items()}
    full, plain = nodes(full=True), nodes()
    assert rows(full) == expected
    del expected["Z", 16, 100]
    assert len(plain) == 228
    assert rows(plain) == rows(nodes(seed=2)) == expected
    assert (plain.submit == 0).all()
    assert not plain.urgent.any()
    assert full.submit[full.urgent].tolist() == [40 * 60, 120 * 60]
    # The others are the same ones in the same order.
    assert full.take(np.flatnonzero(~full.urgent)).name.decode() == plain.name.decode()


def test_sizes_are_parts_of_any_machine_rounded_up():
    """0.1582 of 500 nodes is 79.1, 0.0957 is 47.85, and 0.03125 is 15.625."""
    workload = nodes(nodes=500)
    size = dict(zip(workload.name.decode(), workload.units.tolist(), strict=True))
    assert (size["H"], size["K"], size["A"], size["C"]) == (80, 48, 16, 250)
    # 0.0625 of 1,600 is 100 exactly.
    assert nodes(nodes=1600).units[[name == "B" for name in nodes().name.decode()]].max() == 100
    assert (nodes(nodes=1).units == 1).all()


def test_all_jobs_run_on_the_machine_of_the_thesis():
    """In 215 minutes at best: the nodes of all jobs times their minutes over 16."""
    workload = nodes()
    system = systems.load("esp-16")
    best = int((workload.units * workload.runtime).sum()) / 16
    assert best / 60 == pytest.approx(215.07, abs=0.01)
    fitted = fit(workload, system, malleable="share=0.5,least=0.5,most=4")
    assert fitted.rejected == ()
    assert fitted.workload.units_max.max() == 16
    end = simulate(workload, system).schedule.end.max()
    assert best <= end < 1.2 * best
