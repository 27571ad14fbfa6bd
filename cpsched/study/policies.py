"""Files of a site's policy (``--policy``), as the packages that know them read and change them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from cpsched.base import registry
from cpsched.base.spec import Spec, options_of
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.mapping import Fitted
    from cpsched.model.system import System
    from cpsched.model.workload import Workload


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
    return [] if kind is None else kind.remarks(dispatcher, fitted.system, fitted.workload)


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
