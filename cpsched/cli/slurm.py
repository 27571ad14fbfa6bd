"""``cpsched slurm``: a site's own files, a live queue and a private Slurm."""

from __future__ import annotations

import typer

from cpsched.cli import slurm_explain, slurm_forecast, slurm_import, slurm_plan, slurm_sandbox
from cpsched.cli.options import SLURM


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    slurm = typer.Typer(
        help="Import a Slurm configuration, ask about a live queue, or run a private Slurm.",
        no_args_is_help=True,
    )
    slurm.command("import")(slurm_import.command)
    slurm.command("forecast")(slurm_forecast.command)
    slurm.command("explain")(slurm_explain.command)
    slurm.command("plan")(slurm_plan.command)
    slurm.command("sandbox")(slurm_sandbox.command)
    app.add_typer(slurm, name="slurm", rich_help_panel=SLURM)
