"""A whole check: simulate, fit what is unknown, compare with the record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.api.answers import why_in_log
from cpsched.api.errors import ConfigError
from cpsched.api.studies import Choice, carry_out, load_run, prepare, second_of, tasks_of
from slurm_adapter.fidelity import fitting
from slurm_adapter.fidelity.differences import Difference, differences
from slurm_adapter.fidelity.measures import Fidelity, Measured, measure
from slurm_adapter.fidelity.replay import Agreement, replay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cpsched.api.simulation import Schedule
    from cpsched.api.studies import Display, Study
    from slurm_adapter.fidelity.fitting import Fit


@dataclass(frozen=True, kw_only=True)
class Check:
    """
    What came of a check.

    Attributes
    ----------
    run
        Folder of the run that is compared, with what was fitted.
    schedule
        Of that run.
    whole
        How closely it reproduces the log.
    first, last
        The same of the part that parameters were fitted on, and of the rest.
    unfitted
        Of the rest, without what was fitted; None where nothing but the lag was.
    split
        The second between the two parts.
    lag
        Seconds from a decision to a start, fitted on the first part.
    fit
        Parameters that were fitted; None where none were to be.
    given
        How often the dispatcher would have started a job when it was, given what ran until then.
    repeats
        Of the whole, with submits moved by some seconds: how far chance goes.
    """

    run: Path
    schedule: Schedule
    whole: Fidelity
    first: Fidelity
    last: Fidelity
    unfitted: Fidelity | None
    split: int
    lag: int
    fit: Fit | None
    given: Agreement
    repeats: tuple[Measured, ...] = ()


def check(
    study: Study,
    folder: Path,
    *,
    values: Mapping[str, Sequence[str]] | None = None,
    start: int | str | None = None,
    jobs: int = 1,
    display: Display | None = None,
) -> Check:
    """
    Simulate a log, fit what is unknown on its first three quarters, and compare.

    Parameters
    ----------
    study
        Of one workload on one system, with one dispatcher and one predictor. With more seeds than
        one the simulation is repeated.
    folder
        Where runs go; those that are there are kept.
    values
        Values to try, by parameter of the dispatcher.
    start
        Jobs submitted from this second or date on are compared; None: all.
    jobs
        Processes.

    Raises
    ------
    ConfigError
        If a run fails, or the log has no recorded starts.
    """

    def carried(of: Study) -> Sequence[Path]:
        outcome = carry_out(of, folder, jobs=jobs, display=display)
        if outcome.failed:
            raise ConfigError(outcome.failed[0].error, where=outcome.failed[0].name)
        return outcome.folders

    def made(of: Study) -> dict[str, Path]:
        return dict(zip([task.dispatcher for task in tasks_of(of)], carried(of), strict=True))

    again = replace(study, seeds=study.seeds[1:])
    study = _as_recorded(study)
    base = study.dispatchers[0].spec
    folders = made(study)
    schedule = load_run(folders[base]).schedule
    start = second_of(schedule.workload, "--measure-from", start)
    end = fitting.split(schedule, start)
    fit = None
    unfitted = None
    if values:
        unfitted = schedule
        tried = fitting.combinations(base, values)
        part = study.narrowed(end=end)
        choices = tuple(Choice(f"tried {at}", spec) for at, spec in enumerate(tried, start=1))
        of_part = made(replace(part, dispatchers=choices))
        measured = {
            spec: _measured(load_run(path).schedule, start, None) for spec, path in of_part.items()
        }
        fit = fitting.best(tried, measured.__getitem__, _measured(schedule, start, end))
        base = next(spec for spec, own in tried.items() if own == fit.options)
        chosen = (Choice(study.dispatchers[0].label, base),)
        study, again = replace(study, dispatchers=chosen), replace(again, dispatchers=chosen)
        folders = made(study)
        schedule = load_run(folders[base]).schedule
    lag = fitting.lag(_measured(schedule, start, end))
    task = tasks_of(study)[0]
    return Check(
        run=folders[base],
        schedule=schedule,
        whole=_measured(schedule, start, None, lag),
        first=_measured(schedule, start, end, lag),
        last=_measured(schedule, end, None, lag),
        unfitted=None if unfitted is None else _measured(unfitted, end, None),
        split=end,
        lag=lag,
        fit=fit,
        given=replay(
            prepare(task.made_of),
            dispatcher=base,
            predictor=task.predictor,
            settings=task.settings,
            since=start,
        ),
        repeats=tuple(
            _measured(load_run(path).schedule, start, None, lag).overall
            for path in (carried(again) if again.seeds else ())
        ),
    )


def _as_recorded(study: Study) -> Study:
    """Return the study in which nothing is moved."""
    return replace(study, seeds=(0,), jitter=0)


def _measured(schedule: Schedule, start: int | None, end: int | None, lag: int = 0) -> Fidelity:
    try:
        return measure(schedule, start=start, end=end, lag=lag)
    except ValueError as error:
        raise ConfigError(
            f"{error}: fidelity needs a log that says when jobs started",
            where=schedule.workload.title,
        ) from None


def told(checked: Check, study: Study, most: int) -> list[Difference]:
    """Return the jobs that differ most, with what the simulation and the record say about them."""
    task = tasks_of(_as_recorded(study))[0]
    about = load_run(checked.run).about

    def said(job: str, time: int) -> str:
        return why_in_log(
            prepare(task.made_of),
            job=job,
            time=time,
            dispatcher=about["dispatcher"],
            predictor=about["predictor"],
            settings=task.settings,
        ).summary

    return list(differences(checked.schedule, checked.whole, said, most))
