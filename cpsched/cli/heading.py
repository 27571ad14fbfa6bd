"""The lines above a table: jobs, system, excluded rows and rejected jobs. Widths of lines."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from cpsched.cli.output import counted, echo, escaped
from cpsched.util.terminal import LONGEST_LINE
from cpsched.util.words import amount, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.metrics.rejections import Rejection
    from cpsched.model.system import System
    from cpsched.model.workload import Workload

#: At most this many reasons are listed.
_MOST = 6
#: Above this share of a log's core time, rejected jobs change what a comparison says.
_MATTERS = 0.01


def heading(workload: Workload, system: System) -> str:
    """Return the lines that describe what was simulated."""
    from cpsched.metrics.outcomes import counted_jobs

    days = (int(workload.submit[-1]) - int(workload.submit[0])) / 86400
    nodes = "1 pool" if system.num_nodes == 1 else counted(system.num_nodes, "node")
    return (
        f"{escaped(workload.title)}: {counted_jobs(workload)} submitted over"
        f" {days:,.1f} days\non {escaped(system.title)}: {nodes}, {totals(system)}"
        f"{_recorded(workload)}"
    )


def _recorded(workload: Workload) -> str:
    """Return a line on the recorded waits, to compare with the simulated ones."""
    from cpsched.metrics.waits import MEANING, recorded_wait
    from cpsched.util.types import MISSING

    waits = recorded_wait(workload)
    waits = waits[waits != MISSING]
    if not len(waits):
        return ""
    return (
        f"\nrecorded waits ({MEANING}): mean {duration(float(waits.mean()))}, longest"
        f" {duration(float(waits.max()))}\ncpsched validate compares every start"
    )


def left_out(run: Path) -> Iterator[str]:
    """Yield lines on the rows of a log that a run in a folder leaves out, with the reasons."""
    from cpsched.study import load_run

    counts: dict[str, Any] = json.loads((run / "metrics.json").read_text(encoding="utf-8"))[
        "counts"
    ]
    if counts["rejected"]:
        schedule = load_run(run).schedule
        yield from not_simulated(schedule.workload, schedule.rejected)
    else:
        yield from _not_jobs(counts["set_aside"])


def not_simulated(workload: Workload, rejected: Mapping[int, str]) -> Iterator[str]:
    """Give lines on the rows of a log that are not jobs, or are jobs that cannot run."""
    from cpsched.metrics.rejections import rejections

    yield from _not_jobs(dict(sorted(workload.set_aside)))
    if rejected:
        yield from _rejected(rejections(workload, rejected), len(workload))


def _not_jobs(rows: Mapping[str, int]) -> Iterator[str]:
    """Give no share: the rows are those of the whole log, the jobs may be a part of it."""
    for reason, number in rows.items():
        yield f"Excluded: {counted(number, 'row')} of the whole log ({escaped(reason)})."


def _rejected(rejections: list[Rejection], jobs: int) -> Iterator[str]:
    number = sum(rejection.jobs for rejection in rejections)
    share = sum(rejection.share_of_core_time for rejection in rejections)
    yield (
        f"Rejected: {counted(number, 'job')} that can never run on this system,"
        f" {_percent(number / jobs)} of the jobs with {_percent(share)} of the core time."
        + (" Without them the simulated load is too low." if share >= _MATTERS else "")
    )
    for rejection in rejections[:_MOST]:
        work = _percent(rejection.share_of_core_time)
        yield (
            f"  {counted(rejection.jobs, 'job')}, {work} of the core time:"
            f" {escaped(rejection.reason)} (first: job {escaped(rejection.job_id)})"
        )
        if rejection.remedy:
            yield f"    To run them: {rejection.remedy}"
    if len(rejections) > _MOST:
        others = sum(rejection.jobs for rejection in rejections[_MOST:])
        yield f"  and {others:,} more, for other reasons"


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1 if share >= 0.001 or not share else 2}f} %"


def say(sentence: str) -> None:
    """Print a sentence, wrapped between words below 100 columns with its indentation."""
    indent = sentence[: len(sentence) - len(sentence.lstrip())]
    lines = wrap(
        escaped(sentence).strip(),
        min(width(), LONGEST_LINE),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    echo("\n".join(lines))


def totals(system: System) -> str:
    """Return a system's total of each resource except memory."""
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    return ", ".join(amount(kind, total) for kind, total in kinds if kind != "mem")


def width() -> int:
    """Return the largest width of a table: the terminal's, or 99 if there is none."""
    return (
        max(80, shutil.get_terminal_size().columns)
        if sys.stdout is not None and sys.stdout.isatty()
        else LONGEST_LINE
    )
