"""
What determines a run, by content and never by path, and its identity.

Two runs with the same identity are the same run: their folders are equal except for measured times.
Results of other code are other runs, so the identity includes the source of every package involved.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cpsched.base import registry
from cpsched.base.spec import Spec, files_of, resolved, spec_of
from cpsched.base.versions import versions
from cpsched.errors import ConfigError

#: Parts of cpsched that only read runs: no run depends on them.
_READERS = {"checks.py", "check_sample.py", "cli", "explain", "figures", "report"}
_READERS |= {"tables.py", "verification"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """
    How a simulation is run; see :class:`~cpsched.simulation.simulator.Simulator`.

    Attributes
    ----------
    dispatch_interval
        None: the dispatcher's own (:attr:`~cpsched.dispatch.contract.Dispatcher.interval`), which
        most do not have. A finished run's settings say which one it was.
    enforce_limits
        Whether jobs that ask for more time than their queue allows are rejected. For a workload
        that is mapped already, the mapping decided that, and a finished run's settings say how.
    restarts
        Which jobs may be restarted, ``share=0.5,cost=30,checkpoint=600`` (see
        :class:`~cpsched.mapping.restarts.Restarts`); ``none``: as the log says. As for
        ``enforce_limits``, the mapping decides it.
    malleable
        Which jobs may change size, ``share=0.5,least=0.5,most=2`` (see
        :class:`~cpsched.mapping.malleable.Malleable`); likewise.
    runtime_model
        Specification of how long jobs run, see
        :class:`~cpsched.simulation.runtime_models.RuntimeModel`.
    outages
        Specification of which nodes are down when, see
        :class:`~cpsched.simulation.outages.OutageModel`.
    """

    overrun: str = "kill"
    correction: str = "requested"
    dispatch_interval: int | None = None
    enforce_limits: bool = True
    restarts: str = "none"
    malleable: str = "none"
    runtime_model: str = "recorded"
    outages: str = "none"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """
    A dispatcher, predictor or runtime model.

    Attributes
    ----------
    options
        All of them, defaults included; of an option that names a file, the SHA-256 of the file.
    code
        Distribution, version and source digest of the package it comes from.
    """

    name: str
    options: dict[str, Any]
    code: str

    @classmethod
    def of(cls, group: str, spec: Spec) -> Component:
        """
        Describe what a specification names.

        Raises
        ------
        UnknownNameError, ConfigError
            If nothing has that name, an option is wrong, or its file cannot be read.
        """
        options = resolved(group, spec)
        options |= {key: file_digest(path) for key, path in files_of(group, spec).items()}
        entry = registry.entries(group)[spec.name]
        package = entry.target.partition(":")[0].partition(".")[0]
        code = f"{_distribution(entry.distribution)} {source_digest(package)}"
        return cls(name=spec.name, options=options, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDescription:
    """
    Everything that determines a run.

    Attributes
    ----------
    jobs
        What the jobs follow from: the digest of a workload, or how it is read, cut and jittered.
    system
        Digest of the system.
    settings
        Those of the simulation, the seed among them.
    versions
        Of cpsched with a digest of its source, of Python, and of the libraries that results
        depend on.
    """

    jobs: Any
    system: str
    dispatcher: Component
    predictor: Component
    runtime_model: Component
    outages: Component
    settings: Settings
    versions: dict[str, str]

    @property
    def identity(self) -> str:
        """SHA-256 (hex) of all of it."""
        content = json.dumps(asdict(self), sort_keys=True, default=str)
        return hashlib.sha256(content.encode()).hexdigest()


def describe(
    jobs: Any, system: str, dispatcher: Any, predictor: Any, settings: Settings
) -> RunDescription:
    """
    Describe a run.

    Parameters
    ----------
    jobs, system
        See :class:`RunDescription`.
    dispatcher, predictor
        Specifications or objects.

    Raises
    ------
    ConfigError
        If an object has no specification: nothing then says what it will decide.
    """
    return RunDescription(
        jobs=jobs,
        system=system,
        dispatcher=Component.of("dispatchers", _needed("dispatchers", dispatcher)),
        predictor=Component.of("predictors", _needed("predictors", predictor)),
        runtime_model=Component.of("runtime_models", Spec.parse(settings.runtime_model)),
        outages=Component.of("outages", Spec.parse(settings.outages)),
        # The file of a table is known by its content.
        settings=replace(settings, outages=Spec.parse(settings.outages).name),
        versions=versions_here(),
    )


def _needed(group: str, thing: Any) -> Spec:
    spec = spec_of(group, thing)
    if spec is None:
        raise ConfigError(
            f"the {group[:-1]} {thing!r} has no specification, so this run cannot be told from"
            " others; register its class and give its name and options, such as"
            f" 'easy:backfill=sjf'"
        )
    return spec


@cache
def versions_here() -> dict[str, str]:
    """Return the versions and the source that results depend on; looked up once a process."""
    return {**versions(), "source": source_digest("cpsched")}


@cache
def source_digest(package: str) -> str:
    """
    Return a digest of a package's source, 16 hexadecimal digits.

    Of cpsched without the parts that only read runs.
    """
    found = find_spec(package)
    if found is None:
        return ""
    sha = hashlib.sha256()
    places = found.submodule_search_locations
    if places is None:
        sha.update(Path(str(found.origin)).read_bytes())
        return sha.hexdigest()[:16]
    for root in sorted(map(Path, places)):
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root)
            if package != "cpsched" or inside.parts[0] not in _READERS:
                sha.update(f"{inside.as_posix()}\0".encode() + path.read_bytes())
    return sha.hexdigest()[:16]


@cache
def _distribution(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return name


def file_digest(path: Path) -> str:
    """
    Return the SHA-256 of a file (hex).

    Raises
    ------
    ConfigError
        If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot be read: {reason}", where=path) from error
