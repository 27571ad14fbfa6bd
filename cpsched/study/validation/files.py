"""The files of a check: figures as JSON, every job as CSV."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from statistics import stdev
from typing import TYPE_CHECKING, Any

from cpsched.metrics.validation import SHORTEST
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

    If the machine was probably down, also ``validation-outages.csv``.
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


#: Kinds of groups with a warning if the error of their mean wait is this multiple of the whole's.
_KINDS, _OFF = ("reason", "queue", "GPU", "account", "size"), 1.5
_MOST_WARNED = 4
#: What it means for what-ifs; the first {} is the smallest difference that says something.
_ON_WHAT_IFS = {
    "good": "What-ifs: differences in mean wait larger than {} say something about this cluster;"
    " smaller ones are within what the model gets wrong.",
    "moderate": "What-ifs: take directions and large differences (more than {1} in mean wait), not"
    " numbers.",
    "poor": "What-ifs: do not trust them yet. Check next, the most frequent causes first:"
    " nodes that were down (--outages), what cpsched slurm import lists as not modelled,"
    " the empty cluster at the beginning (a later --measure-from), parameters that have changed"
    " since, a longer log; the jobs that differ most show where it begins.",
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
        f"Agreement with recorded waits: {grade}. Mean wait simulated {duration(errors.simulated)},"
        f" recorded {duration(errors.recorded)} ({_share(errors)})."
    )
    if errors.missing:
        yield (
            f"{counted(errors.missing, 'job')} that ran as recorded can never start in the"
            " simulation; shares of jobs count them."
        )
    yield _meaning(errors)
    if repeats:
        yield _repeated([errors, *repeats])
    minute, ten, hour = errors.within
    yield (
        f"{percent(minute)} of the jobs start within a minute of their recorded start,"
        f" {percent(ten)} within ten and {percent(hour)} within an hour; half are off by"
        f" {duration(errors.median_error)} at most, a tenth by {duration(errors.p90_error)} or"
        " more."
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
    """Say what a wait is, and which part of it no scheduler can change."""
    if errors.held < 1:
        return f"Waits are {WAIT_MEANING}."
    return (
        f"Waits are {WAIT_MEANING}. On average {duration(errors.held)} of them pass before a job"
        " may start (begin time, dependency, hold). The verdict and its percentage leave that out."
    )


def _repeated(runs: Sequence[WaitErrors]) -> str:
    """Say how far chance goes: what runs with submits a few seconds later come to."""
    means = sorted(run.simulated for run in runs)
    words = Counter(run.grade for run in runs)
    sentence = (
        f"Chance: over {len(runs)} simulations, with submits moved by seconds, the mean wait is"
        f" {duration(means[0])} to {duration(means[-1])}"
    )
    if len(words) > 1:
        each = ", ".join(f"{word} in {number}" for word, number in words.items())
        sentence += f". The verdict depends on these seconds: {each}"
    return f"{sentence}."


def _share(errors: WaitErrors) -> str:
    share = errors.share
    if share is None:
        return f"{duration(errors.bias)} more"
    return f"{percent(abs(share))} {'more' if share >= 0 else 'less'}"


def _warnings(validation: Validation) -> Iterator[str]:
    """Name groups whose waits are much less well reproduced than those of all jobs."""
    overall_error = max(
        abs(validation.overall.bias),
        0.05 * (validation.overall.recorded - validation.overall.held),
        SHORTEST,
    )
    off = [
        (kind, name, errors)
        for kind, name, errors in validation.groups
        if kind in _KINDS and abs(errors.bias) > _OFF * overall_error and errors.grade == "poor"
    ]
    off.sort(key=lambda group: -abs(group[2].bias) * group[2].jobs)
    for kind, name, errors in off[:_MOST_WARNED]:
        what = {
            "GPU": f"Jobs {'with' if name == 'yes' else 'without'} GPUs",
            "reason": f"Jobs that waited in Slurm for {name}",
        }.get(kind, f"Jobs of {kind} {name}")
        yield (
            f"{what}: {duration(errors.recorded)} as recorded, {duration(errors.simulated)} in"
            " the simulation; a what-if says nothing about these."
        )
    if len(off) > _MOST_WARNED:
        yield f"So are {counted(len(off) - _MOST_WARNED, 'more group')} (validation.json)."
