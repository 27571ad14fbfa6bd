"""``cpsched machines``: a log of many machines, a simulation for each, and one run of them all."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  (typer reads it)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.api.commands import (
    STUDY,
    AsJson,
    Dispatcher,
    Jobs,
    Log,
    On,
    Overwrite,
    Predictor,
    counted,
    echo,
    grouped,
    print_json,
    study_bars,
    working,
)
from cpsched.api.errors import ConfigError, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.api.logs import Workload
    from cpsched.api.model import IntArray
    from cpsched.api.studies import Study
    from many_machines.whole import Machines

#: Behind the name of the run's folder: that of the study of the single machines.
_APART = ".machines"
#: In it: the logs of the machines, their systems, and what these were made of.
_INPUTS, _MARK = "inputs", "machines.json"

_SYSTEM = (
    "NAME=FILE: the system of the machine of that name in the log; repeat for each. Or one system"
    " whose queues share no nodes, or one for all machines that the log names."
)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("machines", rich_help_panel=STUDY)(command)


@grouped
def command(
    *,
    log: Log,
    system: Annotated[list[str], typer.Option("--system", help=_SYSTEM, metavar="NAME=FILE")],
    by: Annotated[
        str | None,
        typer.Option(help="The log's column that names the machine: queue or partition. [queue]"),
    ] = None,
    dispatcher: Dispatcher = "easy",
    predictor: Predictor = "requested",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run.", metavar="FOLDER")],
    jobs: Jobs = 1,
    on: On = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """
    Simulate each machine of a log by itself, and put the runs together as one.

    The run is that of -d per-machine on all machines at once. Runs of single machines are kept in
    FOLDER.machines: a killed command continues with the rest.
    """
    from cpsched.api import fit, save_run
    from cpsched.api.studies import check_target
    from many_machines.merge import about, merged
    from many_machines.sorting import check_apart, checked_policy, machine_of_jobs

    check_target(out, overwrite=overwrite)
    policy = checked_policy(dispatcher, predictor)
    workload = log.read()
    machines = machines_from(system, by, workload)
    codes = machine_of_jobs(workload, machines, log.workload)
    check_apart(workload, codes, machines)
    # Before anything is written, for it says what is wrong with the log.
    fitted = fit(workload, machines.whole)
    folder = out.with_name(out.name + _APART)
    study, numbers = study_of(workload, codes, machines, folder, (policy, predictor))
    # What the fitted one shares with it stays.
    del workload
    folders = carried_out(study, folder, jobs, on)
    parts = list(zip(numbers, folders, strict=True))
    with working("Putting the machines together"):
        run = merged(fitted, codes, machines, parts)
        made_of = about(machines, log.workload.absolute(), run, parts)
        summary = save_run(run, out, overwrite=overwrite, arguments=made_of)
    if as_json:
        print_json("machines", {"run": str(out), "machines": made_of["machines"], **summary})
        return
    count = counted(len(parts), "machine")
    echo(f"{counted(len(codes), 'job')} of {count}: {out}")
    echo(f"Each machine by itself: {folder}")


def machines_from(given: Sequence[str], by: str | None, workload: Workload) -> Machines:
    """
    Return the machines that ``--system`` names.

    Raises
    ------
    ConfigError
        If a system is given in two ways, or one cannot be read or joined to the others.
    """
    from cpsched.api.machines import systems
    from many_machines.whole import Machines

    if by not in (None, "queue", "partition"):
        raise ConfigError(f"is '{by}', must be queue or partition", key="--by")
    named = dict(one.split("=", 1) for one in given if "=" in one)
    if len(given) == 1 and not named:
        one = systems.load(given[0])
        if not one.queues:
            return Machines.joined(dict.fromkeys(_names(workload, by), one), by or "queue")
        if by not in (None, one.log.queue_field):
            raise ConfigError(
                f"is '{by}', but the system's queues are the log's {one.log.queue_field}"
                " (queue_field in its table [log])",
                key="--by",
            )
        return Machines.of(one)
    if len(named) < len(given):
        raise ConfigError(
            "give NAME=FILE once for each machine, or one system for all", key="--system"
        )
    return Machines.joined(
        {name: systems.load(file) for name, file in named.items()}, by or "queue"
    )


def _names(workload: Workload, by: str | None) -> list[str]:
    """Return the machines that a log names."""
    from cpsched.api.machines import natural

    column = by or "queue"
    found = {one for text in getattr(workload, column).values for one in text.split(",")}
    if not found:
        other = {"queue": "partition", "partition": "queue"}[column]
        raise ConfigError(
            f"names no machine: its column {column} is empty; try --by {other}",
            where=workload.title,
        )
    return sorted(found, key=natural)


def study_of(
    workload: Workload,
    codes: IntArray,
    machines: Machines,
    folder: Path,
    policy: tuple[str, str],
) -> tuple[Study, list[int]]:
    """
    Return the study of the single machines, and the number of the machine of each run.

    Their logs and systems are put into the study's folder, if they are not there.
    """
    import numpy as np

    from cpsched.api.studies import Store, log_study

    # Before anything is written there: this refuses a folder that is not a study.
    Store(folder.absolute())
    numbers = np.unique(codes).tolist()
    logs, files = _inputs(workload, codes, machines, folder.absolute())
    given = {
        "systems": [files[at] for at in numbers],
        "dispatchers": [policy[0]],
        "predictors": [policy[1]],
    }
    return log_study([logs[at] for at in numbers], given, "command line"), numbers


def _inputs(
    workload: Workload, codes: IntArray, machines: Machines, folder: Path
) -> tuple[list[Path], list[str]]:
    """Return the logs and the systems of the machines, written if they are not there."""
    from cpsched.api import save_system
    from cpsched.api.logs import write_groups
    from cpsched.api.studies import slug
    from cpsched.api.tools import replacing, subfolder

    inputs = subfolder(folder, _INPUTS)
    width = len(str(len(machines.names)))
    stems = [f"{at:0{width}}-{slug(name)}" for at, name in enumerate(machines.names)]
    logs = [inputs / f"{stem}.parquet" for stem in stems]
    files = [str(inputs / f"{stem}.json") for stem in stems]
    made_of = {"log": workload.digest(), "system": machines.whole.digest(), "machines": stems}
    mark = inputs / _MARK
    if not _says(mark, made_of):
        write_groups(workload, codes, logs)
        for at, file in enumerate(files):
            save_system(machines.alone(at), file)
        save_system(machines.whole, inputs / "all.system.json")
        with replacing(mark) as partial:
            partial.write_text(json.dumps(made_of, indent=1) + "\n", encoding="utf-8")
    return logs, files


def _says(mark: Path, content: dict[str, Any]) -> bool:
    """Whether a file has this content."""
    try:
        found: object = json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return found == content


def carried_out(study: Study, folder: Path, jobs: int, on: str | None) -> tuple[Path, ...]:
    """
    Make the runs of the machines that are missing; return the folders of all, in their order.

    Raises
    ------
    RunError
        If a run fails; the others are kept.
    """
    from cpsched.api.studies import carry_out
    from cpsched.api.tools import build

    with study_bars() as display:
        outcome = carry_out(
            study,
            folder,
            jobs=jobs,
            display=display,
            backend=None if on is None else build("backends", on),
        )
    if outcome.failed:
        one = outcome.failed[0]
        raise RunError(
            f"{counted(len(outcome.failed), 'machine')} failed, the first: {one.error} ({one.file})"
        )
    return outcome.folders
