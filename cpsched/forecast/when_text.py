"""Forecasts as lines for a terminal."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from cpsched.util.terminal import table_text
from cpsched.util.words import brief, clock, counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cpsched.forecast.advice import Advice
    from cpsched.forecast.when import JobForecast, QueueForecast

#: A table shows at most this many jobs.
_MOST_SHOWN = 40
#: What is assumed of a job on fewer cores.
_SAME_WORK = "if the runtime grows in proportion to the missing cores"


def text(answer: QueueForecast, width: int = 120) -> str:
    """Return an answer as lines, without a newline at the end."""
    lines = list(_single_job(answer, width) if len(answer.jobs) == 1 else _all_jobs(answer, width))
    if answer.jobs[0].p90 != answer.now:
        lines += ["", *wrap(_basis(answer), width)]
    return "\n".join(lines)


def changes(answer: QueueForecast) -> list[str]:
    """Return a sentence for each change that would start the job earlier."""
    return [
        f"{advice.change}: starts {duration(advice.earlier)} earlier, in {percent(advice.share)} of"
        " the scenarios"
        + (
            f", and ends {duration(advice.ends_earlier)} earlier {_SAME_WORK}"
            if _is_smaller(answer, advice)
            else ""
            if advice.fits is None
            else f", and ends within the limit with a probability of {percent(advice.fits)}"
        )
        for advice in answer.advice
    ]


def _is_smaller(answer: QueueForecast, advice: Advice) -> bool:
    return advice.units < answer.jobs[0].units


def _single_job(answer: QueueForecast, width: int) -> Iterator[str]:
    job = answer.jobs[0]
    yield from wrap(summary(answer), width, break_long_words=False)
    if job.p90 == answer.now:
        return
    yield ""
    if not answer.bounds:
        starts = {
            "10 % before": job.p10,
            "50 % before": job.p50,
            "90 % before": job.p90,
            "by requested times": job.planned,
        }
        shown = {
            "starts": starts,
            "in": [
                *(_ahead(answer, second) for second in (job.p10, job.p50, job.p90)),
                _planned(answer, job.planned),
            ],
            "at": [_at(answer, second) for second in starts.values()],
        }
        yield from _table(shown, width)
        yield ""
    if not answer.advice:
        text = (
            "No shorter time limit starts it earlier. No smaller size ends it earlier"
            f" {_SAME_WORK}."
        )
        yield from wrap(text, width)
        return
    yield "Changes that start it earlier"
    yield ""
    shown = {
        "change": [advice.change for advice in answer.advice],
        "starts earlier": [duration(advice.earlier) for advice in answer.advice],
        "ends earlier": [duration(advice.ends_earlier) for advice in answer.advice],
        "scenarios": [percent(advice.share) for advice in answer.advice],
        "time suffices": [
            "-" if advice.fits is None else percent(advice.fits) for advice in answer.advice
        ],
    }
    yield from _table(shown, width)
    if any(_is_smaller(answer, advice) for advice in answer.advice):
        yield ""
        yield from wrap(f"Fewer cores: end times hold {_SAME_WORK}.", width)


def _table(columns: Mapping[str, Iterable[str]], width: int) -> list[str]:
    """Return the lines of a table of texts."""
    rows = list(zip(*columns.values(), strict=True))
    return table_text(list(columns), rows, width=width, names=len(columns)).splitlines()


def summary(answer: QueueForecast) -> str:
    """Return the forecast of the job's start in one to three sentences."""
    job = answer.jobs[0]
    owner = f" of {brief(job.user)}" if job.user else ""
    where = f" in {brief(job.queue)}" if job.queue else ""
    waited = duration(answer.now - job.submit)
    sentence = f"Job {brief(job.job)}{owner}{where}: {_asks(job)}"
    if job.p90 == answer.now:
        return f"{sentence}. It starts at once."
    sentence += f", submitted {waited} ago. " if answer.now > job.submit else ". "
    if answer.bounds and job.planned is not None:
        return (
            f"{sentence}Latest start: in {_ahead(answer, job.planned)}, at"
            f" {_at(answer, job.planned)}, if no later job overtakes it."
        )
    if answer.bounds and answer.unlimited:
        return (
            sentence + f"Latest start: unknown, because {_unlimited(answer)} no known time limit."
        )
    if job.p50 is None:
        return sentence + "Forecast start: after the end of the simulated scenarios."
    sentence += f"Forecast start: in {_ahead(answer, job.p50)}, at {_at(answer, job.p50)}"
    if job.p10 is not None and job.p90 is not None:
        sentence += f" (80 % interval {_ahead(answer, job.p10)} to {_ahead(answer, job.p90)})"
    if job.chance is not None and answer.by is not None:
        sentence += f". Probability of a start by {clock(answer.by, answer.epoch)}:"
        sentence += f" {percent(job.chance)}"
    return f"{sentence}."


def _asks(job: JobForecast) -> str:
    nodes = f" on {counted(job.nodes_min, 'node')}" if job.nodes_min > 1 else ""
    size = f"{counted(job.units, 'task')}{nodes}"
    time = duration(job.requested_time)
    return {
        "known": f"{size} for {time}",
        "assumed": f"{size} for {time} (assumed)",
        "unknown": f"{size}, no time limit known",
    }[job.limit]


def _all_jobs(answer: QueueForecast, width: int) -> Iterator[str]:
    yield f"{counted(len(answer.jobs), 'job')} waiting at {clock(answer.now, answer.epoch)}"
    yield ""
    shown = answer.jobs[:_MOST_SHOWN]
    columns = {
        "job": [brief(job.job, 20) for job in shown],
        "user": [brief(job.user, 16) for job in shown],
        "asks for": [_asks(job) for job in shown],
        "submitted ago": [duration(answer.now - job.submit) for job in shown],
    }
    planned = [_planned(answer, job.planned) for job in shown]
    if answer.bounds:
        columns["starts in at most"] = planned
    else:
        columns |= {
            "10 %": [_ahead(answer, job.p10) for job in shown],
            "starts in": [_ahead(answer, job.p50) for job in shown],
            "90 %": [_ahead(answer, job.p90) for job in shown],
            "by requested times": planned,
        }
    if answer.by is not None and not answer.bounds:
        columns[f"by {clock(answer.by, None)}"] = [percent(job.chance or 0) for job in shown]
    yield from _table(columns, width)
    if len(answer.jobs) > len(shown):
        yield f"and {counted(len(answer.jobs) - len(shown), 'more job')} (--json has all)"


def _unlimited(answer: QueueForecast) -> str:
    jobs = counted(answer.unlimited, "running or waiting job")
    return f"{jobs} {'has' if answer.unlimited == 1 else 'have'}"


def _basis(answer: QueueForecast) -> str:
    text = _base(answer)
    if answer.unlimited and any(job.planned is None for job in answer.jobs):
        text += (
            f" {_unlimited(answer)} no known time limit. A start by requested times that depends on"
            " them is unknown."
        )
    return text


def _base(answer: QueueForecast) -> str:
    if answer.bounds:
        return (
            f"Latest starts under {answer.dispatcher}, if every job uses its whole requested time"
            " and no new jobs arrive. No job is known to have ended, so there are no probabilities."
        )
    judged = (
        f"calibrated on {answer.judged:,} earlier forecasts"
        if answer.judged
        else "with default widths because no earlier forecast is scored yet"
    )
    return (
        f"{answer.scenarios} scenarios under {answer.dispatcher}, {judged}. 'By requested times':"
        " if every job uses its whole requested time and no new jobs arrive."
    )


def _ahead(answer: QueueForecast, second: int | None) -> str:
    return "later" if second is None else duration(max(second - answer.now, 0))


def _planned(answer: QueueForecast, second: int | None) -> str:
    return "unknown" if second is None and answer.unlimited else _ahead(answer, second)


def _at(answer: QueueForecast, second: int | None) -> str:
    return "-" if second is None else clock(second, answer.epoch)
