"""The files of a validation: metrics as JSON, every job as CSV."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from statistics import stdev
from typing import TYPE_CHECKING, Any

from cpsched.metrics.validation import agrees_much_worse
from cpsched.metrics.waits import MEANING as WAIT_MEANING
from cpsched.study.validation.downtime import downtimes, outage_table
from cpsched.util.atomic_files import write_all
from cpsched.util.csv_cells import csv_table
from cpsched.util.documents import json_text
from cpsched.util.words import counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cpsched.metrics.validation import WaitErrors
    from cpsched.study.validation.errors import Validation
    from cpsched.study.validation.validate import ValidationResult


def write_files(result: ValidationResult, folder: Path) -> list[Path]:
    """
    Write ``validation.json`` and ``validation-jobs.csv``; both or none.

    If the cluster was probably down, also ``validation-outages.csv``.
    """
    down = downtimes(result.schedule)
    table = csv_table(outage_table(result.schedule, down)).encode()
    outages = {"validation-outages.csv": table} if down else {}
    validation, workload = result.validation, result.schedule.workload
    about: dict[str, Any] = {
        "schema": "cpsched.validation/3",
        "statement": list(statement(validation, result.repeats)),
        **validation.to_dict(),
        "outcomes": result.summary["outcomes"],
        "offered_load": result.summary["offered_load"],
        "lag": result.lag,
        "repeats": [asdict(repeat) for repeat in result.repeats],
        "differences": [difference._asdict() for difference in result.differences],
        "downtimes": down,
    }
    columns = {
        "job_id": workload.job_id[validation.rows],
        "submit": workload.submit[validation.rows],
        "recorded_wait_s": validation.recorded,
        "simulated_wait_s": validation.simulated,
        "held_s": validation.held,
        "error_s": validation.error,
    }
    jobs = {name: column.tolist() for name, column in columns.items()}
    return write_all(
        folder,
        {
            "validation.json": (json_text(about, indent=1) + "\n").encode(),
            "validation-jobs.csv": csv_table(jobs).encode(),
            **outages,
        },
    )


_MOST_WARNED = 4
#: What it means for what-ifs; the first {} is the smallest difference that says something.
_ON_WHAT_IFS = {
    "good": "What-ifs: differences in mean wait above {} are meaningful for this cluster. Smaller"
    " ones are within the error of the model.",
    "moderate": "What-ifs: interpret results as trends only. Differences in mean wait below {1} are"
    " not meaningful.",
    "poor": "What-ifs: do not use them yet. Check the most frequent causes first: nodes that were"
    " down (--outages), settings that cpsched slurm import lists as not modelled, the empty cluster"
    " at the beginning (a later --measure-from), parameters that have changed since, a log that is"
    " too short. The jobs that differ most show where the differences begin.",
}


def statement(validation: Validation, repeats: Sequence[WaitErrors] = ()) -> Iterator[str]:
    """
    Yield sentences on the agreement with recorded waits, and what it means for what-ifs.

    Parameters
    ----------
    repeats
        The same of other simulations, with submits moved by some seconds.
    """
    errors = validation.overall
    grade = errors.grade
    yield (
        f"Agreement with recorded waits: {grade}. Mean wait: simulated"
        f" {duration(errors.simulated)}, recorded {duration(errors.recorded)} ({_share(errors)})."
    )
    if errors.missing:
        yield (
            f"{counted(errors.missing, 'job')} with a recorded start can never start in the"
            " simulation. Shares of jobs include them."
        )
    yield _meaning(errors)
    if repeats:
        yield _repeated([errors, *repeats])
    minute, ten, hour = errors.within
    yield (
        f"Start within 1 min of the recorded start: {percent(minute)} of the jobs. Within 10 min:"
        f" {percent(ten)}. Within 1 h: {percent(hour)}."
    )
    yield (
        f"Error of a start: median {duration(errors.median_error)}, 90th percentile"
        f" {duration(errors.p90_error)}."
    )
    if errors.rank is not None:
        yield f"Order of jobs by wait: rank correlation {errors.rank:.2f}."
    means = [errors.simulated, *(again.simulated for again in repeats)]
    # Two standard deviations: a range would grow with the number of simulations.
    chance = 2 * stdev(means) if repeats else 0.0
    resolution = max(abs(errors.bias), errors.mean_error / max(errors.jobs, 1) ** 0.5, chance)
    yield _ON_WHAT_IFS[grade].format(duration(resolution), duration(2 * resolution))
    yield from _warnings(validation)


def _meaning(errors: WaitErrors) -> str:
    """Return the definition of a wait, and the part of it that no dispatcher can change."""
    if errors.held < 1:
        return f"Waits are {WAIT_MEANING}."
    return (
        f"Waits are {WAIT_MEANING}. On average {duration(errors.held)} of them pass before a job"
        " may start (begin time, dependency, hold). The grade and the percentage exclude this time."
    )


def _repeated(runs: Sequence[WaitErrors]) -> str:
    """Return the variation by chance: results of runs with submits moved by seconds."""
    means = sorted(run.simulated for run in runs)
    words = Counter(run.grade for run in runs)
    sentence = (
        f"Variation by chance: in {len(runs)} simulations with submits moved by seconds, the mean"
        f" wait is {duration(means[0])} to {duration(means[-1])}"
    )
    if len(words) > 1:
        each = ", ".join(f"{word} in {number}" for word, number in words.items())
        sentence += f". The grade varies: {each}"
    return f"{sentence}."


def _share(errors: WaitErrors) -> str:
    share = errors.share
    if share is None:
        return f"{duration(errors.bias)} more"
    return f"{percent(abs(share))} {'more' if share >= 0 else 'less'}"


def _warnings(validation: Validation) -> Iterator[str]:
    """Yield a warning for each group whose waits agree much worse than those of all jobs."""
    off = [
        (kind, name, errors)
        for kind, name, errors in validation.groups
        if agrees_much_worse(kind, errors, validation.overall)
    ]
    off.sort(key=lambda group: -abs(group[2].bias) * group[2].jobs)
    for kind, name, errors in off[:_MOST_WARNED]:
        what = {
            "GPU": f"Jobs {'with' if name == 'yes' else 'without'} GPUs",
            "reason": f"Jobs that waited in Slurm for {name}",
        }.get(kind, f"Jobs of {kind} {name}")
        yield (
            f"{what}: poor agreement, mean wait simulated {duration(errors.simulated)}, recorded"
            f" {duration(errors.recorded)}. What-ifs do not hold for them."
        )
    if len(off) > _MOST_WARNED:
        more = counted(len(off) - _MOST_WARNED, "more group")
        yield f"Poor agreement also for {more}, see validation.json."
