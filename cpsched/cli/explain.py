"""``cpsched explain``: why a job of a log starts or waits at a given time."""

from __future__ import annotations

from typing import Annotated

import typer

from cpsched.cli.one_run import AT, OneRun
from cpsched.cli.options import AsJson, fitted_of, grouped, second_of
from cpsched.cli.output import echo, print_json


@grouped
def command(
    job: Annotated[str, typer.Option("--job", help="Id of the job in the log.", metavar="ID")],
    at: Annotated[str, AT],
    *,
    run: OneRun,
    as_json: AsJson = False,
) -> None:
    """Explain why a job starts or waits at a given time."""
    from cpsched.cli.heading import width
    from cpsched.cli.progress import progress_bar
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
