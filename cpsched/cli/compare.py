"""``cpsched compare``: many runs, and tables of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.carry_out import carry_out_and_show
from cpsched.cli.inferred import DEFAULTS, InferredLog, inferred_logs
from cpsched.cli.log_study import (
    narrowed,
    say_what_is_not_followed,
    study_of_log,
)
from cpsched.cli.options import COMPARISON, RepeatedRuns, Shown, grouped, option, option_of
from cpsched.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping


_SYSTEM = "The system to compare with, if there are several. [each with its own runs]"


@grouped
def command(
    study: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY|LOG",
            help="A TOML file, one of demo, remediani, ipsched, aucsched, aucsched-tree, or job"
            " logs.",
        ),
    ],
    baseline: Annotated[
        str | None,
        option(COMPARISON, help="Dispatcher to compare with. [the first]", metavar="NAME"),
    ] = None,
    baseline_system: Annotated[str | None, option(COMPARISON, help=_SYSTEM, hidden=True)] = None,
    *,
    runs: RepeatedRuns,
    shown: Shown,
) -> None:
    """
    Run what is missing of a study, compare all runs with a baseline, and write tables and a report.

    Without --system it is inferred from the log, and six dispatchers run five times each. Options
    from --system on apply to a job log; a study sets them in its file.
    """
    from cpsched.study import load_study

    named = {"baseline": baseline, "baseline_system": baseline_system}
    against: dict[str, Any] = {key: name for key, name in named.items() if name is not None}
    inferred: list[InferredLog] = []
    # Each is looked at, so that a file that is not there is named.
    if False not in [_is_log(name) for name in study]:
        given = runs.given()
        if "systems" not in given:
            inferred = inferred_logs(study, runs.input_format, shown.out)
            against |= {key: value for key, value in DEFAULTS.items() if key not in given}
            against["systems"] = [log.name for log in inferred]
        wanted, repeat = study_of_log(study, runs, **against), "--repeat 5"
        if not shown.as_json:
            for log in inferred:
                log.print_assumptions()
            say_what_is_not_followed(wanted)
    else:
        if len(study) > 1:
            raise ConfigError("is one of several; name one study, or logs", where=study[0])
        wanted, repeat = load_study(study[0]), "repeat = 5 in its file"
        _refuse_any(runs.given() | against)
        wanted = narrowed(wanted, runs)
    carry_out_and_show(wanted, shown, repeat=repeat, inferred=inferred)


def _is_log(study: str) -> bool:
    """
    Whether this is a job log and not a study (a ``.toml`` file or the name of a bundled study).
    """
    from cpsched.study import study_names

    if study.endswith(".toml") or study in study_names():
        return False
    if not Path(study).is_file():
        if os.sep in study or Path(study).suffix:
            known = ", ".join(study_names())
            raise ConfigError(
                f"is not a file, and not a study; the studies are: {known}", where=study
            )
        raise UnknownNameError("study or file", study, study_names())
    return True


def _refuse_any(given: Mapping[str, Any]) -> None:
    """Refuse options that apply only to a log: a study sets them in its file."""
    for name in given:
        raise ConfigError("applies to a job log; set it in the study's file", key=option_of(name))
