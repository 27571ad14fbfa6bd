"""Changes of single values of a policy: ``qos.gpu.MaxJobsPU=4``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, did_you_mean
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
        raise ConfigError(f"{kind!r} must be one of: {', '.join(known)}.{hint}", where=text)
    if not name:
        raise ConfigError(f"must be {kind}.NAME.KEY=VALUE", where=text)
    table, field = _TABLES[kind]
    there = [one for one in table.of(policy) if kind != "account" or not one.user]
    found = [one for one in there if getattr(one, field) == name]
    if not found:
        names = list(dict.fromkeys(filter(None, (getattr(one, field) for one in there))))
        listed, hint = ", ".join(names) or "none", did_you_mean(name, names)
        raise ConfigError(f"there is no {kind} {name!r}; there are: {listed}.{hint}", where=text)
    return table, found


def _changed(
    policy: SlurmPolicy, named: tuple[PolicyTable, list[Any]], name: str, text: str
) -> SlurmPolicy:
    """Return a policy in which a key of some entries has a value, or none where it is empty."""
    table, entries = named
    # sacctmgr takes both spellings.
    short = name.replace("PerUser", "PU").replace("PerAccount", "PA")
    key = next((one for one in table.keys if one.name in (name, short)), None)
    if key is None:
        names = [one.name for one in table.keys]
        hint = did_you_mean(name, names)
        if name == "MaxTime":
            hint = " A queue's limit is the machine's: the change max-time QUEUE=TIME."
        raise ValueError(f"there is no such key.{hint}")
    if key.needed and not text:
        raise ValueError("must have a value")
    try:
        value = key.kind.read(text) if text else key.usual
    except ValueError as error:
        raise ValueError(f"is {text!r}, {error}") from None
    found = []
    for one in table.of(policy):
        new = one
        if one in entries and key.field == "limits":
            others = {other: own for other, own in one.limits.items() if other != key.name}
            new = replace(one, limits={**others, **({key.name: value} if text else {})})
        elif one in entries:
            new = replace(one, **{key.field: value})
        found.append(new)
    within: Any = tuple(found) if table is ASSOCIATIONS else {one.name: one for one in found}
    return replace(policy, **{table.within: within})


def _counted(policy: SlurmPolicy, name: str, text: str) -> SlurmPolicy:
    """Return a policy with so many licences of a name, or none where that is empty."""
    others = {one: number for one, number in policy.licenses.items() if one != name}
    return replace(policy, licenses=others | ({name: _LICENSE.read(text)} if text else {}))
