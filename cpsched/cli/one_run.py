"""Options of commands that ask about one run of a log: its system, dispatcher and rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cpsched.cli.options import Group, Log, Predictor, Rules, Seed, SlurmPolicy, SystemName

#: The time asked about.
AT = typer.Option("--at", help="Time asked about: seconds or UTC date.", metavar="TIME")
#: The time by which a job is to start.
DEADLINE = typer.Option(
    "--deadline", help="Print the probability of a start by then.", metavar="TIME"
)


@dataclass(frozen=True, kw_only=True)
class OneRun(Group):
    """Options: a log on a machine under one dispatcher."""

    system: SystemName
    slurm_policy: SlurmPolicy = None
    dispatcher: Annotated[
        str | None,
        typer.Option(
            "--dispatcher",
            "-d",
            help="Dispatcher NAME:KEY=VALUE,... [easy]",
            metavar="NAME",
        ),
    ] = None
    predictor: Predictor = "requested"
    log: Log
    rules: Rules
    seed: Seed = 0

    def under(self) -> dict[str, Any]:
        """Return what decides, and how it is simulated."""
        from cpsched.study.policies import following
        from cpsched.util.spec import Spec, expand

        return {
            "dispatcher": str(expand("dispatchers", following(self.slurm_policy, self.dispatcher))),
            "predictor": str(Spec.parse(self.predictor)),
            "settings": self.rules.settings(self.seed),
        }
