"""Single values of a policy that are otherwise: ``qos.gpu.MaxJobsPU=4``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.documents import read_toml
from cpsched.errors import ConfigError, did_you_mean
from cpsched.slurm import policy_file
from cpsched.slurm.policy_file import toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cpsched.slurm.policy import Policy

#: The tables of a policy by what edits call them: where they are, and by which key of theirs.
_TABLES = {
    "qos": ("qos", "Name"),
    "partition": ("partition", "PartitionName"),
    "account": ("association", "Account"),
    "user": ("association", "User"),
    "reservation": ("reservation", "ReservationName"),
}
_LICENSES = "licenses"


def is_edit(text: str) -> bool:
    """Tell whether ``KEY=VALUE`` is about a part of a policy, and not an option of a dispatcher."""
    return "." in text.partition("=")[0]


def edited(policy: Policy, edits: Iterable[str]) -> Policy:
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
        If one is not of that form, the policy has not what it names, or the value makes no sense.
    """
    for text in edits:
        content = read_toml(policy_file.to_toml(policy))
        place, _, value = (part.strip() for part in text.partition("="))
        table, _, rest = place.partition(".")
        if table == _LICENSES:
            entries, key = [content.setdefault(_LICENSES, {})], rest
        else:
            name, _, key = rest.rpartition(".")
            entries = _entries(content, table, name, text)
        for entry in entries:
            entry.pop(key, None)
            if value:
                entry[key] = int(value) if value.isdigit() else value
        policy = policy_file.parse("\n".join(_lines(content)), where=text)
    return policy


def _entries(content: dict[str, Any], table: str, name: str, text: str) -> list[dict[str, Any]]:
    if table not in _TABLES:
        known = ", ".join((*_TABLES, _LICENSES))
        hint = did_you_mean(table, (*_TABLES, _LICENSES))
        raise ConfigError(f"{table!r} must be one of: {known}.{hint}", where=text)
    section, key = _TABLES[table]
    there = [one for one in content.get(section, []) if table != "account" or not one.get("User")]
    found = [one for one in there if one.get(key) == name]
    if not found:
        names = list(dict.fromkeys(one[key] for one in there if key in one))
        hint = did_you_mean(name, names)
        listed = ", ".join(names) or "none"
        raise ConfigError(f"there is no {table} {name!r}; there are: {listed}.{hint}", where=text)
    return found


def _lines(content: Mapping[str, Any]) -> Iterator[str]:
    for name, value in content.items():
        for entry in value if isinstance(value, list) else [value]:
            yield f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
            yield from (f"{toml(key)} = {toml(one)}" for key, one in entry.items())
