"""ESP-2: the table of the papers exactly, arrivals as they say."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cpsched import systems, traces
from cpsched.base import registry
from cpsched.errors import ConfigError
from cpsched.generators.contract import gaussian_arrivals
from cpsched.mapping import fit
from cpsched_papers.generators.esp import ESP, EspOptions

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.model.workload import Workload

#: Cores on 8,192, jobs and seconds: IPSCHED Figure 3 (a) by hand (0.1582 is 162 nodes, 0.0957 98).
TABLE = {
    "A": (256, 75, 257),
    "B": (512, 9, 341),
    "C": (4096, 3, 536),
    "D": (2048, 3, 601),
    "E": (4096, 3, 312),
    "F": (512, 9, 1846),
    "G": (1024, 6, 1321),
    "H": (1296, 6, 1078),
    "I": (256, 24, 1438),
    "J": (512, 24, 715),
    "K": (784, 15, 495),
    "L": (1024, 36, 369),
    "M": (2048, 15, 192),
    "Z": (8192, 2, 100),
}


def rows(workload: Workload) -> Counter[tuple[str, int, int]]:
    """Return how many jobs there are of each name, cores and runtime."""
    return Counter(
        zip(
            workload.name.decode(),
            workload.units.tolist(),
            workload.runtime.tolist(),
            strict=True,
        )
    )  # type: ignore[arg-type]


def test_it_is_registered() -> None:
    assert registry.load("generators", "esp") is ESP


def test_without_gpus_it_is_the_published_table() -> None:
    workload = ESP.generate(EspOptions(gpus=0))
    assert len(workload) == 230
    assert rows(workload) == {
        (name, cores, runtime): count for name, (cores, count, runtime) in TABLE.items()
    }
    assert workload.resources == ("core",)


def test_with_gpus_every_job_but_z_is_doubled() -> None:
    """458 jobs; the papers' sum of completion times is 21,822 s on the whole machine."""
    workload = ESP.generate(EspOptions())
    assert len(workload) == 458
    expected = {(name, cores, runtime): count for name, (cores, count, runtime) in TABLE.items()}
    expected |= {
        (f"{name}-gpu", cores, runtime): count
        for name, (cores, count, runtime) in TABLE.items()
        if name != "Z"
    }
    assert rows(workload) == expected
    assert int((workload.units * workload.runtime).sum() / 8192) == 21_822
    gpus = np.array([name.endswith("-gpu") for name in workload.name.decode()])  # type: ignore[union-attr]
    assert np.array_equal(workload.per_node[:, 1], 2 * gpus)
    assert np.all(workload.request == [1, 0])


@pytest.mark.parametrize(("gpus", "minutes"), [(0, [40, 120]), (2, [80, 240])])
def test_z_jobs_come_at_their_own_times(gpus: int, minutes: list[int]) -> None:
    workload = ESP.generate(EspOptions(gpus=gpus, seed=4))
    z = np.array([name == "Z" for name in workload.name.decode()])
    assert (workload.submit[z] / 60).tolist() == minutes


@pytest.mark.parametrize("gpus", [0, 2])
def test_fifty_jobs_come_at_once_and_the_others_with_gaussian_gaps(gpus: int) -> None:
    """Gaps of mean 30 s, here with a deviation of 10 s; their sum over ten seeds tells."""
    gaps = []
    for seed in range(10):
        workload = ESP.generate(EspOptions(gpus=gpus, seed=seed))
        submit = workload.submit[[name != "Z" for name in workload.name.decode()]]
        assert np.all(submit[:50] == 0)
        assert np.all(np.diff(submit) >= 0)
        gaps.extend(np.diff(submit[49:]).tolist())
    # 1,780 gaps or more: the mean's own deviation is below 0.25 s.
    assert np.mean(gaps) == pytest.approx(30, abs=1)
    assert np.std(gaps) == pytest.approx(10, abs=0.7)
    # A Gaussian has 68 % within one deviation of the mean.
    assert (np.abs(np.array(gaps) - 30) <= 10.5).mean() == pytest.approx(0.7, abs=0.05)


def test_the_first_jobs_are_a_mix() -> None:
    """The order is random, so the first fifty are not all of one type."""
    first = ESP.generate(EspOptions()).name.decode()[:50]
    assert len(set(first)) > 8


def test_random_sizes_are_up_to_four_cores_off() -> None:
    """IPSCHED section VI; a Z job cannot be larger than the machine."""
    workload = ESP.generate(EspOptions(size_jitter=4))
    base = np.array([TABLE[name.partition("-")[0]][0] for name in workload.name.decode()])  # type: ignore[union-attr]
    off = workload.units - base
    assert set(off[base < 8192].tolist()) == set(range(-4, 5))
    assert np.all((off[base == 8192] <= 0) & (off[base == 8192] >= -4))
    same = ESP.generate(EspOptions())
    assert np.array_equal(workload.submit, same.submit)
    assert workload.name.decode() == same.name.decode()


def test_other_machines_get_whole_nodes() -> None:
    """0.0957 of 16 nodes is 1.53: two nodes of 4 cores; 0.03125 of them is a half, at least one."""
    workload = ESP.generate(EspOptions(nodes=16, cores=4, gpus=0))
    cores = dict(zip(workload.name.decode(), workload.units.tolist(), strict=True))
    assert (cores["A"], cores["K"], cores["Z"]) == (4, 8, 64)


def test_equal_options_give_equal_workloads_and_seeds_others() -> None:
    digests = [ESP.generate(EspOptions(seed=seed)).digest() for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]


def test_requested_times_follow_the_factor() -> None:
    workload = ESP.generate(EspOptions(request_factor=1.5))
    assert np.array_equal(workload.requested_time, np.ceil(1.5 * workload.runtime))


def test_every_job_fits_the_machine_of_the_paper() -> None:
    for jitter in (0, 4):
        workload = ESP.generate(EspOptions(size_jitter=jitter))
        assert fit(workload, systems.load("esp-1024")).rejected == ()


@pytest.mark.parametrize("file", ["esp.csv.gz", "esp.parquet"])
def test_a_written_table_gives_the_workload_back(tmp_path: Path, file: str) -> None:
    workload = ESP.generate(EspOptions(size_jitter=4))
    traces.write(workload, tmp_path / file)
    back = traces.read(tmp_path / file)
    assert back.digest() == workload.digest()
    header = dict(back.header)
    assert header["Generator"] == "cpsched esp, version 1"
    assert header["Option size_jitter"] == "4"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpus": -1}, "gpus: -1 is not between 0 and 1000"),
        ({"nodes": 0}, "nodes: 0 is not between"),
        ({"cores": 1.5}, r"cores: 1\.5 is not a whole number"),
        ({"seed": True}, "seed: True is not a whole number"),
        ({"gap": -1.0}, r"gap: -1\.0 is not between"),
        ({"gap": "long"}, "gap: 'long' is not a number"),
        ({"gap_deviation": float("nan")}, "gap_deviation: nan is not between"),
        ({"request_factor": 0.5}, r"request_factor: 0\.5 is not between 1\.0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EspOptions(**options)


def test_the_command_line_writes_it(cpsched, tmp_path: Path) -> None:
    file = tmp_path / "esp.parquet"
    code, out, err = cpsched("workload", "generate", "esp", "--gpus", "0", "--out", str(file))
    assert (code, err) == (0, "")
    assert "230 jobs" in out
    assert len(traces.read(file)) == 230


@pytest.mark.parametrize(("count", "initial"), [(0, 5), (3, 5), (5, 5), (5, 0)])
def test_arrivals_at_their_bounds(count: int, initial: int) -> None:
    submit = gaussian_arrivals(
        np.random.default_rng(1), count, initial=initial, gap=30.0, deviation=0.0
    )
    assert submit.tolist() == [30 * max(0, i + 1 - initial) for i in range(count)]


def test_a_wild_deviation_never_goes_back_in_time() -> None:
    submit = gaussian_arrivals(np.random.default_rng(1), 200, initial=1, gap=1.0, deviation=50.0)
    assert np.all(np.diff(submit) >= 0)
