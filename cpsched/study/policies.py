"""Files of a site's policy (``--policy``), as the packages that know them read and change them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.metrics.rejections import core_time
from cpsched.util import registry
from cpsched.util.spec import Spec, options_of
from cpsched.util.words import brief, counted, percent

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from pathlib import Path

    from cpsched.mapping import Fitted
    from cpsched.model.system import System
    from cpsched.model.workload import Labels, Workload


class PolicyFiles(ABC):
    """
    One kind of policy files; an object of it is registered under ``cpsched.policy_files``.

    Attributes
    ----------
    dispatcher
        Name of the dispatcher that follows such a file, which is its option ``policy``.
    """

    dispatcher: str

    @abstractmethod
    def edited(self, policy: Path, edits: Sequence[str]) -> str:
        """
        Return the text of a policy in which some values are others.

        Parameters
        ----------
        edits
            ``KEY=VALUE``, each with a key that has a dot, such as ``qos.gpu.MaxJobsPU=4``.

        Raises
        ------
        ConfigError
            If the policy has no such key, or the value is invalid.
        """

    def remarks(
        self,
        specification: str,  # noqa: ARG002
        system: System,  # noqa: ARG002
        workload: Workload,  # noqa: ARG002
    ) -> list[str]:
        """Return in sentences what a dispatcher's policy does not know about a log."""
        return []


def kind_of(specification: str) -> PolicyFiles | None:
    """Return the kind of policies that a dispatcher follows; None if it follows none."""
    name = Spec.parse(specification).name
    return next((kind for kind in _kinds() if kind.dispatcher == name), None)


def assumed_of(fitted: Fitted, dispatcher: str) -> list[str]:
    """Return in sentences what the site's policy does not know about a log, and what is assumed."""
    kind = kind_of(dispatcher)
    if kind is not None:
        return kind.remarks(dispatcher, fitted.system, fitted.workload)
    return [
        *ignored(fitted.workload, "reservation", (), "run on any nodes, at any time"),
        *ignored(fitted.workload, "licenses", (), "do not wait for them"),
    ]


def ignored(workload: Workload, column: str, known: Container[str], instead: str) -> Iterator[str]:
    """
    Yield a sentence on the jobs that name a reservation or licences nothing here knows.

    Parameters
    ----------
    column
        ``reservation`` or ``licenses``.
    known
        The names that are modelled.
    instead
        What such jobs do in the simulation.
    """
    labels: Labels = getattr(workload, column)
    unknown = {
        code: names
        for code, text in enumerate(labels.values)
        if (names := [name for name in _names_in(text) if name not in known])
    }
    rows = np.flatnonzero(np.isin(labels.codes, list(unknown)))
    if not len(rows):
        return
    time = core_time(workload)
    share = float(time[rows].sum(dtype=np.float64)) / max(float(time.sum(dtype=np.float64)), 1.0)
    names = sorted({name for code in np.unique(labels.codes[rows]) for name in unknown[code]})
    what = {"reservation": "reservations", "licenses": "licences"}[column]
    verb = "names" if len(rows) == 1 else "name"
    yield (
        f"{counted(len(rows), 'job')} ({percent(len(rows) / len(workload), 1)} of the jobs,"
        f" {percent(share, 1)} of the core time) {verb} {what} that are not modelled"
        f" ({brief(', '.join(names), 60)}). Such jobs {instead}."
    )


def _names_in(text: str) -> Iterator[str]:
    """Yield the names in a list like ``matlab:2,ansys``."""
    for part in text.replace("|", ",").split(","):
        name = part.strip().partition(":")[0]
        if name:
            yield name


def needs_policy(dispatcher: str, option: str) -> bool:
    """Whether an option is one of a dispatcher that follows policies, and not of this one."""
    known = [options_of("dispatchers", kind.dispatcher) for kind in _kinds()]
    return kind_of(dispatcher) is None and any(option in options for options in known)


def following(policy: Path | None, base: str | None) -> str:
    """
    Return the dispatcher that a policy, or a specification, asks for.

    Raises
    ------
    ConfigError
        If there is a policy, and no package that reads such files is installed.
    """
    if policy is None:
        return base or "easy"
    kinds = _kinds()
    if not kinds:
        raise ConfigError(
            "no installed package reads policies of sites (cpsched.policy_files)", key="--policy"
        )
    spec = Spec.parse(base or kinds[0].dispatcher)
    options = {**dict(spec.options), "policy": str(policy.absolute())}
    return str(Spec(spec.name, tuple(sorted(options.items()))))


def _kinds() -> list[PolicyFiles]:
    return [registry.load("policy_files", name) for name in registry.names("policy_files")]
