"""
What determines a run, by content and never by path, and its identity.

Two runs with the same identity are the same run: their folders are equal except for measured times.
Results of other code are other runs, so the identity includes the source of every package involved.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cpsched.base import registry
from cpsched.base.spec import Spec, files_of, resolved, spec_of
from cpsched.base.versions import versions
from cpsched.errors import ConfigError
from cpsched.simulation.settings import RULES, Settings

#: Parts of cpsched that only read runs: no run depends on them.
_READERS = {"answer", "api", "checks", "cli", "figures", "show", "verification"}


def identity(jobs: Any, system: str, dispatcher: Any, predictor: Any, settings: Settings) -> str:
    """
    Return the SHA-256 (hex) of everything that determines a run.

    That is besides the parameters: of every dispatcher, predictor or other thing that they name all
    options, defaults included, the content of files and the code; and the versions of cpsched, with
    a digest of its source, of Python, and of the libraries that results depend on.

    Parameters
    ----------
    jobs
        What the jobs follow from: the digest of a workload, or how it is read, cut and jittered.
    system
        Digest of the system.
    dispatcher, predictor
        Specifications or objects.

    Raises
    ------
    ConfigError
        If an object has no specification: nothing then says what it will decide.
    UnknownNameError
        If nothing has the name that a specification gives.
    """
    named = {
        name: (rule.group, Spec.parse(getattr(settings, name)))
        for name, rule in RULES.items()
        if rule.group
    }
    content = {
        "jobs": jobs,
        "system": system,
        "dispatcher": _component("dispatchers", _needed("dispatchers", dispatcher)),
        "predictor": _component("predictors", _needed("predictors", predictor)),
        **{name: _component(*one) for name, one in named.items()},
        # The file of a table is known by its content.
        "settings": asdict(replace(settings, outages=named["outages"][1].name)),
        "versions": versions_here(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _component(group: str, spec: Spec) -> dict[str, Any]:
    """Return what determines a dispatcher, a predictor or the like."""
    options = resolved(group, spec)
    options |= {key: file_digest(path) for key, path in files_of(group, spec).items()}
    entry = registry.entry(group, spec.name)
    assert entry is not None
    package = entry.target.partition(":")[0].partition(".")[0]
    code = f"{_distribution(entry.distribution)} {source_digest(package)}"
    return {"name": spec.name, "options": options, "code": code}


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
    """Return a digest of a package's source, 16 digits; of cpsched without readers of runs."""
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
