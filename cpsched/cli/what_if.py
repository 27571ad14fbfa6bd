"""``cpsched what-if``: what would have happened if something had been different."""

from __future__ import annotations

from typing import Annotated

import typer

from cpsched.cli.carry_out import carry_out_and_show
from cpsched.cli.log_study import say_what_is_assumed, study_of_log
from cpsched.cli.options import RepeatedRuns, Shown, WorkloadFile, grouped
from cpsched.errors import ConfigError


@grouped
def command(
    log: WorkloadFile,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            "-c",
            help="Scenario, such as 'add-nodes group=gpu,count=4' (repeatable).",
            metavar="CHANGE",
        ),
    ] = None,
    *,
    runs: RepeatedRuns,
    shown: Shown,
) -> None:
    """
    Compare scenarios, such as more nodes or other limits, with a baseline.

    Options other than --change describe the baseline. Changes are those of 'cpsched list changes',
    'set bf_window=2880' (an option of the baseline's dispatcher), 'set qos.gpu.MaxJobsPU=4' (a
    value of the Slurm policy), 'dispatcher fifo' and 'predictor last'. A scenario may have a name
    and several changes: 'big: add-nodes group=gpu,count=4; scale-load 1.2'. --all-tables and the
    report add results by queue, account, user, job length and job size.
    """
    from cpsched.cli.progress import reading
    from cpsched.study.scenarios import scenarios, what_if

    if not changes:
        raise ConfigError(
            "is missing. Name a change, such as 'scale-load 1.1' (cpsched list changes).",
            key="--change",
        )
    out = shown.folder(log, "what-if")
    study = study_of_log(log, runs, once=("systems", "dispatchers", "predictors"))
    with reading(log):
        wanted = what_if(study, scenarios(study, changes), out)
    if not shown.as_json:
        say_what_is_assumed(wanted)
    carry_out_and_show(wanted, shown, out)
