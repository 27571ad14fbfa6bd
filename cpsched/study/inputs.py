"""
Workloads and systems: as a study names them, pinned to their content, and loaded by a worker.
"""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cpsched import logs, systems
from cpsched.errors import ConfigError, TraceError
from cpsched.model.system import System
from cpsched.simulation.identity import file_digest
from cpsched.study.changes import changed_system, changed_workload
from cpsched.systems.mapping import Fitted, fit
from cpsched.util import registry
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from cpsched.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """
    A job log in a file.

    Attributes
    ----------
    format
        Found by content where None.
    digest
        SHA-256 of the file (hex), once it is pinned.
    """

    path: Path
    format: str | None = None
    skip_bad_lines: bool = False
    digest: str = ""
    seeded: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Stem of the names of its files."""
        return self.path.name

    def pinned(self, seed: int = 0) -> LogFile:  # noqa: ARG002
        """
        Return it with its content's digest and its format, so that naming that gives the same run.

        Raises
        ------
        ConfigError
            If the file cannot be read.
        """
        digest, format_name = file_digest(self.path), self.format
        if format_name is None:
            # Said when it is read.
            with suppress(TraceError):
                format_name = logs.detect(self.path)
        return replace(self, digest=digest, format=format_name)

    def reader(self) -> tuple[str, str] | None:
        """Return the registry group and the name of what reads it, None if nothing does."""
        return None if self.format is None else ("log_formats", self.format)

    def identity(self) -> list[Any]:
        """Return the determinants of the workload."""
        return ["file", self.digest, self.format, self.skip_bad_lines]

    def record(self) -> dict[str, Any]:
        """Return its description in ``run.json``."""
        names = ("digest", "format", "skip_bad_lines")
        return {**{name: getattr(self, name) for name in names}, "path": str(self.path)}

    def load(self) -> Workload:
        """Return the jobs."""
        if file_digest(self.path) != self.digest:
            raise ConfigError(
                "the file has changed since the study began. Start it again in a new folder.",
                where=self.path,
            )
        return logs.read(self.path, format=self.format, skip_bad_lines=self.skip_bad_lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """
    A workload made by a registered generator.

    Attributes
    ----------
    options
        Those that differ from the generator's defaults; all of them, once it is pinned.
    seeded
        Whether every seed of the study gives another workload: the seed becomes the generator's
        option ``seed``, and no submit is moved.
    version
        The generator's own, once it is pinned; it grows when equal options give other jobs.
    """

    generator: str
    options: tuple[tuple[str, Any], ...] = ()
    seeded: bool = False
    version: int = 0

    @property
    def name(self) -> str:
        """Stem of the names of its files."""
        return self.generator

    def pinned(self, seed: int = 0) -> Generated:
        """Return it with the options that are left out: a changed default is another workload."""
        generator = registry.load("generators", self.generator)
        given = dict(self.options) | ({"seed": seed} if self.seeded else {})
        options = generator.options(**given)
        every = tuple((key, getattr(options, key)) for key in sorted(options.__dataclass_fields__))
        module = sys.modules.get(type(generator).__module__)
        return replace(self, options=every, version=int(getattr(module, "VERSION", 0)))

    def reader(self) -> tuple[str, str] | None:
        """Return the registry group and the name of what makes it."""
        return "generators", self.generator

    def identity(self) -> list[Any]:
        """Return the determinants of the workload."""
        return ["generator", self.generator, self.version, dict(self.options)]

    def record(self) -> dict[str, Any]:
        """Return its description in ``run.json``."""
        return {
            "generator": self.generator,
            "options": dict(self.options),
            "version": self.version,
        }

    def load(self) -> Workload:
        """Return the jobs."""
        generator = registry.load("generators", self.generator)
        workload: Workload = generator.generate(generator.options(**dict(self.options)))
        return workload


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSelection:
    """
    Which jobs are run.

    Attributes
    ----------
    first, start, end
        The part of the log: at most so many jobs, submitted in ``[start, end)``, which are
        seconds of the log's clock or dates (text, UTC). All, where None.
    changes
        Changes to the log and to the system: specifications of
        :class:`~cpsched.study.changes.Change`, made in this order.
    """

    source: LogFile | Generated
    first: int | None = None
    start: int | str | None = None
    end: int | str | None = None
    changes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        start, end = self.start, self.end
        if isinstance(start, int) and isinstance(end, int):
            empty = end <= start
        elif isinstance(start, str) and isinstance(end, str):
            empty = in_utc(end) <= in_utc(start)
        else:
            # Seconds and a date cannot be compared without the log.
            return
        if empty:
            raise ConfigError(
                f"the part of the log ends at {end}, must be after its start, {start}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSource:
    """A machine as JSON, so that a worker needs no file; where it is from: its name, or a path."""

    text: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput(JobSelection):
    """
    The input of a run, besides dispatcher, predictor and settings; its source is pinned.

    Attributes
    ----------
    system
        Changed already.
    jitter, seed
        Largest delay of a submit, seconds; 0: none.
    mapping
        The settings by which the log is mapped onto the machine.
    """

    system: SystemSource
    jitter: int
    seed: int
    mapping: tuple[tuple[str, Any], ...]

    def identity(self) -> list[Any]:
        """Return the determinants of the jobs. The system is described separately."""
        part = [self.first, self.start, self.end]
        jitter = [self.jitter, self.seed] if self.jitter else []
        changes = [list(self.changes)] if self.changes else []
        return [*self.source.identity(), part, jitter, *changes]

    def readers(self) -> list[tuple[str, str]]:
        """Return the registry groups and specifications that read, make or change the jobs."""
        reader = self.source.reader()
        return [
            *([] if reader is None else [reader]),
            *(("changes", change) for change in self.changes),
        ]

    def record(self) -> dict[str, Any]:
        """Return its description in ``run.json``."""
        return {
            "source": self.source.record(),
            "machine": self.system.where,
            "first": self.first,
            "from": self.start,
            "to": self.end,
            "jitter": self.jitter,
            **({"changes": list(self.changes)} if self.changes else {}),
        }


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
    moved = {}
    for name in ("recorded_start", "cancel"):
        moment = getattr(workload, name)
        moved[name] = np.where(moment == MISSING, MISSING, moment + delay)
    return workload.resubmitted(workload.submit + delay, **moved)


@lru_cache(maxsize=2)
def prepare(made_of: RunInput) -> Fitted:
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


def jobs_of(made_of: RunInput) -> Workload:
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
        raise ConfigError(
            f"--first, --from and --to select 0 of {len(workload):,} jobs", where=workload.title
        )
    return changed_workload(part, machine(made_of.system), made_of.changes)


@lru_cache(maxsize=2)
def _load(source: LogFile | Generated) -> Workload:
    return source.load()


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
            "the log does not say when its second 0 was. Give seconds instead of a date",
            where=workload.title,
            key=key,
        )
    return int(in_utc(moment).timestamp()) - workload.epoch


def in_utc(moment: str) -> datetime:
    """Return a date, in UTC unless it says otherwise."""
    when = datetime.fromisoformat(moment)
    return when if when.tzinfo else when.replace(tzinfo=UTC)
