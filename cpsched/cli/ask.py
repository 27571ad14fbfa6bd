"""``cpsched when`` and ``cpsched explain``: questions about the jobs of a log at a given time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.options import (
    AsJson,
    Group,
    Log,
    Policy,
    Predictor,
    Rules,
    Seed,
    SystemName,
    fitted_of,
    grouped,
    second_of,
)
from cpsched.cli.output import echo, print_json
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.mapping import Fitted
    from cpsched.model.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Moment(Group):
    """Options: a time of a log under a dispatcher."""

    system: SystemName
    at: Annotated[
        str,
        typer.Option(
            "--at", help="The time asked about: seconds of the log's clock or a date (UTC)."
        ),
    ]
    policy: Policy = None
    dispatcher: Annotated[
        str | None,
        typer.Option("--dispatcher", "-d", help="The dispatcher. [slurm with --policy, else easy]"),
    ] = None
    predictor: Predictor = "requested"
    log: Log
    rules: Rules
    seed: Seed = 0

    def under(self) -> dict[str, Any]:
        """Return what decides, and how it is simulated."""
        from cpsched.base.spec import Spec, whole
        from cpsched.study.policies import following

        return {
            "dispatcher": str(whole("dispatchers", following(self.policy, self.dispatcher))),
            "predictor": str(Spec.parse(self.predictor)),
            "settings": self.rules.settings(self.seed),
        }

    def read(self) -> tuple[Workload, int]:
        """Return the log and the second."""
        jobs = self.log.read()
        second = second_of(jobs, "--at", self.at)
        assert second is not None
        return jobs, second


@grouped
def explain_command(
    job: Annotated[str, typer.Option("--job", help="Id of the job, as in the log.", metavar="ID")],
    *,
    moment: Moment,
    as_json: AsJson = False,
) -> None:
    """Simulate up to a given time and say why a job starts then, or why it does not."""
    from cpsched.answer import why_in_log
    from cpsched.answer.why_text import text
    from cpsched.cli.progress import progress_bar
    from cpsched.cli.report import width

    under = moment.under()
    jobs, time = moment.read()
    fitted = fitted_of(jobs, moment.system, under["settings"])
    with progress_bar(f"up to {time:,} s", len(jobs), jobs.epoch) as observers:
        about = why_in_log(fitted, job=job, time=time, observers=observers, **under)
    if as_json:
        print_json("explain", about.to_dict())
    else:
        echo(text(about, width()))


@grouped
def when_command(
    job: Annotated[
        str | None,
        typer.Option("--job", help="Id of one job; by default all waiting jobs.", metavar="ID"),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script", help="A batch script, as if submitted at that moment.", metavar="FILE"
        ),
    ] = None,
    user: Annotated[
        str,
        typer.Option(
            "--user", help="User who submits the script, as named in the log.", metavar="NAME"
        ),
    ] = "",
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="Print the probability that jobs start by this time; given like --at."
        ),
    ] = None,
    scenarios: Annotated[
        int, typer.Option(help="Scenarios to simulate.", min=2, max=1000, metavar="N")
    ] = 20,
    judged: Annotated[
        int,
        typer.Option(
            help="Earlier forecasts used to correct these; 0 for none.", min=0, metavar="N"
        ),
    ] = 40,
    *,
    moment: Moment,
    as_json: AsJson = False,
) -> None:
    """
    Forecast when waiting jobs will start, how certain that is, and what would start a job earlier.
    """
    from cpsched.answer import when_in_log
    from cpsched.answer.when_text import text
    from cpsched.cli.progress import steps
    from cpsched.cli.report import width

    under = moment.under()
    jobs, now = moment.read()
    fitted = fitted_of(jobs, moment.system, under["settings"])
    if script is not None:
        if job is not None:
            raise ConfigError("names a job of the log; leave it out with --script", key="--job")
        fitted, job = _with_script(fitted, script, now, user)
    with steps() as shown:
        answer = when_in_log(
            fitted,
            time=now,
            job=job,
            by=second_of(jobs, "--by", by),
            scenarios=scenarios,
            judged=judged,
            watch=None if shown is None else lambda done, of: shown("earlier jobs", done, of),
            **under,
        )
    if as_json:
        print_json("when", answer.to_dict())
    else:
        echo(text(answer, width()))


def _with_script(fitted: Fitted, script: Path, now: int, user: str) -> tuple[Fitted, str]:
    """Return a log with the job of a batch script at its end, and that job's id."""
    from cpsched.base import registry
    from cpsched.mapping import append

    if not (kinds := registry.names("scripts")):
        raise ConfigError(
            "no installed package reads batch scripts (cpsched.scripts)", key="--script"
        )
    read = registry.load("scripts", kinds[0])
    asked = read(script, submit=now + (fitted.workload.epoch or 0), user=user)
    return append(fitted, asked, now), str(asked.job_id[0])
