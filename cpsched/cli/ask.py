"""``cpsched explain``: a question about a job of a log at a given time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cpsched.cli.options import (
    AsJson,
    Group,
    Log,
    Predictor,
    Rules,
    Seed,
    SlurmPolicy,
    SystemName,
    fitted_of,
    grouped,
    second_of,
)
from cpsched.cli.output import echo, print_json

#: The time asked about.
AT = typer.Option("--at", help="The time asked about: seconds of the log's clock or a date (UTC).")


@dataclass(frozen=True, kw_only=True)
class OneRun(Group):
    """Options: a log on a machine under one dispatcher."""

    system: SystemName
    slurm_policy: SlurmPolicy = None
    dispatcher: Annotated[
        str | None,
        typer.Option(
            "--dispatcher", "-d", help="The dispatcher. [slurm with --slurm-policy, else easy]"
        ),
    ] = None
    predictor: Predictor = "requested"
    log: Log
    rules: Rules
    seed: Seed = 0

    def under(self) -> dict[str, Any]:
        """Return what decides, and how it is simulated."""
        from cpsched.study.policies import following
        from cpsched.util.spec import Spec, whole

        return {
            "dispatcher": str(whole("dispatchers", following(self.slurm_policy, self.dispatcher))),
            "predictor": str(Spec.parse(self.predictor)),
            "settings": self.rules.settings(self.seed),
        }


@grouped
def explain_command(
    job: Annotated[str, typer.Option("--job", help="Id of the job, as in the log.", metavar="ID")],
    at: Annotated[str, AT],
    *,
    run: OneRun,
    as_json: AsJson = False,
) -> None:
    """Simulate up to a given time and say why a job starts then, or why it does not."""
    from cpsched.cli.progress import progress_bar
    from cpsched.cli.report import width
    from cpsched.forecast import why_in_log
    from cpsched.forecast.why_text import text

    under = run.under()
    jobs = run.log.read()
    time = second_of(jobs, "--at", at)
    assert time is not None
    fitted = fitted_of(jobs, run.system, under["settings"])
    with progress_bar(f"up to {time:,} s", len(jobs), jobs.epoch) as observers:
        about = why_in_log(fitted, job=job, time=time, observers=observers, **under)
    if as_json:
        print_json("explain", about.to_dict())
    else:
        echo(text(about, width()))
