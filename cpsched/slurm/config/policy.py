"""A site's configuration, QOS and associations as a policy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cpsched.slurm.config.inventory import WORDS
from cpsched.slurm.config.lines import ConfigLine
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import (
    ABSENT,
    PARTITIONS,
    RESERVATIONS,
    Association,
    Partition,
    Qos,
    SlurmPolicy,
    SlurmReservation,
)
from cpsched.slurm.dispatch.values import FLAG, TIME, names
from cpsched.util.slurm_quantities import flag, seconds, whole_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cpsched.slurm.config.accounts import IgnoredCell
    from cpsched.slurm.config.conf import Conf
    from cpsched.slurm.config.lines import Setting
    from cpsched.slurm.dispatch.parameters import Parameter
    from cpsched.slurm.dispatch.policy import PolicyKey

_ALL = ("ALL", "(NULL)", "N/A", "NONE", "")
_LICENSE = re.compile(r"([^:=*,]+?)(?:[:=*]([0-9]+))?")
_SCHEDULER = "SchedulerParameters"
#: Words of SchedulerParameters by what they are called now.
_RENAMED = {"max_job_bf": "bf_max_job_test", "bf_res": "bf_resolution"}
#: Words of PreemptParameters by the older words of SchedulerParameters that say the same.
_PREEMPT = "PreemptParameters"
_OLDER = {
    "youngest_first": "preempt_youngest_first",
    "strict_order": "preempt_strict_order",
    "reorder_count": "preempt_reorder_count",
}
#: Words of other lists by those that say the same.
_SAME = {
    "AccountingStorageEnforce": {"0": "none", "1": "associations", "2": "limits"},
    "PriorityFlags": {"depth_oblivious": "NO_FAIR_TREE"},
}
#: Digits at the beginning of a text, which is what ``atoi`` reads.
_DIGITS = re.compile(r"\s*([+-]?[0-9]+)(.*)")


@dataclass(slots=True)
class ImportedPolicy:
    """
    A policy, and what of the configuration is not in it.

    Attributes
    ----------
    words
        Values of parameters with a choice of values, where they are not modelled, by the parameter.
    undescribed
        QOS that something names and nothing describes, with what names them.
    ignored
        Cells of tables of sacctmgr that no reader takes.
    notes
        What was taken in another way than it may look, one sentence each.
    """

    policy: SlurmPolicy
    words: dict[str, list[str]] = field(default_factory=dict)
    undescribed: list[str] = field(default_factory=list)
    ignored: list[IgnoredCell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def policy_of(
    conf: Conf, qos: Mapping[str, Qos], associations: Sequence[Association]
) -> ImportedPolicy:
    """Return the policy that a configuration describes."""
    imported = ImportedPolicy(SlurmPolicy())
    parameters = _parameters(conf, imported)
    partitions = {
        name: replace(partition, name=name)
        for partition in map(_partition, conf.partitions)
        for name in partition.name.split(",")
    }
    reservations = filter(None, map(_reservation, conf.reservations))
    qos = _described(qos, partitions.values(), associations, imported)
    imported.policy = SlurmPolicy(
        parameters=parameters,
        partitions=partitions,
        qos=qos,
        associations=_rooted(associations),
        reservations={reservation.name: reservation for reservation in reservations},
        licenses=_licenses(conf),
    )
    return imported


def _parameters(conf: Conf, imported: ImportedPolicy) -> dict[str, object]:
    """Return the values of parameters that are modelled."""
    parameters: dict[str, object] = {}
    for name, parameter in PARAMETERS.items():
        if not parameter.scheduler and conf.text(name):
            _read(parameter, conf.parameters[name.lower()], parameters, imported)
    # Slurm enforces nothing unless it is told to.
    parameters.setdefault("AccountingStorageEnforce", frozenset({"none"}))
    known = {name.lower(): entry for name, entry in PARAMETERS.items() if entry.scheduler}
    for title, renamed in ((_SCHEDULER, _RENAMED), (_PREEMPT, _OLDER)):
        for word in conf.words(title):
            key, _, text = word.partition("=")
            key = renamed.get(key.strip().lower(), key.strip().lower())
            if key in known:
                value = replace(
                    conf.parameters[title.lower()], text=text.strip(), key=f"{title} {key}"
                )
                taken = _as_slurm_reads(known[key], value, imported)
                if taken is not None:
                    _read(known[key], taken, parameters, imported)
    return parameters


def _as_slurm_reads(
    parameter: Parameter, value: Setting, imported: ImportedPolicy
) -> Setting | None:
    """
    Return the value of a word as Slurm takes it; None if it keeps its default.

    A flag is on if it is named. A number ends at what is no digit, and has bounds.
    """
    if parameter.kind is FLAG:
        if value.text and not value.read(parameter.kind.read):
            imported.notes.append(
                f"{value.key}={value.text} is on, because Slurm ignores the value of this word"
            )
        return replace(value, text="yes")
    match = _DIGITS.fullmatch(value.text)
    if match is None:
        return value
    if match[2]:
        imported.notes.append(
            f"{value.key}={value.text} counts as {match[1]}, because Slurm reads the digits only"
        )
    number = str(int(match[1]))
    try:
        parameter.kind.read(number)
    except ValueError:
        imported.notes.append(
            f"{value.key}={value.text} is out of bounds, so Slurm keeps its default,"
            f" {parameter.default}"
        )
        return None
    return replace(value, text=number)


def _read(
    parameter: Parameter, value: Setting, parameters: dict[str, object], imported: ImportedPolicy
) -> None:
    """Read a value; choices that are not modelled are noted, not refused."""
    text = value.text
    if parameter.kind.choices:
        known = {choice.lower() for choice in parameter.kind.choices}
        same = _SAME.get(parameter.name, {})
        words = [same.get(word.lower(), word) for word in names(text)]
        unknown = [word for word in words if word.lower() not in known]
        if unknown and parameter.name not in WORDS:
            imported.words.setdefault(parameter.name, []).extend(unknown)
        text = ",".join(dict.fromkeys(word for word in words if word not in unknown))
        if not text:
            return
    if parameter.kind is TIME and text == "-1":
        return  # not set
    parameters[parameter.name] = replace(value, text=text).read(_reader(parameter))


def _reader(parameter: Parameter) -> Callable[[str], Any]:
    """Return the reader of a value of slurm.conf, which takes less than a policy file."""
    if parameter.kind is TIME:
        return seconds if parameter.name == "PreemptExemptTime" else whole_minutes
    return flag if parameter.kind is FLAG and not parameter.scheduler else parameter.kind.read


def _partition(entry: ConfigLine) -> Partition:
    if not entry.text("PriorityJobFactor") and entry.text("Priority"):
        entry = ConfigLine(
            entry.name, {**entry.values, "priorityjobfactor": entry.values["priority"]}
        )
    partition: Partition = PARTITIONS.make(partial(_value, entry))
    return partition


def _value(entry: ConfigLine, key: PolicyKey) -> Any:
    """Return the value of a key of an entry; names are none for ``ALL``."""
    if key.field == "name":
        return entry.name.text
    of_all = entry.text(key.name).upper() in _ALL
    value = ABSENT if of_all else entry.value(key)
    if value is ABSENT and key.needed:
        raise entry.name.error(f"has no {key.name}. Add {key.name}=VALUE to the line.")
    return value


def _described(
    qos: Mapping[str, Qos],
    partitions: Iterable[Partition],
    associations: Iterable[Association],
    imported: ImportedPolicy,
) -> dict[str, Qos]:
    """Return the QOS, with those without limits that are named and not described."""
    described = dict(qos)
    named: dict[str, str] = {}
    for partition in partitions:
        for name in (partition.qos, *partition.allow_qos, *partition.deny_qos):
            named.setdefault(name, f"partition {partition.name}")
    for assoc in associations:
        for name in (*assoc.qos, assoc.default_qos):
            named.setdefault(name, f"account {assoc.account}")
    for name, where in named.items():
        if name and name not in described:
            described[name] = Qos(name=name)
            imported.undescribed.append(f"{name} ({where})")
    return described


def _rooted(associations: Sequence[Association]) -> tuple[Association, ...]:
    """Return associations whose accounts and parents are all there."""
    if not associations:
        return ()
    accounts = {assoc.account for assoc in associations if not assoc.user}
    needed = dict.fromkeys(
        (
            "root",
            *(assoc.account for assoc in associations),
            *(assoc.parent for assoc in associations),
        )
    )
    made = tuple(
        Association(account=name, parent="" if name == "root" else "root")
        for name in needed
        if name and name not in accounts
    )
    return (*made, *associations)


def _reservation(entry: ConfigLine) -> SlurmReservation | None:
    """Return a reservation of nodes; None of one of licences alone."""
    if not entry.text("Nodes"):
        return None
    reservation: SlurmReservation = RESERVATIONS.make(partial(_value, entry))
    return reservation


def _licenses(conf: Conf) -> dict[str, int]:
    licenses: dict[str, int] = {}
    for item in conf.words("Licenses"):
        match = _LICENSE.fullmatch(item)
        if match is None:
            raise conf.parameters["licenses"].error(f"has {item!r}, which is not like matlab:4")
        if count := int(match[2] or 1):
            licenses[match[1].strip()] = count
    return licenses
