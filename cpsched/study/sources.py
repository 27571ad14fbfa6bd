"""Workloads and systems as workers get them: named by their content, loaded once per process."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched import systems, traces
from cpsched.base import registry
from cpsched.base.types import MISSING
from cpsched.errors import ConfigError, TraceError
from cpsched.mapping import Fitted, fit
from cpsched.model.system import System
from cpsched.simulation.identity import file_digest
from cpsched.study.changes import changed_system, changed_workload
from cpsched.study.study import Generated, in_utc

if TYPE_CHECKING:
    from cpsched.model.workload import Workload
    from cpsched.study.study import LogFile


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """A log by the SHA-256 of its file (hex) and how it is read; ``path`` is where it was."""

    digest: str
    format: str | None
    skip_bad_lines: bool
    path: str

    def identity(self) -> list[Any]:
        """Return what determines the workload."""
        return ["file", self.digest, self.format, self.skip_bad_lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedSource:
    """A generator's name, and all of its options."""

    generator: str
    options: tuple[tuple[str, Any], ...]
    version: int

    def identity(self) -> list[Any]:
        """Return what determines the workload."""
        return ["generator", self.generator, self.version, dict(self.options)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSource:
    """A machine as JSON, so that a worker needs no file; where it is from: its name, or a path."""

    text: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """
    The input of a run, besides dispatcher, predictor and settings.

    Attributes
    ----------
    first, start, end
        The part of the log, as in :class:`~cpsched.study.study.StudyWorkload`.
    jitter, seed
        Largest delay of a submit, seconds; 0: none.
    mapping
        The settings by which the log is mapped onto the machine.
    changes
        Changes to the log; ``system`` is changed already.
    """

    source: LogSource | GeneratedSource
    system: SystemSource
    first: int | None
    start: int | str | None
    end: int | str | None
    jitter: int
    seed: int
    mapping: tuple[tuple[str, Any], ...]
    changes: tuple[str, ...] = ()

    def identity(self) -> list[Any]:
        """Return what determines the jobs; the system is described separately."""
        part = [self.first, self.start, self.end]
        jitter = [self.jitter, self.seed] if self.jitter else []
        changes = [list(self.changes)] if self.changes else []
        return [*self.source.identity(), part, jitter, *changes]


def source_of(planned: LogFile | Generated, seed: int = 0) -> LogSource | GeneratedSource:
    """
    Return where a planned workload comes from; a file is read to know its content.

    Parameters
    ----------
    seed
        Of the run; matters for a generated workload that differs for every seed.

    Raises
    ------
    ConfigError
        If the file cannot be read.
    """
    if isinstance(planned, Generated):
        own = (("seed", seed),) if planned.seeded else ()
        return _generated(planned.generator, (*planned.options, *own))
    return LogSource(
        digest=file_digest(planned.path),
        format=planned.format or _recognised(planned.path),
        skip_bad_lines=planned.skip_bad_lines,
        path=str(planned.path),
    )


def _recognised(path: Path) -> str | None:
    """Return the format of a log, so that naming it gives the same run; None if unclear."""
    try:
        return traces.detect(path)
    except TraceError:
        # Said when it is read.
        return None


def _generated(name: str, given: tuple[tuple[str, Any], ...]) -> GeneratedSource:
    """Fill in the options that a study leaves out: a changed default is another workload."""
    generator = registry.load("generators", name)
    options = generator.options(**dict(given))
    every = tuple((key, getattr(options, key)) for key in sorted(options.__dataclass_fields__))
    # A generator's own version grows when equal options give other jobs.
    module = sys.modules.get(type(generator).__module__)
    return GeneratedSource(
        generator=name, options=every, version=int(getattr(module, "VERSION", 0))
    )


def system_source(name_or_path: str, changes: tuple[str, ...] = ()) -> SystemSource:
    """
    Return a system by name or file, after some changes.

    Raises
    ------
    ConfigError
        If it cannot be read, or lacks what is to be changed.
    """
    text = json.dumps(changed_system(systems.load(name_or_path), changes).to_dict())
    known = name_or_path in systems.names()
    return SystemSource(
        text=text, where=name_or_path if known else str(Path(name_or_path).absolute())
    )


@lru_cache(maxsize=16)
def machine(source: SystemSource) -> System:
    """Return the machine a text describes."""
    return System.from_dict(json.loads(source.text))


@lru_cache(maxsize=64)
def machine_digest(source: SystemSource) -> str:
    """Return a digest of everything that can change a schedule, which the machine's name cannot."""
    content = machine(source).to_dict()
    for name in ("name", "title", "source"):
        del content[name]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def jittered(workload: Workload, seed: int, jitter: int) -> Workload:
    """
    Delay every submit by 0 to ``jitter`` whole seconds, drawn by the seed, and sort again.

    Recorded starts and cancellations move with their submits, so that recorded waits stay as they
    are.
    """
    delay = np.random.default_rng(seed).integers(0, jitter + 1, size=len(workload))
    moved = {"submit": workload.submit + delay}
    for name in ("recorded_start", "cancel"):
        moment = getattr(workload, name)
        moved[name] = np.where(moment == MISSING, MISSING, moment + delay)
    order = np.argsort(moved["submit"], kind="stable")
    moved = {name: moment[order] for name, moment in moved.items()}
    return workload.take(order).with_columns(**moved)


@lru_cache(maxsize=2)
def prepare(made_of: Input) -> Fitted:
    """
    Return the jobs on their machine; the last two are kept by this process.

    Raises
    ------
    CpschedError
        If the log cannot be read, is another than when the campaign began, or does not suit the
        machine.
    """
    workload = jobs_of(made_of)
    if made_of.jitter:
        workload = jittered(workload, made_of.seed, made_of.jitter)
    return fit(workload, machine(made_of.system), **dict(made_of.mapping))


def jobs_of(made_of: Input) -> Workload:
    """
    Return the jobs after all changes, before they are fitted to their machine.

    Raises
    ------
    CpschedError
        As :func:`prepare`; or if the log does not have what is to be changed.
    """
    workload = _load(made_of.source)
    part = workload.select(
        first=made_of.first,
        start=second_of(workload, "from", made_of.start),
        end=second_of(workload, "to", made_of.end),
    )
    if not len(part):
        raise ConfigError("no job is left after first, from and to", where=workload.title)
    return changed_workload(part, machine(made_of.system), made_of.changes)


@lru_cache(maxsize=2)
def _load(source: LogSource | GeneratedSource) -> Workload:
    if isinstance(source, GeneratedSource):
        generator = registry.load("generators", source.generator)
        workload: Workload = generator.generate(generator.options(**dict(source.options)))
        return workload
    path = Path(source.path)
    if file_digest(path) != source.digest:
        raise ConfigError("has changed since the campaign began", where=path)
    return traces.read(path, format=source.format, skip_bad_lines=source.skip_bad_lines)


def second_of(workload: Workload, key: str, moment: int | str | None) -> int | None:
    """
    Return a second of the log's clock.

    Parameters
    ----------
    key
        Name of the value, for messages.
    moment
        Seconds, or a date, in UTC unless it says otherwise.

    Raises
    ------
    ConfigError
        If it is a date, and the log has none.
    """
    if moment is None or isinstance(moment, int):
        return moment
    if workload.epoch is None:
        raise ConfigError(
            "the log does not say when its second 0 was; give seconds instead of a date",
            where=workload.title,
            key=key,
        )
    return int(in_utc(moment).timestamp()) - workload.epoch
