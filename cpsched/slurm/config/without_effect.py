"""What a policy file says and no simulation follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.slurm.config.inventory import (
    QOS_FLAGS,
    RESERVATION_FLAGS,
    SCHEDULER,
    SLURM_CONF,
    UNENFORCED,
    WORDS,
    Fate,
)
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import LIMITS
from cpsched.slurm.dispatch.tres import resources_of
from cpsched.slurm.dispatch.values import TRES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from cpsched.slurm.config.inventory import Inventory
    from cpsched.slurm.dispatch.policy import SlurmPolicy

#: TRES that are limited whatever the nodes have.
ALWAYS_LIMITED = ("cpu", "node", "billing")


def lacking(names: Iterable[str], resources: Sequence[str]) -> list[str]:
    """Return the TRES that count none of a system's resources."""
    return [one for one in names if one not in ALWAYS_LIMITED and not resources_of(one, resources)]


def without_effect(policy: SlurmPolicy, resources: Sequence[str]) -> list[str]:
    """
    Return what of a policy has no effect in a simulation, as the file has it.

    Parameters
    ----------
    resources
        Those of the system, as it names them.
    """
    found = [*_parameters(policy), *_flags(policy)]
    holders = [one.limits for one in policy.qos.values()]
    holders += [one.limits for one in policy.associations]
    found += _limits(holders, resources)
    return list(dict.fromkeys(found))


def _parameters(policy: SlurmPolicy) -> Iterator[str]:
    for name, value in policy.parameters.items():
        one = PARAMETERS[name]
        if name in WORDS:
            words = value if isinstance(value, frozenset) else ()
            yield from (f"{name}={word}" for word in _lost(sorted(words), WORDS[name]))
        elif value != one.default:
            inventory = SCHEDULER if one.scheduler else SLURM_CONF
            if inventory.of(name).fate is Fate.REPORTED:
                yield name


def _flags(policy: SlurmPolicy) -> Iterator[str]:
    for kind, entries, inventory in (
        ("QOS", policy.qos.values(), QOS_FLAGS),
        ("reservation", policy.reservations.values(), RESERVATION_FLAGS),
    ):
        for entry in entries:
            for flag in _lost(sorted(entry.flags), inventory):
                yield f"{flag} of {kind} {entry.name}"


def _lost(words: Iterable[str], inventory: Inventory) -> list[str]:
    return [word for word in words if word and inventory.is_lost(word, "yes")]


def _limits(holders: Iterable[Mapping[str, Any]], resources: Sequence[str]) -> Iterator[str]:
    for limits in holders:
        for name, value in limits.items():
            if name in UNENFORCED:
                yield name
            elif LIMITS[name] is TRES:
                yield from (f"{name} of {tres}" for tres in lacking(value, resources))
