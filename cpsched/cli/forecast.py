"""``cpsched forecast``: when jobs of a log will start, and how good such forecasts are."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.heading import width
from cpsched.cli.one_run import AT, DEADLINE, OneRun
from cpsched.cli.options import JOBS, AsJson, fitted_of, grouped, second_of
from cpsched.cli.output import complain, echo, print_json
from cpsched.cli.progress import steps
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from typing import Any

    from cpsched.systems.mapping import Fitted


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("forecast", rich_help_panel=JOBS)(command)


@grouped
def command(
    at: Annotated[str | None, AT] = None,
    job: Annotated[
        str | None,
        typer.Option("--job", help="Id of a job. [all waiting jobs]", metavar="ID"),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option("--script", help="Batch script to submit at --at.", metavar="FILE"),
    ] = None,
    user: Annotated[
        str,
        typer.Option("--user", help="User who submits the script.", metavar="NAME"),
    ] = "",
    deadline: Annotated[str | None, DEADLINE] = None,
    scenarios: Annotated[
        int, typer.Option(help="Number of simulated scenarios.", min=2, max=1000, metavar="N")
    ] = 20,
    judged: Annotated[
        int | None,
        typer.Option(help="Number of earlier forecasts for calibration. [40]", min=0, metavar="N"),
    ] = None,
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate",
            help="Score forecasts over the log.",
        ),
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(help="Number of scored forecasts. [about 300]", min=50, metavar="N"),
    ] = None,
    *,
    run: OneRun,
    as_json: AsJson = False,
) -> None:
    """
    Forecast when waiting jobs start, and find what would start a job earlier.
    """
    if evaluate:
        asked = {"at": at, "job": job, "script": script, "deadline": deadline, "judged": judged}
        _refuse(asked, "asks about one moment. Leave it out with --evaluate.")
    else:
        _refuse({"samples": samples}, "applies to --evaluate. Add --evaluate.")
        if at is None:
            raise ConfigError(
                "is missing. Give --at TIME, or --evaluate to score forecasts.", key="--at"
            )
    under = run.under()
    jobs = run.log.read()
    fitted = fitted_of(jobs, run.system, under["settings"])
    if evaluate:
        _evaluate(fitted, under, samples or 300, scenarios, as_json=as_json)
        return
    now, latest = second_of(jobs, "--at", at), second_of(jobs, "--deadline", deadline)
    assert now is not None
    if script is not None:
        _refuse({"job": job}, "names a job of the log. Leave it out with --script.")
        fitted, job = _with_script(fitted, script, now, user)
    from cpsched.forecast.log_forecast import when_in_log
    from cpsched.forecast.when_text import text as forecast_text

    with steps() as shown:
        answer = when_in_log(
            fitted,
            time=now,
            job=job,
            by=latest,
            scenarios=scenarios,
            judged=40 if judged is None else judged,
            watch=shown,
            **under,
        )
    if as_json:
        print_json("forecast", answer.to_dict())
    else:
        echo(forecast_text(answer, width()))


def _evaluate(
    fitted: Fitted, under: dict[str, Any], samples: int, scenarios: int, *, as_json: bool
) -> None:
    """Print how good forecasts are along a log."""
    from cpsched.forecast.evaluation import as_data, score_forecasters, text
    from cpsched.forecast.replay import replay

    with steps() as shown:
        replayed = replay(
            fitted,
            forecasts=samples,
            scenarios=scenarios,
            watch=partial(shown, "jobs"),
            **under,
        )
    judged = score_forecasters(replayed, under["settings"].seed)
    if as_json:
        what = {key: under[key] for key in ("dispatcher", "predictor")}
        print_json("forecast-evaluation", what | as_data(replayed, judged))
    else:
        echo(text(replayed, judged, width()))


def _refuse(options: dict[str, Any], why: str) -> None:
    """Raise if one of these options is given."""
    for name, value in options.items():
        if value is not None:
            raise ConfigError(why, key=f"--{name}")


def _with_script(fitted: Fitted, script: Path, now: int, user: str) -> tuple[Fitted, str]:
    """Return a log with the job of a batch script at its end, and that job's id."""
    from cpsched.logs.sacct.batch_script import read
    from cpsched.systems.mapping import append

    asked = read(script, submit=now + (fitted.workload.epoch or 0), user=user)
    for key, text in asked.header:
        if key == "Note":
            complain(f"{script}: {text}", what="note")
    return append(fitted, asked, now), str(asked.job_id[0])
