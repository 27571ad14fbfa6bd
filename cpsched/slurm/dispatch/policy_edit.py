"""Changes of single values of a policy: ``qos.gpu.MaxJobsPU=4``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, did_you_mean, instead_of
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.policy import (
    ASSOCIATIONS,
    PARTITIONS,
    QOS,
    RESERVATIONS,
    PolicyTable,
    SlurmPolicy,
)
from cpsched.slurm.dispatch.values import count

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What-if changes of what the system file has of a partition, by Slurm's key of it.
QUEUE_CHANGES = {
    "DefaultTime": "default-time",
    "MaxTime": "max-time",
    "PriorityTier": "priority-tier",
}
#: The tables of a policy by what edits call them, and by which attribute entries are named.
_TABLES = {
    "qos": (QOS, "name"),
    "partition": (PARTITIONS, "name"),
    "account": (ASSOCIATIONS, "account"),
    "user": (ASSOCIATIONS, "user"),
    "reservation": (RESERVATIONS, "name"),
}
_LICENSES, _LICENSE = "licenses", count(1)


def edited(policy: SlurmPolicy, edits: Iterable[str]) -> SlurmPolicy:
    """
    Return a policy in which some values are others.

    Parameters
    ----------
    edits
        ``TABLE.NAME.KEY=VALUE``: ``qos``, ``partition``, ``account``, ``user`` (in all accounts) or
        ``reservation``, and keys as in the policy file; or ``licenses.NAME=COUNT``. An empty value
        takes a key away.

    Raises
    ------
    ConfigError
        If one is not of that form, the policy has not what it names, or the value is invalid.
    """
    for text in edits:
        place, _, value = (part.strip() for part in text.partition("="))
        table, _, rest = place.partition(".")
        name, _, key = rest.rpartition(".")
        named = None if table == _LICENSES else _named(policy, table, name, text)
        try:
            policy = _changed(policy, named, key, value) if named else _counted(policy, rest, value)
        except ValueError as error:
            raise ConfigError(str(error), where=text, key=key) from None
        for _, message in policy_file.problems(policy):
            raise ConfigError(message, where=text, key=key)
    return policy


def _named(policy: SlurmPolicy, kind: str, name: str, text: str) -> tuple[PolicyTable, list[Any]]:
    """Return the table of an edit and those of its entries that it names."""
    if kind not in _TABLES:
        known = (*_TABLES, _LICENSES)
        hint = did_you_mean(kind, known)
        raise ConfigError(f"unknown table {kind!r}.{hint} Tables: {', '.join(known)}.", where=text)
    if not name:
        raise ConfigError(
            f"the name or the key is missing. Write {kind}.NAME.KEY=VALUE.", where=text
        )
    table, field = _TABLES[kind]
    there = [entry for entry in table.of(policy) if kind != "account" or not entry.user]
    entries = [entry for entry in there if getattr(entry, field) == name]
    if not entries:
        names = list(dict.fromkeys(filter(None, (getattr(entry, field) for entry in there))))
        listed, hint = ", ".join(names) or "none", did_you_mean(name, names)
        raise ConfigError(f"unknown {kind} {name!r}.{hint} Known: {listed}.", where=text)
    return table, entries


def _changed(
    policy: SlurmPolicy, named: tuple[PolicyTable, list[Any]], name: str, text: str
) -> SlurmPolicy:
    """Return a policy in which a key of some entries has a value, or none where it is empty."""
    table, entries = named
    # sacctmgr takes both spellings.
    short = name.replace("PerUser", "PU").replace("PerAccount", "PA")
    key = next((candidate for candidate in table.keys if candidate.name in (name, short)), None)
    if key is None:
        names = [candidate.name for candidate in table.keys]
        there = instead_of(name, names, "Keys")
        if name in QUEUE_CHANGES:
            change = f"{QUEUE_CHANGES[name]} QUEUE=VALUE"
            there = f". The system file has it for each queue: use --change '{change}'."
        raise ValueError(f"unknown key{there}")
    if key.needed and not text:
        raise ValueError("the value is missing. Write KEY=VALUE.")
    try:
        value = key.kind.read(text) if text else key.usual
    except ValueError as error:
        raise ValueError(f"{text!r} {error}") from None
    changed = []
    for entry in table.of(policy):
        new = entry
        if entry in entries and key.field == "limits":
            others = {other: own for other, own in entry.limits.items() if other != key.name}
            new = replace(entry, limits={**others, **({key.name: value} if text else {})})
        elif entry in entries:
            new = replace(entry, **{key.field: value})
        changed.append(new)
    within: Any = (
        tuple(changed) if table is ASSOCIATIONS else {entry.name: entry for entry in changed}
    )
    return replace(policy, **{table.within: within})


def _counted(policy: SlurmPolicy, name: str, text: str) -> SlurmPolicy:
    """Return a policy with so many licences of a name, or none where that is empty."""
    others = {licence: number for licence, number in policy.licenses.items() if licence != name}
    return replace(policy, licenses=others | ({name: _LICENSE.read(text)} if text else {}))
