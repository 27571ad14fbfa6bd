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
            help="A scenario, such as 'add-nodes group=gpu,count=4' (cpsched list changes), 'set"
            " bf_window=2880' (an option of the baseline's dispatcher, or a value of the policy:"
            " qos.gpu.MaxJobsPU=4), 'dispatcher fifo' or 'predictor last'; several changes and a"
            " name: 'big: add-nodes group=gpu,count=4; scale-load 1.2'. Repeat for more scenarios.",
            metavar="CHANGE",
        ),
    ] = None,
    *,
    runs: RepeatedRuns,
    shown: Shown,
) -> None:
    """
    Compare scenarios with a baseline: what would have happened if something had been different?

    The other options describe the baseline. A table has the leading figures of all, and a sentence
    says of each scenario what it changes, and for whom. --all-tables and the report have that by
    queue, account, user, length, size, and with GPUs or without.
    """
    from cpsched.cli.progress import reading
    from cpsched.study.scenarios import scenarios, what_if

    if not changes:
        raise ConfigError("is missing; give what is to be changed", key="--change")
    study = study_of_log(log, runs, once=("systems", "dispatchers", "predictors"))
    with reading(log):
        wanted = what_if(study, scenarios(study, changes), shown.out)
    if not shown.as_json:
        say_what_is_assumed(wanted)
    carry_out_and_show(wanted, shown)
