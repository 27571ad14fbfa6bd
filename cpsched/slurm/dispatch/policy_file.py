"""
The file of a site's policy, read and written.

It is TOML; keys are spelled as slurm.conf and sacctmgr spell them
(``docs/reference/slurm-policy.md``): :data:`~cpsched.slurm.dispatch.policy.TABLES` has them.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import did_you_mean
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import ABSENT, TABLES, PolicyKey, PolicyTable, SlurmPolicy
from cpsched.slurm.dispatch.values import LIST, ValueType, toml, toml_table
from cpsched.util.documents import read_text
from cpsched.util.toml_section import Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The tables of parameters, and whether these are words of ``SchedulerParameters``.
_OF_PARAMETERS = {"slurm": False, "SchedulerParameters": True}


# Nothing changes a policy, and a forecast makes the dispatcher hundreds of times.
@lru_cache(maxsize=4)
def parse(text: str, *, where: str = "policy") -> SlurmPolicy:
    """
    Return the policy that a file's text describes.

    Raises
    ------
    ConfigError
        If it is not TOML, a key is unknown, a value is invalid, or a name is not there; names file,
        line and key.
    """
    top = Section.of_text(text, where)
    top.expect(*_OF_PARAMETERS, "licenses", *(table.name for table in TABLES))
    parameters: dict[str, Any] = {}
    for title, scheduler in _OF_PARAMETERS.items():
        section = top.table(title)
        known = {name: own for name, own in PARAMETERS.items() if own.scheduler == scheduler}
        section.expect(*known)
        parameters |= {name: _value(section, name, known[name].kind) for name in section.names()}
    licenses = top.table("licenses")
    policy = SlurmPolicy(
        parameters=parameters,
        licenses={name: licenses.needed_count(name) for name in licenses.names()},
        **{table.within: _entries(top, table) for table in TABLES},
    )
    for key, message in problems(policy):
        raise top.error(key, message)
    return policy


def load(path: str | Path) -> SlurmPolicy:
    """
    Return the policy of a file.

    Raises
    ------
    ConfigError
        As :func:`parse`, and if the file cannot be read.
    """
    return parse(read_text(Path(path)), where=str(path))


def _value(section: Section, key: str, kind: ValueType) -> Any:
    """Return the value of a key."""
    text = ",".join(section.texts(key)) if kind is LIST else section.scalar(key)
    try:
        return kind.read(text)
    except ValueError as error:
        raise section.error(key, f"is {text!r}, {error}") from None


def _entries(top: Section, table: PolicyTable) -> Any:
    """Return the entries of a table, by name if they have one."""
    entries = []
    for section in top.tables(table.name):
        section.expect(*(key.name for key in table.keys))

        def value(key: PolicyKey, section: Section = section) -> Any:
            there = key.needed or key.name in section
            return _value(section, key.name, key.kind) if there else ABSENT

        entries.append(table.make(value))
    return tuple(entries) if table.within == "associations" else _by_name(top, table.name, entries)


def _by_name(top: Section, table: str, things: Iterable[Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for number, thing in enumerate(things, start=1):
        if thing.name in named:
            raise top.error(f"{table}[{number}]", f"there is another {table} {thing.name!r}")
        named[thing.name] = thing
    return named


# --- what is named and must be there --------------------------------------------------------------


def problems(policy: SlurmPolicy) -> Iterator[tuple[str, str]]:
    """Yield the keys that name what is not there, or that contradict others, and why."""
    for number, reservation in enumerate(policy.reservations.values(), start=1):
        if reservation.end <= reservation.start:
            yield f"reservation[{number}].EndTime", "must be after StartTime"
        if not reservation.nodes:
            yield f"reservation[{number}].Nodes", "there are none"
    for number, qos in enumerate(policy.qos.values(), start=1):
        yield from _lacking(f"qos[{number}].Preempt", qos.preempt, policy.qos, "QOS")
    for number, part in enumerate(policy.partitions.values(), start=1):
        named = (*part.allow_qos, *part.deny_qos, part.qos)
        yield from _lacking(f"partition[{number}].QOS", named, policy.qos, "QOS")
    yield from _of_associations(policy)


def _of_associations(policy: SlurmPolicy) -> Iterator[tuple[str, str]]:
    parents = {assoc.account: assoc.parent for assoc in policy.associations if not assoc.user}
    seen: set[tuple[str, str, str]] = set()
    for number, assoc in enumerate(policy.associations, start=1):
        key = f"association[{number}]"
        if (identity := (assoc.account, assoc.user, assoc.partition)) in seen:
            yield key, "there is another one of the same account, user and partition"
        seen.add(identity)
        named, above = ("Account", assoc.account) if assoc.user else ("Parent", assoc.parent)
        yield from _lacking(f"{key}.{named}", [above], parents, "account")
        yield from _lacking(f"{key}.QOS", (*assoc.qos, assoc.default_qos), policy.qos, "QOS")
        at, steps = assoc.account, 0
        while (at := parents.get(at, "")) and steps <= len(parents):
            steps += 1
        if at:
            yield f"{key}.Parent", f"{assoc.account!r} is below itself"


def _lacking(
    key: str, names: Iterable[str], there: Iterable[str], what: str
) -> Iterator[tuple[str, str]]:
    """Return which names, '' aside, are not there."""
    there = list(there)
    for name in names:
        if name and name not in there:
            listed, hint = ", ".join(there) or "none", did_you_mean(name, there)
            yield key, f"there is no {what} {name!r}; there are: {listed}.{hint}"


# --- writing -------------------------------------------------------------------------------------


def to_toml(policy: SlurmPolicy) -> str:
    """Return the text of a file that :func:`parse` reads back to an equal policy."""
    return "\n".join(_lines(policy))


def _lines(policy: SlurmPolicy) -> Iterator[str]:
    for title, scheduler in _OF_PARAMETERS.items():
        own = [name for name in policy.parameters if PARAMETERS[name].scheduler == scheduler]
        if own:
            yield f"[{title}]"
            for name in own:
                parameter, value = PARAMETERS[name], policy.parameters[name]
                yield f"{name} = {toml(parameter.kind.shown(value))}  # {parameter.meaning}"
            yield ""
    if policy.licenses:
        yield from (*toml_table("[licenses]", policy.licenses), "")
    for table in TABLES:
        for entry in table.of(policy):
            yield from (*toml_table(f"[[{table.name}]]", _keys(table, entry)), "")


def _keys(table: PolicyTable, entry: Any) -> dict[str, Any]:
    """Return the keys of an entry that are not as they are where nothing is said."""
    shown: dict[str, Any] = {}
    for key in table.keys:
        value = getattr(entry, key.field)
        if key.field == "limits":
            value = value.get(key.name, ABSENT)
        if value != key.usual:
            shown[key.name] = key.kind.shown(value)
    return shown
