"""The parts of a study: workloads x systems x dispatchers x predictors x repetitions."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cpsched.errors import ConfigError
from cpsched.simulation.simulate import Settings
from cpsched.study.inputs import JobSelection

#: Lists that a study may have, and the name of one entry in a workload and in the settings: a
#: workload is run under each.
AXES = {"runtime_models": "runtime_model", "restarts": "restarts", "malleable": "malleable"}
#: Default of the largest delay of submits, seconds, for a study with several seeds.
JITTER = 5
#: Characters allowed in table names: none with a meaning in Markdown, LaTeX or HTML.
_LABEL = re.compile(r"[\w.(#%][\w .+:=,/()#%@-]{0,79}")
_LONGEST = 80
#: Of logs, and of packed ones.
_ENDINGS = (".swf", ".sacct", ".csv", ".parquet", ".txt", ".log", ".gz", ".xz", ".bz2", ".zst")
#: Of an absolute path all but the file and its folder; by itself, after a word or in an option.
_FAR = re.compile(r'(^|[\s="])/(?:[^,"/]*[^,"/\s]/)*(?=[^,"/]*[^,"/\s]/[^,"/])')


@dataclass(frozen=True, slots=True)
class LabelledSpec:
    """
    A dispatcher, predictor, runtime model or setting of a study.

    Attributes
    ----------
    label
        Its name in tables.
    spec
        Canonical specification, ``easy:backfill=sjf``.
    """

    label: str
    spec: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyWorkload(JobSelection):
    """
    A workload of a study, with its systems.

    Attributes
    ----------
    label
        Its name in tables.
    systems
        Names or TOML files.
    predictors, dispatchers
        Those that fit it; no dispatchers means all of the study.
    runtime_model, restarts, malleable
        How long its jobs run, which of them may be restarted, and which may change size; the label
        of the workload ends in theirs, in this order. None: as the study's settings say.
    """

    label: str
    systems: tuple[str, ...]
    predictors: tuple[LabelledSpec, ...]
    dispatchers: tuple[LabelledSpec, ...] = ()
    runtime_model: LabelledSpec | None = None
    restarts: LabelledSpec | None = None
    malleable: LabelledSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """
    What a run is compared with: another run with the same seed.

    Attributes
    ----------
    dispatcher, predictor, workload, system
        Labels. Where one is None, a run is compared with the run of its own dispatcher, predictor,
        workload or system.
    """

    dispatcher: str | None = None
    predictor: str | None = None
    workload: str | None = None
    system: str | None = None

    def __str__(self) -> str:
        named = [f"{key} {label}" for key, label in asdict(self).items() if label is not None]
        return " and ".join(named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """
    A study.

    Attributes
    ----------
    title, question
        For people; in reports.
    workloads
        Each with its systems and predictors.
    dispatchers
        Run on all workloads that do not name their own.
    seeds
        Repetitions: each seeds the jitter, the dispatcher and the predictor. With seed 0 the
        log is left as it is.
    jitter
        With other seeds every submit is delayed by a whole number of seconds from 0 to this.
    settings
        Of every run; its seed is ignored.
    baseline
        What every run is compared with.
    by_group
        Whether tables show who gains or loses against the baseline: by queue, account, ...
    measure_from
        Compare only jobs submitted from then on, seconds of the log's clock or a date; None: all.
    ignore_recorded_waits
        Whether results say nothing of the schedule that the log records.
    """

    title: str
    question: str = ""
    workloads: tuple[StudyWorkload, ...]
    dispatchers: tuple[LabelledSpec, ...]
    seeds: tuple[int, ...] = (0,)
    jitter: int = 0
    settings: Settings = field(default_factory=Settings)
    baseline: Baseline
    by_group: bool = False
    measure_from: int | str | None = None
    ignore_recorded_waits: bool = False

    def narrowed(
        self,
        first: int | None = None,
        start: int | str | None = None,
        end: int | str | None = None,
    ) -> Study:
        """Return the study on another part of every workload; None keeps the value."""
        given = {"first": first, "start": start, "end": end}
        changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        return replace(self, workloads=tuple(replace(w, **changes) for w in self.workloads))


def check_label(label: str) -> str:
    """
    Return a label if it can be used in every table.

    Raises
    ------
    ConfigError
        If it is empty, too long, or has characters with a meaning in a table, such as a first one
        that makes a cell a formula.
    """
    if not _LABEL.fullmatch(label) or label != label.strip():
        raise ConfigError(
            f"{label!r} cannot be used in a table. Use up to 80 letters, digits, spaces and"
            " . + : = , / ( ) # % @ _ -, and begin with none of + : = , / ) @ -"
        )
    return label


def near(text: str) -> str:
    """Return a text in which paths name no more than a folder: it is handed on to others."""
    return _FAR.sub(r"\1", text)


def as_label(text: str) -> str:
    """Return a text as a label, with ``-`` for characters that are not allowed."""
    plain = re.sub(r"[^\w .+:=,/()#%@-]+", "-", near(text)).lstrip(" +:=,/)@-")
    if len(plain) > _LONGEST:
        # The end of a path tells more than its beginning.
        plain = f"...{plain[3 - _LONGEST :]}"
    return plain.strip() or "unnamed"


def log_name(path: Path) -> str:
    """Return a log's name without its suffixes: ``KTH-SP2-1996-2.1-cln``."""
    name = path.name
    while (ending := Path(name).suffix.lower()) in _ENDINGS:
        name = name[: -len(ending)]
    return name


def system_label(name_or_path: str) -> str:
    """Return a system's name in tables: its name, or its file's."""
    name = Path(name_or_path).name.removesuffix(".toml").removesuffix(".json")
    return as_label(name.removesuffix(".system"))


def file_label(label: str) -> str:
    """Return a label as used in file names: lower case, spaces as hyphens."""
    return label.lower().replace(" ", "-")
