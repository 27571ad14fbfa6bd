"""``cpsched slurm twin``: follow a Slurm, and report what other dispatchers would have gained."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cpsched.api.commands import AsJson, SystemName, echo, print_json, working
from cpsched.api.errors import RunError
from slurm_adapter.live.ask_command import EngineMark  # noqa: TC001  (typer reads it)
from slurm_adapter.live.commands import backend_of, stopped_by_signals


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder of the record; an existing one is continued."
        ),
    ],
    system: SystemName,
    baseline: Annotated[
        str,
        typer.Option(
            help=(
                "Dispatcher that stands for the site's own policy: slurm:policy=FILE from cpsched"
                " slurm import."
            )
        ),
    ] = "easy",
    dispatcher: Annotated[
        list[str] | None,
        typer.Option(
            "--dispatcher",
            "-d",
            help="Dispatcher to compare with the baseline; repeat for several.",
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Seconds between polls.", metavar="SECONDS")
    ] = 30,
    forecasts: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seconds between forecasts under the baseline, which are scored later; 0: none.",
            metavar="SECONDS",
        ),
    ] = 600,
    report: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=366,
            help="Do not follow: write the statement of the last DAYS days.",
            metavar="DAYS",
        ),
    ] = None,
    mark: EngineMark = "",
    as_json: AsJson = False,
) -> None:
    """
    Follow a live Slurm read-only, and report each week what other dispatchers would have gained.

    It may be stopped: start it again with the same folder.
    """
    from cpsched.api.machines import systems
    from cpsched.api.tools import build
    from slurm_adapter.live.policy_now import age_of
    from slurm_adapter.live.record import Record, record_in
    from slurm_adapter.live.twin import Twin

    # Wrong names must be reported now, not after a week.
    systems.load(system)
    names = dispatcher or ["easy-urgency"]
    for name in (baseline, *names):
        build("dispatchers", name)
    if report is not None:
        record_in(folder)
    twin = Twin(
        record=Record(folder, patience=max(10 * every, 600)),
        system=system if not Path(system).exists() else str(Path(system).absolute()),
        baseline=baseline,
        dispatchers=names,
        interval=every,
        forecasts=forecasts,
        mark=mark,
        say=partial(echo, err=as_json),
    )
    if report is not None:
        end = int(time.time())
        name = f"last-{report}-days"
        process = twin.begin_statement(name, end - report * 86400, end)
        with working("comparing dispatchers"):
            process.wait()
        statement = twin.end_statement(name, process)
        if statement.suffix == ".err":
            wrong = statement.read_text(encoding="utf-8")
            raise RunError(wrong.strip() or "the comparison failed")
        if as_json:
            print_json("results", _as_data(statement))
        else:
            echo(statement.read_text(encoding="utf-8"))
        return
    slurm = backend_of()
    if remark := age_of(baseline):
        twin.say(f"{remark}; waiting jobs are forecast in the order of Slurm's priorities")
    if private := slurm.private_data():
        twin.say(
            f"Slurm has PrivateData={private}, and the record holds what you may see: keep {folder}"
            " from those who may not"
        )
    twin.say(f"Following; the record is in {folder}. Ctrl-C stops it, and nothing is lost.")
    with stopped_by_signals() as stop:
        twin.follow(slurm, stop.wait)
    if as_json:
        statements = sorted(map(str, (folder / "weeks").glob("*.txt")))
        print_json("slurm.twin", {"folder": str(folder), "statements": statements})


def _as_data(statement: Path) -> dict[str, Any]:
    """Return what came of the runs of a statement, and where its text is."""
    from cpsched.api.commands import results_as_data
    from cpsched.api.studies import make_tables

    runs = statement.with_suffix("") / "runs"
    report = runs / "report.html"
    return {
        **results_as_data(make_tables(runs)),
        "report": str(report) if report.exists() else None,
        "statement": str(statement),
    }
