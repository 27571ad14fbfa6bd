"""A whole check: simulate, compare with the record, and repeat with submits a little later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from cpsched.errors import ConfigError
from cpsched.study import carry_out, load_run
from cpsched.study.inputs import prepare, second_of
from cpsched.study.run_spec import run_specs
from cpsched.study.validation.differences import StartDifference, differences
from cpsched.study.validation.errors import Validation, compare_starts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cpsched.metrics.validation import WaitErrors
    from cpsched.model.schedule import Schedule
    from cpsched.simulation.settings import Settings
    from cpsched.study.campaign import Display
    from cpsched.study.study import Study
    from cpsched.systems.mapping import Fitted


class Explain(Protocol):
    """Function that explains where a job stands in a simulation at a second, in a sentence."""

    def __call__(
        self,
        fitted: Fitted,
        *,
        job: str,
        time: int,
        dispatcher: str,
        predictor: str,
        settings: Settings,
    ) -> str:
        """Return the sentence."""


@dataclass(frozen=True, kw_only=True)
class ValidationResult:
    """
    Result of a validation.

    Attributes
    ----------
    schedule, summary
        Schedule and metrics of the compared run.
    validation
        Agreement with the recorded waits.
    lag
        Seconds from a decision to a start, part of every simulated start.
    repeats
        The same of runs with submits moved by some seconds.
    differences
        The jobs that differ most.
    """

    schedule: Schedule
    summary: Mapping[str, Any]
    validation: Validation
    lag: int
    repeats: tuple[WaitErrors, ...]
    differences: tuple[StartDifference, ...]


def validate(
    study: Study,
    folder: Path,
    *,
    start: int | str | None = None,
    examples: int = 0,
    jobs: int = 1,
    explain: Explain,
    display: Display | None = None,
    reasons: Mapping[str, str] | None = None,
    again: bool = False,
) -> ValidationResult:
    """
    Simulate a log, and compare.

    Parameters
    ----------
    study
        Of one workload on one system, with one dispatcher and one predictor. With more seeds than
        one the simulation is repeated.
    folder
        Where runs go; those that are there are kept.
    start
        Jobs submitted from this second or date on are compared; None: all.
    examples
        Number of jobs that differ most, to be explained from both sides.
    jobs
        Processes.
    explain
        Returns where a job stands in the simulation at a second, and why.
    reasons
        Why jobs waited in the record, by id, where that is known.
    again
        Whether runs that are there are repeated.

    Raises
    ------
    ConfigError
        If a run fails, or the log has no recorded starts.
    """

    def carried(of: Study) -> Sequence[Path]:
        outcome = carry_out(of, folder, jobs=jobs, display=display, again=again)
        if outcome.failed:
            raise ConfigError(outcome.failed[0].error, where=outcome.failed[0].name)
        return outcome.folders

    # In the run that is compared, nothing is moved.
    as_recorded = replace(study, seeds=(0,), jitter=0)
    (run,) = map(load_run, carried(as_recorded))
    schedule = run.schedule
    start = second_of(schedule.workload, "--measure-from", start)
    reasons = reasons or {}
    validation = compare_starts(schedule, start=start, lag=None, reasons=reasons)
    others = replace(study, seeds=study.seeds[1:])
    moved = [load_run(path).schedule for path in (carried(others) if others.seeds else ())]
    (task,) = run_specs(as_recorded)

    def explained(job: str, time: int) -> str:
        return explain(
            prepare(task.made_of),
            job=job,
            time=time,
            dispatcher=run.about["dispatcher"],
            predictor=run.about["predictor"],
            settings=task.settings,
        )

    return ValidationResult(
        schedule=schedule,
        summary=run.summary,
        validation=validation,
        lag=validation.lag,
        repeats=tuple(
            compare_starts(moved_schedule, start=start, lag=validation.lag).overall
            for moved_schedule in moved
        ),
        differences=tuple(differences(schedule, validation, explained, examples, reasons)),
    )
