"""``cpsched accasim import``: a schedule of AccaSim as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpsched.cli.options import LOGS, AsJson, SystemName
from cpsched.cli.output import complain, counted, echo, escaped, print_json

_app = typer.Typer(help="Exchange files with AccaSim.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.add_typer(_app, name="accasim", rich_help_panel=LOGS)


@_app.callback()
def _commands() -> None:
    # With a callback a single command keeps its name.
    pass


@_app.command("import")
def import_command(
    schedule: Annotated[Path, typer.Argument(metavar="SCHEDULE", help="sched- file of AccaSim.")],
    system: SystemName,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the run.", metavar="DIR")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run.")] = False,
    resources: Annotated[
        str | None,
        typer.Option(
            help="Resource types of the file, such as core,mem.",
            metavar="NAME,...",
        ),
    ] = None,
    zone: Annotated[
        str, typer.Option(help="Time zone of the file, such as Europe/Rome.", metavar="ZONE")
    ] = "UTC",
    start_time: Annotated[
        int | None,
        typer.Option(help="Unix time of second 0. [from an AccaSim system]", metavar="S"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import a schedule of AccaSim as a run, to verify and compare it."""
    from accasim_adapter.config import start_time_of
    from accasim_adapter.schedule import missing_numbers, read_schedule
    from cpsched import systems
    from cpsched.cli.heading import width
    from cpsched.cli.progress import reading
    from cpsched.metrics.definitions import leading_text
    from cpsched.study import save_run
    from cpsched.study.folder import check_target

    check_target(out, overwrite=force)
    with reading(schedule):
        run = read_schedule(
            schedule,
            systems.load(system),
            resources=resources.split(",") if resources else None,
            zone=zone,
            start_time=start_time_of(system) if start_time is None else start_time,
        )
        arguments = {"schedule": str(schedule), "system": system, "zone": zone}
        summary = save_run(run, out, overwrite=force, arguments=arguments)
    jobs = len(run.schedule.workload)
    if (numbers := missing_numbers(run.schedule.workload)) is not None:
        first, last, missing = numbers
        complain(
            f"{schedule.name} has {counted(jobs, 'job')}, numbered {first} to {last}. Missing are"
            f" {counted(missing, 'job')} of these numbers. AccaSim writes only jobs that have"
            " ended. If it was interrupted, later jobs are missing, too.",
            "note",
        )
    if as_json:
        print_json("accasim.import", {"folder": str(out), "jobs": jobs, "summary": summary})
        return
    echo(f"{counted(jobs, 'job')} of {escaped(schedule.name)}")
    echo("")
    echo(leading_text(summary, width()))
    echo("")
    echo(f"{escaped(str(out))}: the run. Check it with cpsched verify")
