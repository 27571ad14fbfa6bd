"""``cpsched plan``: a static problem in which all jobs are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.api.commands import (
    JOBS,
    AsJson,
    Dispatcher,
    EnforceLimits,
    Log,
    Overwrite,
    Predictor,
    Seed,
    SystemName,
    echo,
    escaped,
    grouped,
    print_json,
    working,
)

if TYPE_CHECKING:
    from cpsched_papers.planning.offline import OfflinePlan


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("plan", rich_help_panel=JOBS)(command)


@grouped
def command(
    system: SystemName,
    dispatcher: Dispatcher,
    predictor: Predictor = "requested",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File for the plan: .csv, .parquet or .json."),
    ] = None,
    overwrite: Overwrite = False,
    limit: Annotated[
        float, typer.Option(help="Deterministic time limit of the solver; 1 takes some seconds.")
    ] = 1.0,
    keep_submits: Annotated[
        bool,
        typer.Option(
            "--keep-submits", help="No job starts before it is submitted (not with a model)."
        ),
    ] = False,
    *,
    log: Log,
    enforce_limits: EnforceLimits = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plan all jobs of a log at once on the empty machine, and compare with the list plan."""
    from cpsched.api.commands import width
    from cpsched.api.logs import fit
    from cpsched.api.machines import systems
    from cpsched.api.tools import Spec, check_new_file
    from cpsched_papers.planning.offline import plan
    from cpsched_papers.planning.write import SUFFIXES, figures, report, write

    if out is not None:
        check_new_file(out, overwrite=overwrite, suffixes=SUFFIXES)
    machine = systems.load(system)
    jobs = log.read()
    with working(f"planning with {dispatcher}"):
        made: OfflinePlan = plan(
            fit(jobs, machine, enforce_limits=enforce_limits is not False),
            dispatcher=dispatcher,
            predictor=str(Spec.parse(predictor)),
            limit=limit,
            keep_submits=keep_submits,
            seed=seed,
        )
    if out is not None:
        write(made, out)
    if as_json:
        print_json("plan", figures(made))
        return
    echo(report(made, width()))
    if out is not None:
        echo(f"\nFile: {escaped(str(out))}")
