"""Jobs of runs that can never start under their dispatcher: how many, how much work, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.metrics.rejections import reason_kind, rejections
from cpsched.study.reader import load_run
from cpsched.util.words import counted, escaped, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.metrics.rejections import Rejection
    from cpsched.model.schedule import Schedule
    from cpsched.study.results import RunResult
    from cpsched.study.tables import Tables

#: At most this many reasons are listed.
_MOST = 6
#: At most this many jobs of a reason are named.
_NAMED = 5


def never_started(tables: Tables, place: str) -> Iterator[str]:
    """
    Yield lines on the jobs of a workload and system that can never start, if there are any.

    Lines that hold for all dispatchers come once, others for each dispatcher's first repetition.
    """
    runs = [run for run in tables.results.runs if run.case == place]
    first = {run.configuration: run for run in reversed(runs)}
    lines = {run.configuration: list(_of_run(run)) for run in reversed(first.values())}
    told = [one for one in lines.values() if one]
    same = len(told) == len(lines) and all(one == told[0] for one in told)
    for (dispatcher, _), (head, *reasons) in ((who, one) for who, one in lines.items() if one):
        yield f"never started{'' if same else f' under {escaped(dispatcher)}'}: {head}"
        yield from reasons
        if same:
            return


def _of_run(run: RunResult) -> Iterator[str]:
    if not run.counts["never_started"]:
        return
    schedule = load_run(run.path).schedule
    reasons = rejections(schedule.workload, schedule.never_started)
    number = len(schedule.never_started)
    share = number / max(len(schedule.workload), 1)
    core_time = sum(one.share_of_core_time for one in reasons)
    yield (
        f"{counted(number, 'job')} can never start, {percent(share)} of the jobs with"
        f" {percent(core_time)} of the core time"
    )
    yield from (_reason(one, schedule) for one in reasons[:_MOST])
    if len(reasons) > _MOST:
        yield f"  {sum(one.jobs for one in reasons[_MOST:]):,} more, for other reasons"


def _reason(one: Rejection, schedule: Schedule) -> str:
    """Name a reason, and the jobs of its kind, the one whose numbers it has first."""
    kind, ids = reason_kind(one.reason), schedule.workload.job_id
    rows = [row for row, why in schedule.never_started.items() if reason_kind(why) == kind]
    names = [one.job_id, *(name for row in rows if (name := str(ids[row])) != one.job_id)]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    jobs = f"job{'s' if len(names) > 1 else ''} {', '.join(map(escaped, names[:_NAMED]))}{more}"
    return f"  {counted(one.jobs, 'job')}: {escaped(one.reason)} ({jobs})"
