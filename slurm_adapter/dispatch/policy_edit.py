"""Changes of single values of a policy: ``qos.gpu.MaxJobsPU=4``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError, did_you_mean
from cpsched.api.tools import read_toml
from slurm_adapter.dispatch import policy_file
from slurm_adapter.dispatch.policy import LIMITS
from slurm_adapter.dispatch.policy_file import toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slurm_adapter.dispatch.policy import Policy

#: The tables of a policy by what edits call them: where they are, and by which key of theirs.
_TABLES = {
    "qos": ("qos", "Name"),
    "partition": ("partition", "PartitionName"),
    "account": ("association", "Account"),
    "user": ("association", "User"),
    "reservation": ("reservation", "ReservationName"),
}
_LICENSES = "licenses"
#: Limits of a QOS, and those of associations that they go before.
_ABOVE = (("MaxJobsPU", "MaxJobs"), ("MaxJobsPA", "MaxJobs"), ("GrpJobs", "GrpJobs"))
#: Keys of partitions that are not in the policy.
_IN_SYSTEM = ("PriorityTier", "DefaultTime", "Nodes", "MinNodes", "MaxNodes", "OverSubscribe")


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
        If one is not of that form, the policy has not what it names, or the value is invalid.
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
        try:
            policy = policy_file.parse("\n".join(_lines(content)), where=text)
        except ConfigError as error:
            # Lines and tables refer to a file that does not exist.
            reason = str(error).partition(f"{error.key}: ")[2] or str(error)
            raise ConfigError(elsewhere(key, reason), where=text, key=key) from None
    return policy


def overridden(policy: Policy) -> list[str]:
    """
    Say which limits of associations do not hold jobs of a QOS that has one of the same kind.

    However high that is: see Slurm's page on resource limits.
    """
    found = []
    for qos in policy.qos.values():
        for one in policy.associations:
            pairs = [
                (above, limit)
                for above, limit in _ABOVE
                if above in qos.limits and limit in one.limits
            ]
            both = qos.limits.get("GrpTRES", {}).keys() & one.limits.get("GrpTRES", {}).keys()
            pairs += [(f"GrpTRES={tres}", f"GrpTRES={tres}") for tres in sorted(both)]
            whose = f"user {one.user}" if one.user else f"account {one.account}"
            found += [
                f"{above} of QOS {qos.name} goes before {limit} of {whose}"
                for above, limit in pairs
            ]
    return found


def elsewhere(key: str, reason: str) -> str:
    """Return why a key is refused; where it is set if it is one of Slurm's but not known here."""
    if "no such" not in reason:
        return reason
    if key in LIMITS:
        return f"it is a limit: set qos.NAME.{key}, account.NAME.{key} or user.NAME.{key}"
    if key == "MaxTime":
        return "use the change max-time PARTITION=H:MM:SS"
    if key in _IN_SYSTEM:
        return "it is a key of partitions in the system file"
    return reason


def _entries(content: dict[str, Any], table: str, name: str, text: str) -> list[dict[str, Any]]:
    if table not in _TABLES:
        known = (*_TABLES, _LICENSES)
        named = [
            kind
            for kind, (section, called) in _TABLES.items()
            if any(one.get(called) == table for one in content.get(section, []))
        ]
        hint = f" Did you mean '{named[0]}.{text}'?" if named else did_you_mean(table, known)
        raise ConfigError(f"{table!r} must be one of: {', '.join(known)}.{hint}", where=text)
    if not name:
        raise ConfigError(f"must be {table}.NAME.KEY=VALUE", where=text)
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
