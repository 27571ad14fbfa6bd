"""
Studies as TOML files: the bundled ones by name, and any other in the same format.

The format is described in ``docs/reference/study-folder.md``. Every key is checked before anything
is run.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched import systems
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.logs.generators import describe
from cpsched.simulation.settings import RULES, Settings, read_settings
from cpsched.study.allocators import with_allocator
from cpsched.study.inputs import Generated, LogFile
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
    system_label,
)
from cpsched.util import registry, resources
from cpsched.util.documents import read_text
from cpsched.util.model_files import checked, with_model
from cpsched.util.spec import Spec, canonical, display_name
from cpsched.util.toml_section import Section

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


#: Of logs, and of packed ones.
_ENDINGS = (".swf", ".sacct", ".csv", ".parquet", ".txt", ".log", ".gz", ".xz", ".bz2", ".zst")
#: At the top of a study.
_KEYS = (
    *("title", "question", "dispatchers", "allocator", "predictors", "systems", "workloads"),
    *(*AXES, "seeds", "jitter", "run", "baseline", "by_group", "measure_from"),
)
#: Keys of a workload; the last two for files and for generators only.
_OF_FILES, _OF_GENERATORS = ("format", "skip_bad_lines"), ("options", "seeded")
_WORKLOAD_KEYS = (
    *("file", "generator", "name", "systems", "predictors", "dispatchers", *AXES, "changes"),
    *("first", "from", "to", *_OF_FILES, *_OF_GENERATORS),
)


def study_names() -> list[str]:
    """Return the names of the studies that come with cpsched, sorted."""
    return sorted(file.stem for file in resources.path("studies").glob("*.toml"))


def log_name(path: Path) -> str:
    """Return a log's name without its suffixes: ``KTH-SP2-1996-2.1-cln``."""
    name = path.name
    while (ending := Path(name).suffix.lower()) in _ENDINGS:
        name = name[: -len(ending)]
    return name


def study_path(name_or_path: str | Path) -> Path:
    """
    Return the file of a study: a bundled one by name, or any path that ends in ``.toml``.

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    text = str(name_or_path)
    if text.endswith(".toml"):
        return Path(text)
    known = study_names()
    if text not in known:
        raise UnknownNameError("study", text, known)
    return resources.path("studies", f"{text}.toml")


def load_study(name_or_path: str | Path) -> Study:
    """
    Read a study.

    Raises
    ------
    UnknownNameError
        If no bundled study has that name; the message lists them.
    ConfigError
        If the file cannot be read, is not TOML, or does not describe a study; names file,
        key, value, and what would be right.
    """
    file = study_path(name_or_path)
    return _study(Section.of_text(read_text(file), str(file)))


def parse_study(data: Mapping[str, Any], file: Path) -> Study:
    """
    Return the study that the content of a TOML file describes.

    Parameters
    ----------
    file
        For messages; paths in the study are relative to its folder.

    Raises
    ------
    ConfigError
        As for :func:`load_study`.
    """
    return _study(Section(data, str(file)))


def _study(top: Section) -> Study:
    file = top.file
    top.expect(*_KEYS)
    own = all("dispatchers" in section for section in top.tables("workloads"))
    dispatchers = _placing(top, _choices(top, "dispatchers", file, once=not own))
    predictors = _choices(top, "predictors", file, default=("requested",))
    shared = _systems(top, file)
    axes = {key: _choices(top, key, file) for key in AXES if key in top}
    workloads = [
        workload
        for section in top.tables("workloads")
        for workload in _under_each(
            section,
            _workload(section, file, shared, predictors, dispatchers),
            axes,
        )
    ]
    if not workloads:
        raise top.error(
            "workloads", "there are no workloads; give at least one [[workloads]] entry"
        )
    _tell_apart(top, workloads, dispatchers)
    seeds = top.seeds("seeds", (0,))
    jitter = top.integer("jitter", 0, 86400, JITTER if len(seeds) > 1 else 0)
    if jitter and not any(seeds):
        raise top.error(
            "jitter", f"is {jitter}, but one repetition moves no job; set seeds to more, such as 5"
        )
    return Study(
        title=top.text("title", file.stem),
        question=top.text("question", ""),
        workloads=tuple(workloads),
        dispatchers=dispatchers,
        seeds=seeds,
        jitter=jitter,
        settings=_settings(top.table("run"), axes),
        baseline=_baseline(top.table("baseline"), dispatchers, workloads),
        by_group=top.flag("by_group"),
        measure_from=top.moment("measure_from"),
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
    rule = RULES.get(AXES.get(group, ""))
    canonical_spec = checked(group, spec, folder) if rule is None else rule.checked(spec, folder)
    if label is not None:
        return LabelledSpec(check_label(label), canonical_spec)
    named = with_model(spec, folder) if group == "predictors" else spec
    return LabelledSpec(_usual_label(group, named), canonical_spec)


def _usual_label(group: str, spec: str) -> str:
    """Return the label of a specification that has none of its own."""
    is_setting = AXES.get(group) in RULES
    return as_label(str(Spec.parse(spec)) if is_setting else display_name(group, spec))


def _placing(section: Section, dispatchers: tuple[LabelledSpec, ...]) -> tuple[LabelledSpec, ...]:
    """Give the study's allocator to all dispatchers that set none."""
    allocator = section.text("allocator", "")
    if not allocator:
        return dispatchers
    with section.blamed("allocator"):
        allocator = canonical("allocators", allocator)
    placed = tuple(
        replace(choice, spec=with_allocator(choice.spec, allocator)) for choice in dispatchers
    )
    _once(section, "dispatchers", [choice.spec for choice in placed])
    return placed


def _choices(
    section: Section, key: str, file: Path, default: Sequence[str] = (), *, once: bool = True
) -> tuple[LabelledSpec, ...]:
    """
    Read dispatchers, predictors, runtime models or settings: a list, or a table of labels.

    ``once``: none may be there twice under two labels.
    """
    choices = []
    for label, spec in section.labelled(key, default):
        with section.blamed(key if label is None else f"{key}.{label}"):
            choices.append(labelled_spec(key, spec, file.parent, label))
    _distinct(section, key, [labelled_spec.label for labelled_spec in choices])
    if once:
        _once(section, key, [labelled_spec.spec for labelled_spec in choices])
    return tuple(choices)


def _once(section: Section, key: str, specs: Sequence[str]) -> None:
    """Refuse what would be run twice."""
    twice = next((spec for i, spec in enumerate(specs) if spec in specs[:i]), None)
    if twice is not None:
        raise section.error(key, f"'{twice}' is given twice, as a run")


def _systems(section: Section, file: Path) -> tuple[str, ...]:
    """Read systems, by name or by path relative to the study, and check that they exist."""
    names = []
    for name in section.texts("systems"):
        if Path(name).suffix or os.sep in name:
            name = str(_relative_to_study(file, name))
        with section.blamed("systems"):
            systems.load(name)
        names.append(name)
    _distinct(section, "systems", [system_label(name) for name in names])
    return tuple(names)


def _workload(
    section: Section,
    file: Path,
    shared: tuple[str, ...],
    predictors: tuple[LabelledSpec, ...],
    dispatchers: tuple[LabelledSpec, ...],
) -> StudyWorkload:
    section.expect(*_WORKLOAD_KEYS)
    source = _source(section, file)
    usual = log_name(source.path) if isinstance(source, LogFile) else source.name
    label = section.text("name", as_label(usual))
    with section.blamed("name"):
        check_label(label)
    # What is wrong with no value by itself is a part that ends before it begins.
    with section.blamed("to"):
        workload = StudyWorkload(
            label=label,
            source=source,
            systems=_systems(section, file) or shared,
            predictors=_named(section, "predictors", predictors) or predictors,
            dispatchers=_named(section, "dispatchers", dispatchers),
            first=section.count("first"),
            start=section.moment("from"),
            end=section.moment("to"),
            changes=_changes(section),
        )
    if not workload.systems:
        raise section.error(
            "systems", 'there is no system; name one here or at the top: ["eurora"]'
        )
    for key in _OF_GENERATORS if isinstance(source, LogFile) else _OF_FILES:
        if key in section:
            kind = "a file" if isinstance(source, LogFile) else "a generator"
            raise section.error(key, f"does not apply to a workload of {kind}")
    return workload


def _changes(section: Section) -> tuple[str, ...]:
    """Read changes, and make each once."""
    with section.blamed("changes"):
        return tuple(canonical("changes", text) for text in section.texts("changes"))


def _under_each(
    section: Section, workload: StudyWorkload, axes: Mapping[str, tuple[LabelledSpec, ...]]
) -> list[StudyWorkload]:
    """Return a workload once for each runtime model and setting, which is added to its label."""
    named = [_named(section, key, axes.get(key, ())) or axes.get(key, ()) for key in AXES]
    fields = [field for field, ones in zip(AXES.values(), named, strict=True) if ones]
    variants = []
    for chosen in product(*filter(None, named)):
        label = ", ".join([workload.label, *(choice.label for choice in chosen)])
        changes: dict[str, Any] = dict(zip(fields, chosen, strict=True))
        with section.blamed("name"):
            variants.append(replace(workload, label=check_label(label), **changes))
    return variants


def _named(section: Section, key: str, choices: Sequence[LabelledSpec]) -> tuple[LabelledSpec, ...]:
    """Read labels of what the study has: dispatchers, predictors, runtime models, settings."""
    known = {choice.label: choice for choice in choices}
    named = section.texts(key)
    named = tuple(_label(key, label, known) for label in named)
    for label in named:
        if label not in known:
            raise section.error(key, f"'{label}' is not one of: {', '.join(known)}")
    return tuple(known[label] for label in dict.fromkeys(named))


def _label(group: str, text: str, known: Collection[str]) -> str:
    """Return a label, also where the long form of a preset, which tables do not use, stands."""
    try:
        return text if text in known else _usual_label(group, text)
    except ConfigError:
        return text


def _source(section: Section, file: Path) -> LogFile | Generated:
    if ("file" in section) == ("generator" in section):
        raise section.error("file", "give either a file or a generator")
    if "generator" in section:
        name = section.choice("generator", registry.names("generators"), None)
        assert name is not None
        return _generated(section, name)
    path = _relative_to_study(file, section.text("file"))
    try:
        if path.is_dir():
            raise section.error("file", f"{path} is a folder, but a log is a file")
        if not path.is_file():
            raise section.error("file", f"there is no file {path}")
    except OSError as error:
        raise section.error("file", f"{error.strerror}: {path}") from error
    formats = registry.names("log_formats")
    return LogFile(
        path=path,
        format=section.choice("format", formats, None),
        skip_bad_lines=section.flag("skip_bad_lines", False),
    )


def _generated(section: Section, name: str) -> Generated:
    generator = registry.load("generators", name)
    given = section.table("options")
    known = [item.name for item in describe(generator.options)]
    options = {key: given.plain(key) for key in known if key in given}
    # Unknown ones are errors that suggest the closest name.
    for key in known:
        given.plain(key)
    given.finish()
    try:
        generator.options(**options)
    except ConfigError as error:
        raise given.error("", str(error)) from error
    except (TypeError, ValueError) as error:
        raise given.error("", f"'{name}' does not take these values: {error}") from error
    seeded = section.flag("seeded", False)
    if seeded and ("seed" in options or "seed" not in known):
        why = "has its own seed in options" if "seed" in options else "takes no seed"
        raise section.error("seeded", f"is true, and '{name}' {why}")
    return Generated(generator=name, options=tuple(options.items()), seeded=seeded)


def _settings(section: Section, axes: Iterable[str]) -> Settings:
    for key in axes:
        if AXES[key] in section:
            where = key if key != AXES[key] else f"{key} at the top"
            raise section.error(AXES[key], f"is given together with {where}; give only one of them")
    return read_settings(section)


def _baseline(
    section: Section, dispatchers: Sequence[LabelledSpec], workloads: Sequence[StudyWorkload]
) -> Baseline:
    predictors = {choice.label: choice for workload in workloads for choice in workload.predictors}
    labels = [choice.label for choice in dispatchers]
    dispatcher = section.text("dispatcher", "") or None
    if dispatcher is not None:
        dispatcher = _label("dispatchers", dispatcher, labels)
    if dispatcher not in (None, *labels):
        section.choice("dispatcher", labels, None)
    predictor = section.choice("predictor", list(predictors), None)
    workload = section.choice("workload", [choice.label for choice in workloads], None)
    names = [system_label(name) for choice in workloads for name in choice.systems]
    system = section.choice("system", list(dict.fromkeys(names)), None)
    section.finish()
    if dispatcher is predictor is workload is system is None:
        # With one dispatcher there is nothing but the predictors to compare.
        if len(dispatchers) == 1 and len(predictors) > 1:
            predictor = next(iter(predictors))
        else:
            dispatcher = dispatchers[0].label
    return Baseline(dispatcher=dispatcher, predictor=predictor, workload=workload, system=system)


def _tell_apart(
    section: Section, workloads: Sequence[StudyWorkload], dispatchers: Sequence[LabelledSpec]
) -> None:
    """Refuse workloads of the same name unless they have no dispatcher in common."""
    seen: dict[str, set[str]] = {}
    for workload in workloads:
        own = {choice.label for choice in workload.dispatchers or dispatchers}
        others = seen.setdefault(workload.label, set())
        if own & others:
            _distinct(section, "workloads", [choice.label for choice in workloads])
        others |= own
    _distinct(section, "workloads", list(seen))


def _distinct(section: Section, key: str, labels: Sequence[str]) -> None:
    """Refuse labels that tables or figure files would confuse."""
    by_name: dict[str, str] = {}
    for label in labels:
        other = by_name.get(file_label(label))
        if other == label:
            raise section.error(key, f"two are called '{label}'; a study file gives each a name")
        if other is not None:
            raise section.error(
                key, f"'{other}' and '{label}' differ only in case or hyphens; use distinct names"
            )
        by_name[file_label(label)] = label


def _relative_to_study(file: Path, path: str) -> Path:
    """Return a path relative to the study's folder; an absolute one is kept."""
    return (file.parent / path).absolute()
