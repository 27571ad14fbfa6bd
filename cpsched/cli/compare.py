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
from cpsched.cli.options import COMPARISON, ComparedRuns, Shown, grouped, option, option_of
from cpsched.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping


_SYSTEM = "System to compare with. [each with its own runs]"


@grouped
def command(
    study: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY|LOG",
            help="Job logs, a study file (.toml) or a bundled study such as demo.",
        ),
    ],
    baseline: Annotated[
        str | None,
        option(COMPARISON, help="Dispatcher to compare with. [the first]", metavar="NAME"),
    ] = None,
    baseline_system: Annotated[str | None, option(COMPARISON, help=_SYSTEM, hidden=True)] = None,
    *,
    runs: ComparedRuns,
    shown: Shown,
) -> None:
    """
    Compare dispatchers on job logs, with confidence intervals and a report.

    Runs that exist in --out are reused. Without --system the system is inferred from the log, and
    six dispatchers run five times each unless you name others. A study file has its own system,
    dispatchers and rules.
    """
    from cpsched.study import load_study

    named = {"baseline": baseline, "baseline_system": baseline_system}
    against: dict[str, Any] = {key: name for key, name in named.items() if name is not None}
    inferred: list[InferredLog] = []
    out = shown.folder(study[0], "compare")
    # Each is looked at, so that a file that is not there is named.
    if False not in [_is_log(name) for name in study]:
        given = runs.given()
        if "systems" not in given:
            inferred = inferred_logs(study, runs.input_format, out)
            against |= {key: value for key, value in DEFAULTS.items() if key not in given}
            against["systems"] = [log.name for log in inferred]
        wanted, repeat = study_of_log(study, runs, **against), "--repeat 5"
        if not shown.as_json:
            for log in inferred:
                log.print_assumptions()
            say_what_is_not_followed(wanted)
    else:
        if len(study) > 1:
            raise ConfigError(
                "a study file cannot be combined with other files. Name one study, or job logs.",
                where=study[0],
            )
        wanted, repeat = load_study(study[0]), "repeat = 5 in its file"
        _refuse_any(runs.given() | against)
        wanted = narrowed(wanted, runs)
    carry_out_and_show(wanted, shown, out, repeat=repeat, inferred=inferred)


def _is_log(study: str) -> bool:
    """
    Whether this is a job log and not a study (a ``.toml`` file or the name of a bundled study).
    """
    from cpsched.study import study_names

    if study.endswith(".toml") or study in study_names():
        return False
    if not Path(study).is_file():
        if Path(study).is_dir():
            raise ConfigError(
                f"is a folder. 'cpsched report {study}' writes the report of its runs.", where=study
            )
        if os.sep in study or Path(study).suffix:
            raise ConfigError("no such file. Name a job log or a study file.", where=study)
        raise UnknownNameError("study or file", study, study_names())
    return True


def _refuse_any(given: Mapping[str, Any]) -> None:
    """Refuse options that apply only to a log: a study sets them in its file."""
    for name in given:
        raise ConfigError(
            "applies to job logs only. Set it in the study file.", key=option_of(name)
        )
