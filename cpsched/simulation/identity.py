"""
What determines a run, by content and never by path, and its identity.

Two runs with the same identity are the same run: their folders are equal except for measured times.
Results of other code are other runs, so the identity includes the source of every class involved,
see :mod:`cpsched.simulation.code`. Where some of it is not known, no run is taken for another one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.errors import ConfigError
from cpsched.simulation.code import NAMED, code_of, distribution_of, source_digest
from cpsched.simulation.settings import SPECIFICATIONS, Settings
from cpsched.util import registry
from cpsched.util.native import load_core
from cpsched.util.spec import Spec, expand, files_of, is_class, resolved, spec_of
from cpsched.util.versions import versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class Identity(NamedTuple):
    """
    What determines a run.

    Attributes
    ----------
    digest
        SHA-256 (hex) of all that is known of it.
    unknown
        What is not known, a sentence each: the run may be another one of the same digest.
    """

    digest: str
    unknown: tuple[str, ...]


def identity(jobs: Any, system: str, dispatcher: Any, predictor: Any, settings: Settings) -> str:
    """Return the SHA-256 (hex) of everything known that determines a run, see :func:`identify`."""
    return identify(jobs, system, dispatcher, predictor, settings).digest


def identify(
    jobs: Any,
    system: str,
    dispatcher: Any,
    predictor: Any,
    settings: Settings,
    readers: Iterable[tuple[str, str]] = (),
) -> Identity:
    """
    Return the identity of a run.

    That is besides the parameters: of every dispatcher, predictor or other thing that they name all
    options, defaults included, the content of files and the code; and the versions of cpsched, with
    digests of its sources, of Python, and of the libraries that results depend on.

    Parameters
    ----------
    jobs
        What the jobs follow from: the digest of a workload, or how it is read, cut and jittered.
    system
        Digest of the system.
    dispatcher, predictor
        Specifications or objects.
    readers
        What reads, makes or changes the jobs: registry groups and specifications.

    Raises
    ------
    ConfigError
        If an object has no specification: nothing then says what it will decide.
    UnknownNameError
        If nothing has the name that a specification gives.
    """
    named = {
        name: (group, Spec.parse(getattr(settings, name))) for name, group in SPECIFICATIONS.items()
    }
    seen = _Seen()
    content = {
        "jobs": jobs,
        "system": system,
        "dispatcher": seen.component("dispatchers", _needed("dispatchers", dispatcher)),
        "predictor": seen.component("predictors", _needed("predictors", predictor)),
        **{name: seen.component(*reference) for name, reference in named.items()},
        "readers": [seen.reader(group, text) for group, text in readers],
        # The file of a table is known by its content.
        "settings": asdict(replace(settings, outages=named["outages"][1].name)),
        "versions": versions_here(),
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return Identity(hashlib.sha256(text.encode()).hexdigest(), tuple(seen.unknown))


@dataclass
class _Seen:
    """
    What specifications name, as it is described.

    Attributes
    ----------
    unknown
        What is not known of it, a sentence each; without duplicates.
    """

    unknown: dict[str, None] = field(default_factory=dict)
    _above: list[tuple[str, Spec]] = field(default_factory=list)

    def component(self, group: str, spec: Spec) -> dict[str, Any]:
        """Return what determines a dispatcher, a predictor or the like, and what it names."""
        options = resolved(group, spec)
        options |= {key: file_digest(path) for key, path in files_of(group, spec).items()}
        described = {"name": spec.name, "options": options, "code": self.code(group, spec.name)}
        self._above.append((group, spec))
        named = [
            self.component(other, inner)
            for text in options.values()
            if isinstance(text, str)
            for other, inner in _named_in(text)
            if (other, inner) not in self._above
        ]
        self._above.pop()
        return {**described, "named": named} if named else described

    def reader(self, group: str, text: str) -> Any:
        """Return what determines a change, or the code of a reader or generator of jobs."""
        spec = Spec.parse(text)
        return self.component(group, spec) if group == "changes" else self.code(group, spec.name)

    def code(self, group: str, name: str) -> str:
        """Return the code of what is registered under a name, or of a class."""
        entry = registry.entry(group, expand(group, Spec(name)).name)
        assert entry is not None
        code = code_of(entry.target.partition(":")[0])
        for reason in code.unknown:
            self.unknown[f"{name}: its code is not known: {reason}"] = None
        return f"{distribution_of(entry.distribution)} {code.digest}"


def _named_in(text: str) -> Iterator[tuple[str, Spec]]:
    """Give what an option's value may name, with its group."""
    try:
        spec = Spec.parse(text)
    except ConfigError:
        return
    for group in NAMED:
        if registry.entry(group, spec.name) is None:
            continue
        try:
            options = resolved(group, spec)
        except (ConfigError, TypeError, ValueError):
            continue  # it is something else of the same name
        del options
        yield group, spec
        if is_class(spec.name):
            return


def _needed(group: str, thing: Any) -> Spec:
    spec = spec_of(group, thing)
    if spec is None:
        raise ConfigError(
            f"the {group[:-1]} {thing!r} has no specification, which identifies a run. Register"
            " its class, and give its name and options, such as 'easy:backfill=sjf'."
        )
    return spec


@cache
def versions_here() -> dict[str, str]:
    """Return the versions and the sources that results depend on; looked up once a process."""
    return {**versions(), "source": source_digest("cpsched"), "core": load_core().SOURCE_HASH[:16]}


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
