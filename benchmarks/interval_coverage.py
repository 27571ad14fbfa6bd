"""
How often the 95 % intervals of a comparison hold the true value, where the truth is known.

    python benchmarks/interval_coverage.py [--draws 400] [--seed 1] > intervals.csv

Repetitions are drawn from a distribution whose mean is known. The jobs of the days come from a
process with a known mean: independent days, days that depend on the one before (an autoregression
of the logarithm), and a queue with one server (M/M/1, whose mean wait is known) under two speeds
of the server and the same arrivals. Takes about a minute on
one core.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator

import numpy as np

from cpsched.study.paired import Estimate, Sums, difference, over_days, ratio

#: Draws an interval, and says what it should hold.
Case = Callable[[np.random.Generator], tuple[Estimate | None, float]]
#: Spread of the logarithm of a day's mean wait, and of the ratio of two runs on one day.
_DAY_SPREAD, _RATIO_SPREAD = 0.8, 0.3
_JOBS_PER_DAY = 200


def covered(case: Case, draws: int, seed: int) -> tuple[int, int]:
    """Return how many intervals hold the truth, and how many there are."""
    rng = np.random.default_rng(seed)
    num_holding = num_intervals = 0
    for _ in range(draws):
        estimate, truth = case(rng)
        if estimate is not None and estimate.low is not None and estimate.high is not None:
            num_intervals += 1
            num_holding += estimate.low <= truth <= estimate.high
    return num_holding, num_intervals


def ratios(number: int, *, skewed: bool = False) -> Case:
    """Paired ratios whose geometric mean is 0.8; skewed: the logarithms are exponential."""

    def case(rng: np.random.Generator) -> tuple[Estimate | None, float]:
        noise = rng.exponential(0.2, number) - 0.2 if skewed else rng.normal(0, 0.2, number)
        base = rng.lognormal(8, 1, number)
        return ratio((0.8 * base * np.exp(noise)).tolist(), base.tolist()), 0.8

    return case


def differences(number: int) -> Case:
    """Paired differences with a mean of -60 s."""

    def case(rng: np.random.Generator) -> tuple[Estimate | None, float]:
        base = rng.lognormal(8, 1, number)
        return difference((base + rng.normal(-60, 40, number)).tolist(), base.tolist()), -60.0

    return case


def days(number: int, correlation: float) -> Case:
    """Mean waits of days, lognormal; each depends on the one before. The true ratio is 0.8."""

    def case(rng: np.random.Generator) -> tuple[Estimate | None, float]:
        steps = rng.normal(0, 1, number)
        level = np.empty(number)
        level[0] = steps[0]
        for at in range(1, number):
            level[at] = correlation * level[at - 1] + (1 - correlation**2) ** 0.5 * steps[at]
        base = np.exp(_DAY_SPREAD * level)
        apart = np.exp(rng.normal(-(_RATIO_SPREAD**2) / 2, _RATIO_SPREAD, number))
        jobs = rng.poisson(_JOBS_PER_DAY, number).astype(np.float64)
        estimates = over_days(Sums(0.8 * base * apart * jobs, jobs), Sums(base * jobs, jobs))
        return estimates[1], 0.8

    return case


def queue(number: int, load: float) -> Case:
    """Ratio of the mean waits of two servers, the faster one by a tenth, under equal arrivals."""
    faster = load / 1.1
    truth = (faster / (1 - faster) / 1.1) / (load / (1 - load))

    def case(rng: np.random.Generator) -> tuple[Estimate | None, float]:
        jobs, warm = number * _JOBS_PER_DAY, 2000
        gap = rng.exponential(1 / load, jobs + warm)
        work = rng.exponential(1, jobs + warm)
        day = np.arange(jobs) // _JOBS_PER_DAY
        ours, base = (
            Sums.of(day, _waits(gap, work / speed)[warm:], number) for speed in (1.1, 1.0)
        )
        return over_days(ours, base)[1], truth

    return case


def _waits(gap: np.ndarray, work: np.ndarray) -> np.ndarray:
    """Return the waits of first come, first served (Lindley): the sum above its least so far."""
    total = np.concatenate([[0.0], np.cumsum(work[:-1] - gap[1:])])
    return total - np.minimum.accumulate(total)


def cases() -> Iterator[tuple[str, str, int, Case]]:
    """Yield the interval, the truth behind it, how many values, and how to draw it."""
    for number in (3, 5, 10):
        yield "ratio of repetitions", "lognormal", number, ratios(number)
        yield "ratio of repetitions", "skewed logarithms", number, ratios(number, skewed=True)
        yield "difference of repetitions", "normal", number, differences(number)
    for number in (10, 30, 100, 300):
        for correlation in (0.0, 0.3, 0.6):
            law = f"lognormal days, correlation {correlation}"
            yield "ratio over days", law, number, days(number, correlation)
        for load in (0.7, 0.9):
            yield "ratio over days", f"queue, load {load}", number, queue(number, load)


def main() -> None:
    """Print the table as CSV."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["interval", "truth", "values", "draws", "holds the truth [%]"])
    for kind, law, number, case in cases():
        num_holding, num_intervals = covered(case, chosen.draws, chosen.seed)
        table.writerow(
            [kind, law, number, num_intervals, f"{100 * num_holding / num_intervals:.1f}"]
        )


if __name__ == "__main__":
    main()
