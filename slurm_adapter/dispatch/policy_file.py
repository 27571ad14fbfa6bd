"""
The file of a site's policy, read and written.

It is TOML; keys are spelled as slurm.conf and sacctmgr spell them
(``docs/reference/slurm-policy.md``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import did_you_mean
from cpsched.api.fields import Section, instant, whole
from cpsched.api.fields import parse_amount as amount
from cpsched.api.fields import parse_duration as duration
from cpsched.api.tools import read_text
from slurm_adapter.dispatch.parameters import PARAMETERS, weights
from slurm_adapter.dispatch.policy import LIMITS, Association, Partition, Policy, Qos, Reservation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: KB in a unit of memory of a TRES; sacctmgr writes MB.
_MEMORY = {"": 2**10, "k": 1, "m": 2**10, "g": 2**20, "t": 2**30, "p": 2**40}
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def parse(text: str, *, where: str = "policy") -> Policy:
    """
    Return the policy that a file's text describes.

    Raises
    ------
    ConfigError
        If it is not TOML, a key is unknown, a value is invalid, or a name is not there; names file,
        line and key.
    """
    top = Section.of_text(text, where)
    top.expect("slurm", "SchedulerParameters", "licenses", *_TABLES)
    tables = {name: [read(one) for one in top.tables(name)] for name, read in _TABLES.items()}
    licenses = top.table("licenses")
    policy = Policy(
        parameters={
            **_parameters(top.table("slurm"), scheduler=False),
            **_parameters(top.table("SchedulerParameters"), scheduler=True),
        },
        partitions=_by_name(top, "partition", tables["partition"]),
        qos=_by_name(top, "qos", tables["qos"]),
        associations=tuple(tables["association"]),
        reservations=_by_name(top, "reservation", tables["reservation"]),
        licenses={name: licenses.needed_count(name) for name in licenses.names()},
    )
    _check(policy, top)
    return policy


def load(path: str | Path) -> Policy:
    """
    Return the policy of a file.

    Raises
    ------
    ConfigError
        As :func:`parse`, and if the file cannot be read.
    """
    return parse(read_text(Path(path)), where=str(path))


def _parameters(section: Section, *, scheduler: bool) -> dict[str, Any]:
    known = {name: one for name, one in PARAMETERS.items() if one.scheduler == scheduler}
    section.expect(*known)
    return {name: _parsed(section, name, known[name].parse) for name in section.names()}


def _parsed(section: Section, key: str, read: Callable[[str], Any]) -> Any:
    """Return what a key's value stands for."""
    text = section.scalar(key)
    try:
        return read(text)
    except ValueError as error:
        raise section.error(key, f"is {text!r}, {error}") from None


def tres(text: str) -> dict[str, int]:
    """
    Read ``cpu=100,mem=2T,gres/gpu=4``: amounts by TRES in lower case, memory in KB.

    Raises
    ------
    ValueError
        If it is not of that form.
    """
    found: dict[str, int] = {}
    for item in (part.strip() for part in text.split(",") if part.strip()):
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ValueError(f"{item!r} is not an amount, such as cpu=100")
        name = name.lower()
        try:
            found[name] = amount(value, _MEMORY if name == "mem" else _COUNTS)
        except ValueError as error:
            raise ValueError(f"{item!r} {error}") from None
    return found


_LIMIT_KINDS: Mapping[str, Callable[[str], Any]] = {"tres": tres, "count": whole, "time": duration}


def limit(name: str, text: str) -> Any:
    """
    Return the value of a limit of :data:`LIMITS` as sacctmgr writes it.

    Raises
    ------
    ValueError
        If it is not a value of its kind.
    """
    return _LIMIT_KINDS[LIMITS[name]](text)


def _limits(section: Section) -> dict[str, Any]:
    return {
        name: _parsed(section, name, lambda text, name=name: limit(name, text))  # type: ignore[misc]
        for name in LIMITS
        if name in section
    }


def _names(section: Section, key: str) -> tuple[str, ...]:
    """Return names with commas between, as Slurm lists them."""
    text = section.scalar(key) if key in section else ""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _qos(section: Section) -> Qos:
    section.expect(
        *("Name", "Priority", "UsageFactor", "Preempt", "PreemptMode", "GraceTime", "Flags"),
        *("PreemptExemptTime", *LIMITS),
    )
    exempt = "PreemptExemptTime"
    return Qos(
        name=section.text("Name"),
        priority=section.count("Priority", least=0) or 0,
        usage_factor=_number(section, "UsageFactor", 1.0),
        limits=_limits(section),
        preempt=_names(section, "Preempt"),
        preempt_mode=(section.text("PreemptMode", " ").strip()).upper(),
        grace=section.seconds("GraceTime", least=0) or 0,
        preempt_exempt=_parsed(section, exempt, duration) if exempt in section else None,
        flags=frozenset(_names(section, "Flags")),
    )


def _association(section: Section) -> Association:
    section.expect(
        *("Account", "User", "Partition", "Parent", "Share", "Priority", "QOS", "DefaultQOS"),
        *("RawUsage", *LIMITS),
    )
    return Association(
        account=section.text("Account"),
        user=section.text("User", " ").strip(),
        partition=section.text("Partition", " ").strip(),
        parent=section.text("Parent", " ").strip(),
        shares=_parsed(section, "Share", _shares) if "Share" in section else 1,
        priority=section.count("Priority", least=0) or 0,
        limits=_limits(section),
        qos=_names(section, "QOS"),
        default_qos=section.text("DefaultQOS", " ").strip(),
        usage=_number(section, "RawUsage", 0.0),
    )


def _shares(text: str) -> int | None:
    if text.lower() == "parent":
        return None
    shares = whole(text)
    if shares < 0:
        raise ValueError('must be a whole number from 0 on, or "parent"')
    return shares


def _partition(section: Section) -> Partition:
    section.expect(
        *("PartitionName", "PriorityJobFactor", "TRESBillingWeights", "QOS"),
        *("AllowQos", "DenyQos", "AllowAccounts", "DenyAccounts"),
    )
    factor = section.count("PriorityJobFactor", least=0)
    billing = "TRESBillingWeights"
    return Partition(
        name=section.text("PartitionName"),
        job_factor=1 if factor is None else factor,
        billing=_parsed(section, billing, weights) if billing in section else {},
        qos=section.text("QOS", " ").strip(),
        allow_qos=_names(section, "AllowQos"),
        deny_qos=_names(section, "DenyQos"),
        allow_accounts=_names(section, "AllowAccounts"),
        deny_accounts=_names(section, "DenyAccounts"),
    )


def _reservation(section: Section) -> Reservation:
    section.expect(
        *("ReservationName", "StartTime", "EndTime", "Nodes", "Users", "Accounts", "Flags")
    )
    start, end = (_parsed(section, key, instant)[0] for key in ("StartTime", "EndTime"))
    if end <= start:
        raise section.error("EndTime", "must be after StartTime")
    nodes = section.texts("Nodes")
    if not nodes:
        raise section.error("Nodes", "there are none")
    return Reservation(
        name=section.text("ReservationName"),
        start=start,
        end=end,
        nodes=nodes,
        users=_names(section, "Users"),
        accounts=_names(section, "Accounts"),
        flags=frozenset(_names(section, "Flags")),
    )


_TABLES: Mapping[str, Callable[[Section], Any]] = {
    "partition": _partition,
    "qos": _qos,
    "association": _association,
    "reservation": _reservation,
}


def _number(section: Section, key: str, default: float) -> float:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise ValueError("must be a number from 0 on")
        return value

    return _parsed(section, key, read) if key in section else default


def _by_name(top: Section, table: str, things: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, thing in enumerate(things, start=1):
        if thing.name in found:
            raise top.error(f"{table}[{number}]", f"there is another {table} {thing.name!r}")
        found[thing.name] = thing
    return found


def _check(policy: Policy, top: Section) -> None:
    """Check that what is named is there, once."""

    def known(key: str, names: Iterable[str], there: Iterable[str], what: str) -> None:
        there = list(there)
        for name in names:
            if name not in there:
                hint = did_you_mean(name, there)
                listed = ", ".join(there) or "none"
                raise top.error(key, f"there is no {what} {name!r}; there are: {listed}.{hint}")

    for number, qos in enumerate(policy.qos.values(), start=1):
        known(f"qos[{number}].Preempt", qos.preempt, policy.qos, "QOS")
    for number, part in enumerate(policy.partitions.values(), start=1):
        named = (*part.allow_qos, *part.deny_qos, *((part.qos,) if part.qos else ()))
        known(f"partition[{number}].QOS", named, policy.qos, "QOS")
    accounts = {one.account for one in policy.associations if not one.user}
    seen: set[tuple[str, str, str]] = set()
    for number, one in enumerate(policy.associations, start=1):
        key = f"association[{number}]"
        if (identity := (one.account, one.user, one.partition)) in seen:
            raise top.error(key, "there is another one of the same account, user and partition")
        seen.add(identity)
        above = one.account if one.user else one.parent
        known(
            f"{key}.{'Account' if one.user else 'Parent'}",
            [above] if above else [],
            accounts,
            "account",
        )
        named = (*one.qos, *((one.default_qos,) if one.default_qos else ()))
        known(f"{key}.QOS", named, policy.qos, "QOS")
    _check_tree(policy, top)


def _check_tree(policy: Policy, top: Section) -> None:
    """Check that no account is below itself."""
    above = {one.account: one.parent for one in policy.associations if not one.user}
    for number, one in enumerate(policy.associations, start=1):
        at, steps = one.account, 0
        while above.get(at):
            at, steps = above[at], steps + 1
            if steps > len(above):
                raise top.error(f"association[{number}].Parent", f"{one.account!r} is below itself")


# --- writing -------------------------------------------------------------------------------------


def to_toml(policy: Policy) -> str:
    """Return the text of a file that :func:`parse` reads back to an equal policy."""
    return "\n".join(_lines(policy))


def _lines(policy: Policy) -> Iterator[str]:
    for title, scheduler in (("slurm", False), ("SchedulerParameters", True)):
        own = [name for name in policy.parameters if PARAMETERS[name].scheduler == scheduler]
        if own:
            yield f"[{title}]"
            for name in own:
                parameter, value = PARAMETERS[name], policy.parameters[name]
                yield f"{name} = {toml(_text(parameter.kind, value))}  # {parameter.meaning}"
            yield ""
    if policy.licenses:
        yield "[licenses]"
        yield from (f"{toml(name)} = {count}" for name, count in policy.licenses.items())
        yield ""
    for title, things in (
        ("partition", map(_of_partition, policy.partitions.values())),
        ("qos", map(_of_qos, policy.qos.values())),
        ("association", map(_of_association, policy.associations)),
        ("reservation", map(_of_reservation, policy.reservations.values())),
    ):
        for entries in things:
            yield f"[[{title}]]"
            yield from (
                f"{key} = {toml(value)}" for key, value in entries.items() if value not in ("", ())
            )
            yield ""


def _of_partition(one: Partition) -> dict[str, Any]:
    return {
        "PartitionName": one.name,
        "PriorityJobFactor": one.job_factor,
        "TRESBillingWeights": _text("tres", one.billing),
        "QOS": one.qos,
        "AllowQos": ",".join(one.allow_qos),
        "DenyQos": ",".join(one.deny_qos),
        "AllowAccounts": ",".join(one.allow_accounts),
        "DenyAccounts": ",".join(one.deny_accounts),
    }


def _of_qos(one: Qos) -> dict[str, Any]:
    return {
        "Name": one.name,
        "Priority": one.priority,
        "UsageFactor": one.usage_factor,
        **_of_limits(one.limits),
        "Preempt": ",".join(one.preempt),
        "PreemptMode": one.preempt_mode,
        "GraceTime": one.grace or "",
        "PreemptExemptTime": "" if one.preempt_exempt is None else clock(one.preempt_exempt),
        "Flags": ",".join(sorted(one.flags)),
    }


def _of_association(one: Association) -> dict[str, Any]:
    return {
        "Account": one.account,
        "User": one.user,
        "Partition": one.partition,
        "Parent": one.parent,
        "Share": "parent" if one.shares is None else one.shares,
        "Priority": one.priority or "",
        **_of_limits(one.limits),
        "QOS": ",".join(one.qos),
        "DefaultQOS": one.default_qos,
        "RawUsage": one.usage or "",
    }


def _of_reservation(one: Reservation) -> dict[str, Any]:
    start, end = (datetime.fromtimestamp(at, UTC) for at in (one.start, one.end))
    return {
        "ReservationName": one.name,
        "StartTime": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "EndTime": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Nodes": list(one.nodes),
        "Users": ",".join(one.users),
        "Accounts": ",".join(one.accounts),
        "Flags": ",".join(sorted(one.flags)),
    }


def _of_limits(limits: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Callable[[Any], Any]] = {
        "time": clock,
        "tres": lambda value: _text("limit", value),
        "count": int,
    }
    return {name: shown[LIMITS[name]](value) for name, value in limits.items()}


def clock(seconds: int) -> str:
    """Return seconds as Slurm writes times: ``[days-]hours:minutes:seconds``."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    shown = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{days}-{shown}" if days else shown


def _text(kind: str, value: Any) -> Any:
    """Return a value as slurm.conf has it."""
    if kind == "time":
        return "UNLIMITED" if value >= 2**62 else clock(value)
    if kind == "words":
        return ",".join(sorted(value))
    if isinstance(value, Mapping):
        memory = _memory if kind == "limit" else _weight
        return ",".join(
            f"{name}={memory(amount) if name == 'mem' else amount}"
            for name, amount in value.items()
        )
    return value


def _memory(kilobytes: int) -> str:
    return f"{kilobytes}K"


def _weight(of_megabyte: float) -> str:
    """Return the weight of a MB, or of a GB where that is shorter: 0.1G and not 9.765625e-05."""
    return min(str(of_megabyte), f"{of_megabyte * 2**10}G", key=len)


def toml(value: Any) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else repr(value)
