"""Options that several commands share, and the log that they describe."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from cpsched.errors import ConfigError
from cpsched.util.atomic_files import check_new_file
from cpsched.util.model_files import with_models

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.simulation.settings import Settings
    from cpsched.systems.mapping import Fitted


def names_of(kind: str) -> list[str]:
    """Return the names of one kind that ``cpsched list`` shows."""
    if kind == "systems":
        from cpsched import systems

        return list(systems.names())
    from cpsched.util import registry

    return list(registry.names(kind))


def _beginning(incomplete: str, kind: str) -> list[str]:
    return [name for name in names_of(kind) if name.startswith(incomplete)]


#: Groups of options in a command's help, in this order; the command's own options come first.
LOG, MACHINE, DISPATCHING = "The log", "The system", "Dispatchers and predictors"
RULES, COMPARISON, OUTPUT = "Rules of the simulation", "Comparison", "Running and output"
#: Groups of commands, also for those that other packages add.
STUDY, JOBS, LOOK = "Simulate and compare", "Ask about jobs", "Look around"
LOGS, SLURM = "Logs and predictors", "Your Slurm"
_PANELS = (LOG, MACHINE, DISPATCHING, RULES, COMPARISON, OUTPUT)


def option(panel: str, *flags: str, help: str, **more: Any) -> Any:  # noqa: A002
    """Return an option in a group of the help; ``more`` is as typer takes it."""
    return typer.Option(*flags, help=help, rich_help_panel=panel, **more)


def _name(panel: str, kind: str, *flags: str, help: str, **more: Any) -> Any:  # noqa: A002
    """Return an option for a name of a kind, which the shell completes; files it completes too."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(incomplete, kind)

    return option(panel, *flags, help=help, autocompletion=complete, metavar="NAME", **more)


WorkloadFile = Annotated[
    Path, typer.Argument(metavar="LOG", help="Job log: SWF, PBS, sacct, CSV or Parquet.")
]
InputFormat = Annotated[
    str | None,
    option(
        LOG,
        "--input-format",
        help="Format of the log. [detected]",
        metavar="NAME",
    ),
]
SkipBadLines = Annotated[
    bool, option(LOG, "--skip-bad-lines", help="Skip and count invalid lines.")
]
_REJECTS = "Write the invalid lines to this CSV file."
Rejects = Annotated[Path | None, option(LOG, "--rejects", help=_REJECTS, metavar="FILE")]
First = Annotated[
    int | None,
    option(LOG, "--first", help="Read only N jobs, the first after --from.", min=1, metavar="N"),
]
_SINCE = "First submit time: seconds of the log or a UTC date."
From = Annotated[str | None, option(LOG, "--from", help=_SINCE, metavar="TIME")]
_UNTIL = "Upper bound of submit times (excluded)."
To = Annotated[str | None, option(LOG, "--to", help=_UNTIL, metavar="TIME")]
_POLICY = "Slurm policy file (implies -d slurm)."
SlurmPolicy = Annotated[
    Path | None, option(DISPATCHING, "--slurm-policy", help=_POLICY, metavar="FILE")
]
_MEASURED = "Compare jobs submitted from then on."
MeasureFrom = Annotated[
    str | None, option(COMPARISON, "--measure-from", help=_MEASURED, metavar="TIME")
]
_SYSTEM = _name(
    MACHINE, "systems", "--system", "-s",
    help="System name or file (cpsched list systems).",
)  # fmt: skip
SystemName = Annotated[str, _SYSTEM]
#: Only one is allowed; several are refused with our own message.
Systems = Annotated[list[str] | None, _SYSTEM]
_DISPATCHER = (DISPATCHING, "dispatchers", "--dispatcher", "-d")
Dispatcher = Annotated[str, _name(*_DISPATCHER, help="Dispatcher NAME:KEY=VALUE,...")]
Dispatchers = Annotated[
    list[str] | None,
    _name(*_DISPATCHER, help="Dispatcher NAME:KEY=VALUE,... (repeatable). [easy]"),
]
_PLACING = "Default allocator (cpsched list allocators)."
Allocator = Annotated[str | None, _name(DISPATCHING, "allocators", "--allocator", help=_PLACING)]
_PREDICTOR = (DISPATCHING, "predictors", "--predictor", "-p")
_PREDICTS = "Predictor NAME:KEY=VALUE,... or model file"
Predictor = Annotated[str, _name(*_PREDICTOR, help=f"{_PREDICTS}.", callback=with_models)]
Predictors = Annotated[list[str] | None, _name(*_PREDICTOR, help=f"{_PREDICTS}. [requested]")]
StudyFolder = option(OUTPUT, "--out", "-o", help="Folder for runs and results.", metavar="DIR")
Seed = Annotated[
    int, option(RULES, "--seed", help="Seed of all random choices.", min=0, metavar="N")
]
Force = Annotated[bool, option(OUTPUT, "--force", help="Replace existing files.")]
_TABLES = "Print all tables."
AllTables = Annotated[bool, option(OUTPUT, "--all-tables", help=_TABLES)]
_REPORT = "Write the HTML report."
WithReport = Annotated[bool, option(OUTPUT, "--report/--no-report", help=_REPORT)]
AsJson = Annotated[bool, option(OUTPUT, "--json", help="Print JSON instead of text.")]
Repeat = Annotated[
    int | None,
    option(
        COMPARISON,
        "--repeat",
        help="Repetitions, each with other random delays of submits.",
        min=1,
        metavar="N",
    ),
]
Jitter = Annotated[
    int | None,
    option(
        COMPARISON,
        "--jitter",
        help="Largest random delay of a submit time, in seconds. [5]",
        min=0,
        metavar="S",
    ),
]
Workers = Annotated[
    int, option(OUTPUT, "--workers", "-j", help="Number of processes.", min=1, metavar="N")
]
Executor = Annotated[
    str | None,
    option(
        OUTPUT, "--executor", help="Executor: dask or slurm-arrays:KEY=VALUE,...", metavar="NAME"
    ),
]


class Group:
    """Options that commands share: fields of a subclass that is a dataclass."""


@dataclass(frozen=True, kw_only=True)
class Part(Group):
    """Options: the part of a log."""

    first: First = None
    start: From = None
    end: To = None


@dataclass(frozen=True, kw_only=True)
class Reading(Group):
    """Options: how a log is read."""

    input_format: InputFormat = None
    skip_bad_lines: SkipBadLines = False


@dataclass(frozen=True, kw_only=True)
class Log(Part, Reading):
    """Arguments and options: a log, or a part of it."""

    workload: WorkloadFile
    rejects: Rejects = None

    def read(self) -> Workload:
        """Read the log, and cut it."""
        from cpsched import logs
        from cpsched.cli.progress import reading

        if self.rejects is not None:
            check_new_file(self.rejects, overwrite=True, key="--rejects")
        with reading(self.workload):
            workload = logs.read(
                self.workload,
                format=self.input_format,
                skip_bad_lines=self.skip_bad_lines,
                rejects=self.rejects,
            )
        cut = workload.select(
            first=self.first,
            start=second_of(workload, "--from", self.start),
            end=second_of(workload, "--to", self.end),
        )
        if not len(cut):
            raise ConfigError(
                "has no jobs that --first, --from and --to select", where=self.workload
            )
        return cut


def _rule(help: str, **more: Any) -> Any:  # noqa: A002
    """Return an option that gives a setting of the same name, listed by --help-all."""
    return option(RULES, help=help, hidden=True, **more)


_OVERRUN = "Treatment of jobs at their requested time. [kill]"
_CORRECTION = "Estimate of overrunning jobs. [requested]"
_INTERVAL = "Dispatch at multiples of S seconds only."
_LIMITS = "Accept jobs above the time limit of their queue. [reject them]"
_RESTARTS = "Restartable jobs, such as share=0.5,cost=30 (s). [as in log]"
_MALLEABLE = "Malleable jobs, such as share=0.5,most=2. [as in log]"
_RUNTIMES = "Actual runtimes on the allocated nodes. [as in log]"
_OUTAGES = "Outages NAME:KEY=VALUE,... (list outages). [none]"


@dataclass(frozen=True, kw_only=True)
class Rules(Group):
    """Options: how a log is simulated, by the names of the settings."""

    overrun: Annotated[Literal["kill", "extend"] | None, option(RULES, help=_OVERRUN)] = None
    estimate_correction: Annotated[Literal["requested", "double"] | None, _rule(_CORRECTION)] = None
    dispatch_interval: Annotated[int | None, _rule(_INTERVAL, metavar="S", min=1)] = None
    enforce_time_limits: Annotated[bool | None, option(MACHINE, help=_LIMITS)] = None
    restarts: Annotated[str | None, _rule(_RESTARTS, metavar="KEY=VALUE,...")] = None
    malleable: Annotated[str | None, _rule(_MALLEABLE, metavar="KEY=VALUE,...")] = None
    runtime_model: Annotated[str | None, _rule(_RUNTIMES, metavar="NAME")] = None
    outages: Annotated[str | None, _rule(_OUTAGES, metavar="NAME")] = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def settings(self, seed: int) -> Settings:
        """Return the settings that they describe, with canonical specifications."""
        from cpsched.study.run_table import RunTable
        from cpsched.util.models import Source

        source = Source("", self.given, name_of=option_of)
        with source.blamed():
            return replace(source.read(RunTable, folder=source.folder).settings(), seed=seed)


#: What gives a value of a study on the command line, where that has another name.
_OPTIONS = {
    "baseline.dispatcher": "--baseline",
    "baseline.system": "--baseline-system",
    "dispatchers": "--dispatcher",
    "predictors": "--predictor",
    "systems": "--system",
    "workloads": "LOG",
}


def option_of(key: str) -> str:
    """Return the option that gives a value, by its key in a study file."""
    name = key.removeprefix("run.").removeprefix("workloads.")
    option, _, rest = name.partition(".")
    return _OPTIONS.get(name) or f"--{option.replace('_', '-')} {rest}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Runs(Part):
    """Options: the runs of a log; all but the part of the log by their names in a study file."""

    systems: Systems = None
    dispatchers: Dispatchers = None
    allocator: Allocator = None
    predictors: Predictors = None
    rules: Rules

    def given(self) -> dict[str, Any]:
        """Return what is given, by its name in a study file."""
        others = {"rules", *(item.name for item in fields(Part))}
        own = {key: value for key, value in vars(self).items() if key not in others}
        given = {key: value for key, value in own.items() if value or type(value) is int}
        return {**given, **self.rules.given}


@dataclass(frozen=True, kw_only=True)
class SiteRuns(Runs, Reading):
    """Options: the runs of a log, also under a site's Slurm policy."""

    slurm_policy: SlurmPolicy = None

    def given(self) -> dict[str, Any]:
        """Return what is given, by its name in a study file."""
        from cpsched.study.policies import following

        options = super().given()
        if options.pop("slurm_policy", None):
            dispatchers: Sequence[str | None] = self.dispatchers or [None]
            options["dispatchers"] = [
                following(self.slurm_policy, name, several=len(dispatchers) > 1)
                for name in dispatchers
            ]
        return options


@dataclass(frozen=True, kw_only=True)
class MeasuredRuns(SiteRuns):
    """Options: the runs of a log, of which a part is measured."""

    measure_from: MeasureFrom = None


@dataclass(frozen=True, kw_only=True)
class RepeatedRuns(MeasuredRuns):
    """Options: the runs of a log, each repeated."""

    repeat: Repeat = None
    jitter: Jitter = None


@dataclass(frozen=True, kw_only=True)
class ComparedRuns(RepeatedRuns):
    """Options: the runs of a log, of several dispatchers where its system is inferred."""

    dispatchers: Annotated[
        list[str] | None,
        _name(*_DISPATCHER, help="NAME:KEY=VALUE,... (repeatable). [easy, six without --system]"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Shown(Group):
    """Options: how a study is carried out, and what is printed of it."""

    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--out",
            "-o",
            help="Folder for runs and results. [LOG-compare or LOG-what-if]",
            metavar="DIR",
        ),
    ] = None
    ignore_recorded_waits: Annotated[
        bool,
        option(
            COMPARISON,
            "--ignore-recorded-waits",
            help="Skip the comparison with recorded waits.",
        ),
    ] = False
    workers: Workers = 1
    executor: Executor = None
    all_tables: AllTables = False
    report: WithReport = True
    as_json: AsJson = False

    def folder(self, named: str | Path, command: str) -> Path:
        """Return ``--out``, or a folder here that is named after the log or study and command."""
        return self.out or default_folder(named, command)


def default_folder(named: str | Path, command: str) -> Path:
    """Return a folder here for the results of a command: ``KTH-SP2-1996-2.1-cln-compare``."""
    from cpsched.study.study import log_name

    return Path(f"{log_name(Path(named)).removesuffix('.toml')}-{command}")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """
    Return a command in which parameters that are groups of options become these options.

    A group is a :class:`Group`; its fields are options as typer reads them, or groups again.
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    parameters = [
        option for name, member in own.items() for option in _options(member, hints[name])
    ]

    def run(**given: Any) -> None:
        command(**{name: _taken(name, hints[name], given) for name in own})

    parameters.sort(key=_panel)
    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in parameters}
    return run


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Group)


def _options(parameter: inspect.Parameter, kind: Any) -> list[inspect.Parameter]:
    """Return a parameter, or the options of the group that it is."""
    if not _is_group(kind):
        return [parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)]
    hints = get_type_hints(kind, include_extras=True)
    members = inspect.signature(kind).parameters.values()
    return [option for member in members for option in _options(member, hints[member.name])]


def _taken(name: str, kind: Any, given: dict[str, Any]) -> Any:
    """Return the value of a parameter, or the group of the values of its options."""
    if not _is_group(kind):
        return given[name]
    hints = get_type_hints(kind, include_extras=True)
    return kind(
        **{key: _taken(key, hints[key], given) for key in inspect.signature(kind).parameters}
    )


def _panel(parameter: inspect.Parameter) -> int:
    """
    Return the position of an option's group in the help; arguments and other options are first.
    """
    (info,) = parameter.annotation.__metadata__
    panel = getattr(info, "rich_help_panel", None)
    return _PANELS.index(panel) + 1 if panel in _PANELS else 0


def second_of(workload: Workload, option: str, text: str | None) -> int | None:
    """Return a second of the log's clock, given as such or as a date."""
    from cpsched.study.inputs import second_of

    return second_of(workload, option, moment(option, text))


def moment(option: str, text: str | None) -> int | str | None:
    """Return seconds, or a date as given."""
    from cpsched.util.models import moment_of

    try:
        return None if text is None else moment_of(text)
    except ValueError:
        raise ConfigError(
            f"'{text}' is not a time. Give seconds or a date like 2014-03-31T12:00.",
            key=option,
        ) from None


def fitted_of(jobs: Workload, system: str, settings: Settings) -> Fitted:
    """Return a log mapped onto a system according to the settings."""
    from cpsched import systems
    from cpsched.systems.mapping import fit

    return fit(jobs, systems.load(system), **settings.mapping)
