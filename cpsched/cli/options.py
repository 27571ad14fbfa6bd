"""Options that several commands share, and the log that they describe."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from cpsched.base.model_files import with_models
from cpsched.cli.completion import (
    complete_allocator,
    complete_dispatcher,
    complete_predictor,
    complete_system,
)
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.mapping import Fitted
    from cpsched.model.workload import Workload
    from cpsched.simulation.simulate import Settings

#: Groups of options in a command's help, in this order; the command's own options come first.
LOG, MACHINE, DISPATCHING = "The log", "The machine", "Dispatchers and predictors"
RULES, COMPARISON, OUTPUT = "Rules of the simulation", "Comparison", "Running and output"
#: Groups of commands, also for those that other packages add.
STUDY, JOBS, LOOK = "Simulate and compare", "Ask about jobs", "Look around"
LOGS, SLURM = "Logs and predictors", "Your Slurm"
_PANELS = (LOG, MACHINE, DISPATCHING, RULES, COMPARISON, OUTPUT)

WorkloadFile = Annotated[
    Path, typer.Argument(metavar="WORKLOAD", help="A job log: SWF, PBS, sacct, CSV or Parquet.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the log, if its content does not determine it.",
        rich_help_panel=LOG,
    ),
]
SkipBadLines = Annotated[
    bool,
    typer.Option("--skip-bad-lines", help="Skip and count invalid lines.", rich_help_panel=LOG),
]
First = Annotated[
    int | None,
    typer.Option("--first", min=1, help="Only the first N jobs.", metavar="N", rich_help_panel=LOG),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Only jobs submitted from this time on: seconds or a date (UTC).",
        rich_help_panel=LOG,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to", help="Only jobs submitted earlier: seconds or a date (UTC).", rich_help_panel=LOG
    ),
]
Policy = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        help="A site's Slurm policy; the dispatcher is then slurm.",
        rich_help_panel=DISPATCHING,
    ),
]
MeasureFrom = Annotated[
    str | None,
    typer.Option(
        "--measure-from",
        help=(
            "Compare only jobs submitted from this time on, when the machine is no longer empty:"
            " seconds or a date (UTC)."
        ),
        rich_help_panel=COMPARISON,
    ),
]
SystemName = Annotated[
    str,
    typer.Option(
        "--system",
        help="A system: its name or a TOML file (cpsched list systems).",
        autocompletion=complete_system,
        metavar="NAME",
        rich_help_panel=MACHINE,
    ),
]
#: Only one is allowed; several are refused with our own message.
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        help="A system: its name or a TOML file (cpsched list systems).",
        autocompletion=complete_system,
        metavar="NAME",
        rich_help_panel=MACHINE,
    ),
]
Dispatcher = Annotated[
    str,
    typer.Option(
        "--dispatcher",
        "-d",
        help="NAME or NAME:KEY=VALUE,...",
        autocompletion=complete_dispatcher,
        metavar="NAME",
        rich_help_panel=DISPATCHING,
    ),
]
Dispatchers = Annotated[
    list[str] | None,
    typer.Option(
        "--dispatcher",
        "-d",
        help="NAME or NAME:KEY=VALUE,...; repeat to compare. [easy]",
        autocompletion=complete_dispatcher,
        metavar="NAME",
        rich_help_panel=DISPATCHING,
    ),
]
Allocator = Annotated[
    str | None,
    typer.Option(
        "--allocator",
        help="Allocator of all dispatchers that do not set their own (cpsched list allocators).",
        metavar="NAME",
        autocompletion=complete_allocator,
        rich_help_panel=DISPATCHING,
    ),
]
Predictor = Annotated[
    str,
    typer.Option(
        "--predictor",
        "-p",
        help="Runtime predictor: NAME:KEY=VALUE,... or a model file.",
        callback=with_models,
        autocompletion=complete_predictor,
        metavar="NAME",
        rich_help_panel=DISPATCHING,
    ),
]
Predictors = Annotated[
    list[str] | None,
    typer.Option(
        "--predictor",
        "-p",
        help=(
            "Runtime predictor: NAME:KEY=VALUE,... or a model file; repeat to compare. [requested]"
        ),
        autocompletion=complete_predictor,
        metavar="NAME",
        rich_help_panel=DISPATCHING,
    ),
]
EnforceLimits = Annotated[
    bool | None,
    typer.Option(
        "--enforce-limits/--no-enforce-limits",
        help="Reject jobs that ask for more time than their queue allows. [yes]",
        rich_help_panel=MACHINE,
    ),
]
Overrun = Annotated[
    Literal["kill", "extend"] | None,
    typer.Option(
        "--overrun",
        help="At the requested time: kill the job, or extend it (run on as recorded). [kill]",
        rich_help_panel=RULES,
    ),
]
Correction = Annotated[
    Literal["requested", "double"] | None,
    typer.Option(
        "--correction",
        help="Expected end of a job that outlives its prediction. [requested]",
        rich_help_panel=RULES,
    ),
]
DispatchInterval = Annotated[
    int | None,
    typer.Option(
        "--dispatch-interval",
        min=1,
        help="Dispatch only at multiples of S seconds.",
        metavar="S",
        rich_help_panel=RULES,
    ),
]
RuntimeModel = Annotated[
    str | None,
    typer.Option(
        "--runtime-model",
        help="How long jobs run: recorded (as in the log) or gpu-scaling; NAME:KEY=VALUE,..."
        " [recorded]",
        rich_help_panel=RULES,
    ),
]
Restarts = Annotated[
    str | None,
    typer.Option(
        "--restarts",
        help="Jobs that may be killed and restarted, such as share=0.5,cost=30: share (of jobs),"
        " cost (seconds a restart costs), checkpoint (seconds between two). [from the log]",
        metavar="KEY=VALUE,...",
        rich_help_panel=RULES,
    ),
]
Malleable = Annotated[
    str | None,
    typer.Option(
        "--malleable",
        help="Jobs that may change size, such as share=0.5,most=2: share (of the jobs), least and"
        " most (units, as multiples of what a job asks for), kind (moldable, malleable, evolving),"
        " serial (share of the work that units cannot share), cost (seconds a change of size"
        " costs). [from the log]",
        metavar="KEY=VALUE,...",
        rich_help_panel=RULES,
    ),
]
Outages = Annotated[
    str | None,
    typer.Option(
        "--outages",
        help="Node outages: table:file=CSV, or drawn:mtbf=S,repair=S (cpsched list outages)."
        " [none]",
        rich_help_panel=RULES,
    ),
]
StudyFolder = typer.Option(
    "--out", "-o", help="Folder of the study; finished runs in it are kept.", rich_help_panel=OUTPUT
)
Seed = Annotated[
    int, typer.Option("--seed", help="Seed of all random choices.", rich_help_panel=RULES)
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing files.", rich_help_panel=OUTPUT)
]
Stats = Annotated[
    bool,
    typer.Option(
        "--stats",
        help="Print all other tables too: who gains and who loses, by user, the machine, placement,"
        " decisions.",
        rich_help_panel=OUTPUT,
    ),
]
WithReport = Annotated[
    bool,
    typer.Option(
        "--report/--no-report",
        help="Write the report too, if cpsched[plots] is installed.",
        rich_help_panel=OUTPUT,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT)
]


@dataclass(frozen=True, kw_only=True)
class Part:
    """Options: the part of a log."""

    first: First = None
    start: From = None
    end: To = None


@dataclass(frozen=True, kw_only=True)
class Log(Part):
    """Arguments and options: a log, or a part of it."""

    workload: WorkloadFile
    format_name: Format = None
    skip_bad_lines: SkipBadLines = False

    def read(self) -> Workload:
        """Read the log, and cut it."""
        from cpsched import traces
        from cpsched.cli.progress import reading

        with reading(self.workload):
            workload = traces.read(
                self.workload, format=self.format_name, skip_bad_lines=self.skip_bad_lines
            )
        cut = workload.select(
            first=self.first,
            start=second_of(workload, "--from", self.start),
            end=second_of(workload, "--to", self.end),
        )
        if not len(cut):
            raise ConfigError(
                "no jobs are left after --first, --from and --to", where=self.workload
            )
        return cut


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Options: how a log is simulated; None for the default."""

    overrun: Overrun = None
    correction: Correction = None
    dispatch_interval: DispatchInterval = None
    enforce_limits: EnforceLimits = None
    restarts: Restarts = None
    malleable: Malleable = None
    runtime_model: RuntimeModel = None
    outages: Outages = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """
    Return a command in which parameters that are groups of options become these options.

    A group is a dataclass; its fields are options as typer reads them.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = kind = hints[name]
            own = get_type_hints(kind, include_extras=True)
            members = inspect.signature(kind).parameters.values()
            parameters += (one.replace(annotation=own[one.name]) for one in members)
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=hints[name], kind=kind))

    def run(**given: Any) -> None:
        made = {
            name: kind(**{key: given.pop(key) for key in inspect.signature(kind).parameters})
            for name, kind in groups.items()
        }
        command(**given, **made)

    parameters.sort(key=_panel)
    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in parameters}
    return run


def _panel(parameter: inspect.Parameter) -> int:
    """
    Return the position of an option's group in the help; arguments and other options are first.
    """
    (info,) = parameter.annotation.__metadata__
    panel = getattr(info, "rich_help_panel", None)
    return _PANELS.index(panel) + 1 if panel in _PANELS else 0


def second_of(workload: Workload, option: str, text: str | None) -> int | None:
    """Return a second of the log's clock, given as such or as a date."""
    from cpsched.study.sources import second_of

    return second_of(workload, option, moment(option, text))


def moment(option: str, text: str | None) -> int | str | None:
    """Return seconds, or a date as given."""
    if text is None:
        return None
    for reading in (int, lambda date: datetime.fromisoformat(date).isoformat()):
        try:
            return reading(text)
        except ValueError:
            pass
    raise ConfigError(
        f"'{text}' is neither seconds nor a date like 2014-03-31 or 2014-03-31T12:00", key=option
    )


def settings_of(rules: Rules, seed: int) -> Settings:
    """Return the settings that the options describe, with canonical specifications."""
    from cpsched.base.spec import canonical
    from cpsched.simulation.simulate import Settings

    settings = Settings(
        **{key: one for key, one in vars(rules).items() if one is not None}, seed=seed
    )
    return replace(
        settings,
        runtime_model=canonical("runtime_models", settings.runtime_model),
        outages=canonical("outages", settings.outages),
    )


def fitted_of(jobs: Workload, system: str, settings: Settings) -> Fitted:
    """Return a log mapped onto a system according to the settings."""
    from cpsched import systems
    from cpsched.mapping import fit

    return fit(
        jobs,
        systems.load(system),
        enforce_limits=settings.enforce_limits,
        restarts=settings.restarts,
        malleable=settings.malleable,
    )
