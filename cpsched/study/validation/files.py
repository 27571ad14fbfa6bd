"""The files of a check: figures as JSON, every job as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import asdict
from statistics import stdev
from typing import TYPE_CHECKING, Any

from cpsched.metrics.fidelity import SHORTEST
from cpsched.metrics.waits import MEANING as WAIT_MEANING
from cpsched.study.validation.downtime import as_csv, downtimes
from cpsched.util.atomic_files import write_all
from cpsched.util.csv_cells import guarded
from cpsched.util.documents import json_text
from cpsched.util.words import counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cpsched.metrics.fidelity import Measured
    from cpsched.study.validation.check import Check
    from cpsched.study.validation.measures import Fidelity


def write_files(checked: Check, folder: Path) -> list[Path]:
    """
    Write ``validation.json`` and ``validation-jobs.csv``; both or none.

    If the machine was probably down, also ``validation-outages.csv``.
    """
    down = downtimes(checked.schedule)
    outages = {"validation-outages.csv": as_csv(checked.schedule, down).encode()} if down else {}
    whole, workload = checked.whole, checked.schedule.workload
    about: dict[str, Any] = {
        "schema": "cpsched.validation/3",
        "statement": list(statement(whole, checked.repeats)),
        **whole.to_dict(),
        "outcomes": checked.summary["outcomes"],
        "offered_load": checked.summary["offered_load"],
        "lag": checked.lag,
        "repeats": [asdict(one) for one in checked.repeats],
        "differences": [one._asdict() for one in checked.differences],
        "downtimes": down,
    }
    jobs = {
        "job_id": workload.job_id[whole.rows],
        "submit": workload.submit[whole.rows],
        "recorded_wait_s": whole.recorded,
        "simulated_wait_s": whole.simulated,
        "held_s": whole.held,
        "error_s": whole.error,
    }
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(jobs)
    rows = zip(*(column.tolist() for column in jobs.values()), strict=True)
    writer.writerows([map(guarded, row) for row in rows])
    return write_all(
        folder,
        {
            "validation.json": (json_text(about, indent=1) + "\n").encode(),
            "validation-jobs.csv": out.getvalue().encode(),
            **outages,
        },
    )


#: Kinds of groups with a warning if the error of their mean wait is this multiple of the whole's.
_KINDS, _OFF = ("reason", "queue", "GPU", "account", "size"), 1.5
_MOST_WARNED = 4
#: What it means for what-ifs; the first {} is the smallest difference that says something.
_ON_WHAT_IFS = {
    "closely": "What-ifs: differences in mean wait larger than {} say something about this machine;"
    " smaller ones are within what the model gets wrong.",
    "roughly": "What-ifs: take directions and large differences (more than {1} in mean wait), not"
    " numbers.",
    "not": "What-ifs: do not trust them yet. Check next, the most frequent causes first:"
    " nodes that were down (--outages), what cpsched slurm import lists as not modelled,"
    " the empty machine at the beginning (a later --measure-from), parameters that have changed"
    " since, a longer log; the jobs that differ most show where it begins.",
}


def statement(fidelity: Fidelity, repeats: Sequence[Measured] = ()) -> Iterator[str]:
    """
    Yield sentences on how closely waits are reproduced, and what that means for what-ifs.

    Parameters
    ----------
    repeats
        The same of other simulations, with submits moved by some seconds.
    """
    one = fidelity.overall
    word = one.grade
    reproduced = "not reproduced" if word == "not" else f"{word} reproduced"
    yield (
        f"Waits are {reproduced}: {duration(one.recorded)} on average in the record,"
        f" {duration(one.simulated)} in the simulation ({_share(one)})."
    )
    if one.missing:
        yield (
            f"{counted(one.missing, 'job')} that ran in the record can never start in the"
            " simulation; shares of jobs count them."
        )
    yield _meaning(one)
    if repeats:
        yield _repeated([one, *repeats])
    minute, ten, hour = one.within
    yield (
        f"{percent(minute)} of the jobs start within a minute of their recorded start,"
        f" {percent(ten)} within ten and {percent(hour)} within an hour; half are off by"
        f" {duration(one.median_error)} at most, a tenth by {duration(one.p90_error)} or more."
    )
    if one.rank is not None:
        yield f"Order of jobs by wait: rank correlation {one.rank:.2f}."
    means = [one.simulated, *(again.simulated for again in repeats)]
    # Two standard deviations: a range would grow with the number of simulations.
    chance = 2 * stdev(means) if repeats else 0.0
    resolution = max(abs(one.bias), one.mean_error / max(one.jobs, 1) ** 0.5, chance)
    yield _ON_WHAT_IFS[word].format(duration(resolution), duration(2 * resolution))
    yield from _warnings(fidelity)


def _meaning(one: Measured) -> str:
    """Say what a wait is, and which part of it no scheduler can change."""
    if one.held < 1:
        return f"Waits are {WAIT_MEANING}."
    return (
        f"Waits are {WAIT_MEANING}. On average {duration(one.held)} of them pass before a job may"
        " start (begin time, dependency, hold). The verdict and its percentage leave that out."
    )


def _repeated(runs: Sequence[Measured]) -> str:
    """Say how far chance goes: what runs with submits a few seconds later come to."""
    means = sorted(one.simulated for one in runs)
    words = Counter(run.grade for run in runs)
    said = (
        f"Chance: over {len(runs)} simulations, with submits moved by seconds, the mean wait is"
        f" {duration(means[0])} to {duration(means[-1])}"
    )
    if len(words) > 1:
        each = ", ".join(f"{word} in {number}" for word, number in words.items())
        said += f". The verdict depends on these seconds: {each}"
    return f"{said}."


def _share(one: Measured) -> str:
    share = one.share
    if share is None:
        return f"{duration(one.bias)} more"
    return f"{percent(abs(share))} {'more' if share >= 0 else 'less'}"


def _warnings(fidelity: Fidelity) -> Iterator[str]:
    """Name groups whose waits are much less well reproduced than those of all jobs."""
    whole = max(
        abs(fidelity.overall.bias),
        0.05 * (fidelity.overall.recorded - fidelity.overall.held),
        SHORTEST,
    )
    off = [
        (kind, name, one)
        for kind, name, one in fidelity.groups
        if kind in _KINDS and abs(one.bias) > _OFF * whole and one.grade == "not"
    ]
    off.sort(key=lambda found: -abs(found[2].bias) * found[2].jobs)
    for kind, name, one in off[:_MOST_WARNED]:
        what = {
            "GPU": f"Jobs {'with' if name == 'yes' else 'without'} GPUs",
            "reason": f"Jobs that waited in Slurm for {name}",
        }.get(kind, f"Jobs of {kind} {name}")
        yield (
            f"{what}: {duration(one.recorded)} in the record, {duration(one.simulated)} in the"
            " simulation; a what-if says nothing about these."
        )
    if len(off) > _MOST_WARNED:
        yield f"So are {counted(len(off) - _MOST_WARNED, 'more group')} (validation.json)."
