"""
The file of a site's policy, read and written.

It is TOML; keys are spelled as slurm.conf and sacctmgr spell them
(``docs/background/slurm-model.md``): :data:`~cpsched.slurm.dispatch.policy.TABLES` has them.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cpsched.errors import ConfigError, did_you_mean
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import ABSENT, TABLES, PolicyTable, SlurmPolicy
from cpsched.slurm.dispatch.values import LIST, ValueType, toml_table
from cpsched.util.documents import read_text
from cpsched.util.toml_text import toml_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cpsched.util.models import Model

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
    from cpsched.util.models import Source

    source = Source.of_toml(text, where)
    with source.blamed():
        file = source.read(_file_model())
        policy = SlurmPolicy(
            parameters={
                name: getattr(getattr(file, title), name)
                for title in _OF_PARAMETERS
                for name in source.content.get(title, ())
            },
            licenses=file.licenses,
            **{table.within: _entries(table, getattr(file, table.name)) for table in TABLES},
        )
        for key, message in problems(policy):
            raise ConfigError(message, key=key)
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


@cache
def _file_model() -> Any:
    """Return the model of a policy file; made here, because listing dispatchers reads none."""
    from pydantic import create_model

    from cpsched.util.models import Count, Model, Must, entries_of

    tables: dict[str, Any] = {
        title: (
            _table_model(
                title,
                {
                    name: (own.kind, False)
                    for name, own in PARAMETERS.items()
                    if own.scheduler == scheduler
                },
            ),
            None,
        )
        for title, scheduler in _OF_PARAMETERS.items()
    }
    for table in TABLES:
        entry = _table_model(table.name, {key.name: (key.kind, key.needed) for key in table.keys})
        entries: Any = tuple[entry, ...]  # type: ignore[valid-type]
        tables[table.name] = (Annotated[entries, *entries_of(table.name)], ())
    tables["licenses"] = (Annotated[dict[str, Count], Must("a table")], {})
    return create_model("PolicyFile", __base__=Model, **tables)


def _table_model(name: str, keys: Mapping[str, tuple[ValueType, bool]]) -> Any:
    """Return the model of a table, by the types of its keys and whether they must be there."""
    from pydantic import AfterValidator, create_model

    from cpsched.util.models import Model, Scalar, Texts

    fields: dict[str, Any] = {}
    for key, (kind, needed) in keys.items():
        text: Any = Texts if kind is LIST else Scalar
        value = Annotated[text, AfterValidator(partial(_read, kind))]
        fields[key] = (value, ... if needed else None)
    return create_model(name, __base__=Model, **fields)


def _read(kind: ValueType, value: str | tuple[str, ...]) -> Any:
    """Return what a text, or a list of them, stands for."""
    text = value if isinstance(value, str) else ",".join(value)
    try:
        return kind.read(text)
    except ValueError as error:
        raise ConfigError(f"{text!r} {error}") from None


def _entries(table: PolicyTable, entries: Iterable[Model]) -> Any:
    """Return the entries of a table, by name if they have one."""

    def make(entry: Model) -> Any:
        return table.make(
            lambda key: getattr(entry, key.name) if key.name in entry.model_fields_set else ABSENT
        )

    made = [make(entry) for entry in entries]
    if table.within == "associations":
        return tuple(made)
    named: dict[str, Any] = {}
    for number, thing in enumerate(made, start=1):
        if thing.name in named:
            reason = f"the {table.name} {thing.name!r} is given twice"
            raise ConfigError(reason, key=f"{table.name}[{number}]")
        named[thing.name] = thing
    return named


# --- what is named and must be there --------------------------------------------------------------


def problems(policy: SlurmPolicy) -> Iterator[tuple[str, str]]:
    """Yield the keys that name what is not there, or that contradict others, and why."""
    for number, reservation in enumerate(policy.reservations.values(), start=1):
        if reservation.end <= reservation.start:
            yield f"reservation[{number}].EndTime", "must be after StartTime"
        if not reservation.nodes:
            yield f"reservation[{number}].Nodes", "is empty. Name the nodes of the reservation."
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
            yield (
                key,
                "account, user and partition are those of an earlier association. Keep one.",
            )
        seen.add(identity)
        named, above = ("Account", assoc.account) if assoc.user else ("Parent", assoc.parent)
        yield from _lacking(f"{key}.{named}", [above], parents, "account")
        yield from _lacking(f"{key}.QOS", (*assoc.qos, assoc.default_qos), policy.qos, "QOS")
        at, steps = assoc.account, 0
        while (at := parents.get(at, "")) and steps <= len(parents):
            steps += 1
        if at:
            yield f"{key}.Parent", f"the account {assoc.account!r} is below itself"


def _lacking(
    key: str, names: Iterable[str], there: Iterable[str], what: str
) -> Iterator[tuple[str, str]]:
    """Return which names, '' aside, are not there."""
    there = list(there)
    for name in names:
        if name and name not in there:
            listed, hint = ", ".join(there) or "none", did_you_mean(name, there)
            yield key, f"unknown {what} {name!r}.{hint} Known: {listed}."


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
                yield f"{name} = {toml_value(parameter.kind.shown(value))}  # {parameter.meaning}"
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
