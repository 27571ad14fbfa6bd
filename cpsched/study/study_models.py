"""The models of a study file, and the :class:`~cpsched.study.study.Study` that it describes."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator

from cpsched import systems
from cpsched.errors import ConfigError, instead_of
from cpsched.logs.generators import describe
from cpsched.simulation.settings import SPECIFICATIONS
from cpsched.study.allocators import with_allocator
from cpsched.study.inputs import Generated, LogFile
from cpsched.study.run_table import RunTable, checked_setting
from cpsched.study.study import (
    AXES,
    JITTER,
    Baseline,
    LabelledSpec,
    Study,
    StudyWorkload,
    as_label,
    check_label,
    file_label,
    log_name,
    system_label,
)
from cpsched.util import registry
from cpsched.util.model_files import checked, with_model
from cpsched.util.models import (
    Count,
    Flag,
    Model,
    Moment,
    Must,
    Text,
    Texts,
    at,
    distinct,
    entries_of,
    whole,
)
from cpsched.util.spec import Spec, canonical, display_name
from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


_MOST_REPETITIONS, _LARGEST_SEED = 10_000, 2**31 - 1
#: Keys of a workload of a file, and of one of a generator.
_OF_FILES, _OF_GENERATORS = ("input_format", "skip_bad_lines"), ("options", "seeded")
#: A label, None where there is none, and the specification that it names.
_Pair = tuple[str | None, str]


def _pairs(value: Any) -> tuple[_Pair, ...]:
    """Return the labels and specifications of a list, or of a table of labels."""
    if not value or not isinstance(value, dict | list):
        raise ValueError
    pairs = value.items() if isinstance(value, dict) else [(None, text) for text in value]
    if not all(isinstance(text, str) and text.strip() for _, text in pairs):
        raise ValueError
    return tuple(pairs)


def _seeds(value: Any) -> tuple[int, ...]:
    """Return the seeds of a number of repetitions, which are 1 to this, or those of a list."""
    seeds = value if isinstance(value, list) else range(1, value + 1)
    if not 1 <= len(seeds) <= _MOST_REPETITIONS:
        raise ValueError
    if not all(type(seed) is int and 0 <= seed <= _LARGEST_SEED for seed in seeds):
        raise ValueError
    return tuple(seeds)


_Specs = Annotated[
    tuple[_Pair, ...],
    PlainValidator(_pairs),
    Must('a list such as ["fifo", "easy"], or a table such as EBF = "easy"'),
]
_Seeds = Annotated[
    tuple[int, ...],
    PlainValidator(_seeds),
    Must(f"a number of repetitions from 1 to {_MOST_REPETITIONS}, or a list such as [1, 2, 3]"),
    AfterValidator(distinct),
]


class BaselineTable(Model):
    """
    The table ``baseline``, of labels.

    The runs that tables compare with. A run is compared with the run that has these labels and
    shares all its other labels.
    """

    dispatcher: Text | None = None
    """Label of a dispatcher. Default: the first one."""
    predictor: Text | None = None
    """Label of a predictor."""
    workload: Text | None = None
    """Label of a workload: other workloads are compared with it."""
    system: Text | None = None
    """Label of a system: other systems are compared with it."""


class WorkloadTable(Model):
    """
    A ``[[workloads]]`` entry: a log or a generator, and what of the study it is run under.

    One job log or generator, and optionally its own systems and a selection of the study's
    dispatchers, predictors and settings.
    """

    file: Text | None = None
    """Path of a job log, relative to the study file. Give this or ``generator``."""
    input_format: Text | None = None
    """Format of the file. Default: recognized by its content."""
    skip_bad_lines: Flag | None = None
    """Whether to count and skip lines of the file that cannot be read."""
    generator: Text | None = None
    """Name of a generator of job logs."""
    options: Annotated[dict[str, Any], Must("a table")] | None = None
    """Options of the generator, such as ``{ jobs = 5000, load = 0.6 }``."""
    seeded: Flag | None = None
    """Whether each repetition generates another log, with its own seed."""
    name: Text | None = None
    """Label. Default: the name of the file or generator."""
    systems: Texts = ()
    """Systems instead of those at the top."""
    predictors: Texts = ()
    """Labels of some of the study's predictors. Default: all."""
    dispatchers: Texts = ()
    """Labels of some of the study's dispatchers. Default: all."""
    runtime_models: Texts = ()
    """Labels of some of the study's runtime models. Default: all."""
    restarts: Texts = ()
    """Labels of some of the study's restart settings. Default: all."""
    malleable: Texts = ()
    """Labels of some of the study's malleability settings. Default: all."""
    changes: Texts = ()
    """Changes of a scenario to the log and its systems, such as
    ``add-nodes:group=gpu,count=10``."""
    first: Count | None = None
    """Number of jobs to keep, from the beginning."""
    start: Moment | None = Field(None, alias="from")
    """Only jobs submitted from then on."""
    end: Moment | None = Field(None, alias="to")
    """Only jobs submitted before then."""


class StudyFile(Model):
    """A study, in the format of ``docs/reference/study.md``."""

    title: Text | None = None
    """Title of reports. Default: the file's name."""
    question: str = ""
    """The question that the study answers, for reports."""
    dispatchers: _Specs
    """Dispatchers with their options."""
    allocator: Text | None = None
    """Allocator of all dispatchers that set none. Default: their own."""
    predictors: _Specs = ((None, "requested"),)
    """Predictors, or files that ``cpsched train`` wrote."""
    systems: Texts = ()
    """Systems by name, or system files by a path relative to the study file."""
    workloads: Annotated[tuple[WorkloadTable, ...], *entries_of("workloads")] = ()
    """At least one entry."""
    runtime_models: _Specs = ()
    """Runtime models instead of the one in ``[run]``. Every workload runs once under each, and its
    label names it."""
    restarts: _Specs = ()
    """Restart settings, likewise."""
    malleable: _Specs = ()
    """Malleability settings, likewise."""
    repeat: _Seeds = (0,)
    """Number of repetitions, or a list with the seed of each. For example, 5 stands for ``[1, 2, 3,
    4, 5]``. Seed 0 leaves the log as it is."""
    jitter: Annotated[int, *whole(0, 86400)] | None = None
    """Most seconds by which a repetition delays each submit. Default: 5 with several repetitions,
    else 0."""
    run: RunTable = Field(default_factory=RunTable)
    """Settings of every run."""
    baseline: BaselineTable = Field(default_factory=BaselineTable)
    """The runs that tables compare with."""
    by_group: Flag = False
    """Whether tables also compare queues, accounts, users and other groups of jobs."""
    measure_from: Moment | None = None
    """Compare only jobs submitted from then on."""


def study_of(file: StudyFile, folder: Path, usual_title: str) -> Study:
    """
    Return the study that a file describes.

    Parameters
    ----------
    folder
        What paths in it are relative to.

    Raises
    ------
    ConfigError
        If parts of it contradict one another; names the key.
    """
    own = all(workload.dispatchers for workload in file.workloads)
    dispatchers = _choices("dispatchers", file.dispatchers, folder, once=not own)
    if file.allocator is not None:
        dispatchers = _placed(dispatchers, file.allocator)
    predictors = _choices("predictors", file.predictors, folder)
    axes = {key: _choices(key, getattr(file, key), folder) for key in AXES}
    with at("systems"):
        shared = _systems(file.systems, folder)
    workloads: list[StudyWorkload] = []
    for number, table in enumerate(file.workloads, start=1):
        with at(f"workloads[{number}]"):
            workload = _workload(table, folder, shared, predictors, dispatchers)
            workloads += _under_each(table, workload, axes)
    if not workloads:
        raise ConfigError(
            "there are no workloads. Give at least one [[workloads]] entry", key="workloads"
        )
    _tell_apart(workloads, dispatchers)
    for key, varied in axes.items():
        if varied and AXES[key] in file.run.model_fields_set:
            other = key if key != AXES[key] else f"{key} at the top"
            raise ConfigError(
                f"is given together with {other}. Give only one of them", key=f"run.{AXES[key]}"
            )
    jitter = file.jitter
    if jitter is None:
        jitter = JITTER if len(file.repeat) > 1 else 0
    elif jitter and not any(file.repeat):
        raise ConfigError(
            f"is {jitter}, but one repetition moves no job. Set repeat to more, such as 5",
            key="jitter",
        )
    with at("baseline"):
        baseline = _baseline(file.baseline, dispatchers, workloads)
    return Study(
        title=file.title or usual_title,
        question=file.question,
        workloads=tuple(workloads),
        dispatchers=dispatchers,
        seeds=file.repeat,
        jitter=jitter,
        settings=file.run.settings(),
        baseline=baseline,
        by_group=file.by_group,
        measure_from=file.measure_from,
    )


def labelled_spec(group: str, spec: str, folder: Path, label: str | None = None) -> LabelledSpec:
    """
    Return a dispatcher, predictor, runtime model or setting, checked by making it once.

    Parameters
    ----------
    group
        Its registry group, or what a study calls its list.
    folder
        What paths of files are relative to.
    """
    if group in AXES:
        canonical_spec = checked_setting(AXES[group], spec, folder)
    else:
        canonical_spec = checked(group, spec, folder)
    if label is not None:
        return LabelledSpec(check_label(label), canonical_spec)
    named = with_model(spec, folder) if group == "predictors" else spec
    return LabelledSpec(_usual_label(group, named), canonical_spec)


def _usual_label(group: str, spec: str) -> str:
    """Return the label of a specification that has none of its own."""
    is_option = group in AXES and AXES[group] not in SPECIFICATIONS
    return as_label(str(Spec.parse(spec)) if is_option else display_name(group, spec))


def _placed(dispatchers: tuple[LabelledSpec, ...], allocator: str) -> tuple[LabelledSpec, ...]:
    """Give the study's allocator to all dispatchers that set none."""
    with at("allocator"):
        allocator = canonical("allocators", allocator)
    placed = tuple(
        replace(choice, spec=with_allocator(choice.spec, allocator)) for choice in dispatchers
    )
    _once("dispatchers", [choice.spec for choice in placed])
    return placed


def _choices(
    key: str, pairs: Sequence[_Pair], folder: Path, *, once: bool = True
) -> tuple[LabelledSpec, ...]:
    """
    Return dispatchers, predictors, runtime models or settings with their labels.

    ``once``: none may be there twice under two labels.
    """
    choices = []
    for label, spec in pairs:
        with at(key if label is None else f"{key}.{label}"):
            choices.append(labelled_spec(key, spec, folder, label))
    _distinct(key, [choice.label for choice in choices])
    if once:
        _once(key, [choice.spec for choice in choices])
    return tuple(choices)


def _once(key: str, specs: Sequence[str]) -> None:
    """Refuse what would be run twice."""
    twice = next((spec for i, spec in enumerate(specs) if spec in specs[:i]), None)
    if twice is not None:
        raise ConfigError(f"'{twice}' is given twice, as a run", key=key)


def _systems(given: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return systems, by name or by path relative to the study, which exist."""
    names = []
    for name in given:
        is_path = Path(name).suffix or os.sep in name
        names.append(str((folder / name).absolute()) if is_path else name)
        systems.load(names[-1])
    _distinct("", [system_label(name) for name in names])
    return tuple(names)


def _workload(
    table: WorkloadTable,
    folder: Path,
    shared: tuple[str, ...],
    predictors: tuple[LabelledSpec, ...],
    dispatchers: tuple[LabelledSpec, ...],
) -> StudyWorkload:
    source = _source(table, folder)
    usual = log_name(source.path) if isinstance(source, LogFile) else source.name
    with at("name"):
        label = check_label(table.name or as_label(usual))
    with at("systems"):
        on = _systems(table.systems, folder) or shared
    if not on:
        raise ConfigError(
            'there is no system. Name one here or at the top: ["eurora"]', key="systems"
        )
    with at("changes"):
        changes = tuple(canonical("changes", text) for text in table.changes)
    named = _named(table, "dispatchers", dispatchers)
    chosen = _named(table, "predictors", predictors) or predictors
    # What is wrong with no value by itself is a part that ends before it begins.
    with at("to"):
        return StudyWorkload(
            label=label,
            source=source,
            systems=on,
            predictors=chosen,
            dispatchers=named,
            first=table.first,
            start=table.start,
            end=table.end,
            changes=changes,
        )


def _under_each(
    table: WorkloadTable, workload: StudyWorkload, axes: Mapping[str, tuple[LabelledSpec, ...]]
) -> list[StudyWorkload]:
    """Return a workload once for each runtime model and setting, which is added to its label."""
    named = [_named(table, key, axes[key]) or axes[key] for key in AXES]
    fields = [field for field, choices in zip(AXES.values(), named, strict=True) if choices]
    variants = []
    for chosen in product(*filter(None, named)):
        label = ", ".join([workload.label, *(choice.label for choice in chosen)])
        changes: dict[str, Any] = dict(zip(fields, chosen, strict=True))
        with at("name"):
            variants.append(replace(workload, label=check_label(label), **changes))
    return variants


def _named(
    table: WorkloadTable, key: str, choices: Sequence[LabelledSpec]
) -> tuple[LabelledSpec, ...]:
    """Return those of the study that a workload names by their labels."""
    known = {choice.label: choice for choice in choices}
    labels = [_label(key, label, known) for label in getattr(table, key)]
    for label in labels:
        if label not in known:
            raise ConfigError(f"'{label}' is not one of: {', '.join(known)}", key=key)
    return tuple(known[label] for label in dict.fromkeys(labels))


def _label(group: str, text: str, known: Collection[str]) -> str:
    """Return a label, also where the long form of a preset, which tables do not use, stands."""
    try:
        return text if text in known else _usual_label(group, text)
    except ConfigError:
        return text


def _source(table: WorkloadTable, folder: Path) -> LogFile | Generated:
    """Return where the jobs of a workload are from."""
    if (table.file is None) == (table.generator is None):
        raise ConfigError("give either a file or a generator", key="file")
    given = table.model_fields_set
    for key in _OF_GENERATORS if table.generator is None else _OF_FILES:
        if key in given:
            kind = "a file" if table.generator is None else "a generator"
            raise ConfigError(f"does not apply to a workload of {kind}", key=key)
    if table.generator is not None:
        return _generated(table.generator, table.options or {}, seeded=bool(table.seeded))
    path = (folder / str(table.file)).absolute()
    try:
        if path.is_dir():
            raise ConfigError(f"{path} is a folder, but a log is a file", key="file")
        if not path.is_file():
            raise ConfigError(f"there is no file {path}", key="file")
    except OSError as error:
        raise ConfigError(f"{error.strerror}: {path}", key="file") from error
    if table.input_format is not None:
        with at("input_format"):
            registry.load("log_formats", table.input_format)
    return LogFile(path=path, format=table.input_format, skip_bad_lines=bool(table.skip_bad_lines))


def _generated(name: str, options: Mapping[str, Any], *, seeded: bool) -> Generated:
    """Return a generator with options, which it takes."""
    with at("generator"):
        generator = registry.load("generators", name)
    known = [item.name for item in describe(generator.options)]
    for key in options:
        if key not in known:
            there = instead_of(key, known, "Keys here")
            raise ConfigError(f"unknown key{there}", key=f"options.{escaped(key)}")
    try:
        generator.options(**options)
    except ConfigError as error:
        raise ConfigError(str(error), key="options") from error
    except (TypeError, ValueError) as error:
        raise ConfigError(f"'{name}' does not take these values: {error}", key="options") from error
    if seeded and ("seed" in options or "seed" not in known):
        why = "has its own seed in options" if "seed" in options else "takes no seed"
        raise ConfigError(f"is true, and '{name}' {why}", key="seeded")
    return Generated(
        generator=name,
        options=tuple((key, options[key]) for key in known if key in options),
        seeded=seeded,
    )


def _baseline(
    table: BaselineTable,
    dispatchers: Sequence[LabelledSpec],
    workloads: Sequence[StudyWorkload],
) -> Baseline:
    """Return what runs are compared with: by default the first dispatcher."""
    labels = {
        "dispatcher": [choice.label for choice in dispatchers],
        "predictor": [choice.label for workload in workloads for choice in workload.predictors],
        "workload": [choice.label for choice in workloads],
        "system": [system_label(name) for choice in workloads for name in choice.systems],
    }
    given = {key: label for key, label in table if label is not None}
    if "dispatcher" in given:
        given["dispatcher"] = _label("dispatchers", given["dispatcher"], labels["dispatcher"])
    for key, label in given.items():
        if label not in labels[key]:
            known = ", ".join(dict.fromkeys(labels[key]))
            raise ConfigError(f"is {label!r}, must be one of: {known}", key=key)
    if not given:
        # With one dispatcher there is nothing but the predictors to compare.
        only_predictors = len(dispatchers) == 1 and len(set(labels["predictor"])) > 1
        key = "predictor" if only_predictors else "dispatcher"
        given = {key: labels[key][0]}
    return Baseline(**given)


def _tell_apart(workloads: Sequence[StudyWorkload], dispatchers: Sequence[LabelledSpec]) -> None:
    """Refuse workloads of the same name unless they have no dispatcher in common."""
    seen: dict[str, set[str]] = {}
    for workload in workloads:
        own = {choice.label for choice in workload.dispatchers or dispatchers}
        others = seen.setdefault(workload.label, set())
        if own & others:
            _distinct("workloads", [choice.label for choice in workloads])
        others |= own
    _distinct("workloads", list(seen))


def _distinct(key: str, labels: Sequence[str]) -> None:
    """Refuse labels that tables or figure files would confuse."""
    by_name: dict[str, str] = {}
    for label in labels:
        other = by_name.get(file_label(label))
        if other == label:
            raise ConfigError(f"two are called '{label}'. A study file gives each a name", key=key)
        if other is not None:
            raise ConfigError(
                f"'{other}' and '{label}' differ only in case or hyphens. Use distinct names",
                key=key,
            )
        by_name[file_label(label)] = label
