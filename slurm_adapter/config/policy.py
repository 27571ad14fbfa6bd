"""A site's configuration, QOS and associations as a policy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cpsched.api.fields import instant
from slurm_adapter.dispatch.parameters import PARAMETERS, weights
from slurm_adapter.dispatch.policy import Association, Partition, Policy, Qos, Reservation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slurm_adapter.config.conf import Conf, Entry, Value
    from slurm_adapter.dispatch.parameters import Parameter

_ALL = ("ALL", "(NULL)", "N/A", "NONE", "")
_LICENSE = re.compile(r"([^:=,]+?)(?:[:=]([0-9]+))?")
_SCHEDULER = "SchedulerParameters"
#: Words of SchedulerParameters by what they are called now.
_RENAMED = {"max_job_bf": "bf_max_job_test", "bf_res": "bf_resolution"}


@dataclass(slots=True)
class Imported:
    """
    A policy, and what of the configuration is not in it.

    Attributes
    ----------
    words
        Values of parameters that are not modelled, by the parameter.
    undescribed
        QOS and licences that something names and nothing describes, by what names them.
    """

    policy: Policy
    words: dict[str, list[str]] = field(default_factory=dict)
    undescribed: dict[str, list[str]] = field(default_factory=dict)


def policy_of(conf: Conf, qos: Mapping[str, Qos], associations: Sequence[Association]) -> Imported:
    """
    Return the policy that a configuration describes.

    Raises
    ------
    ConfigError
        If a value makes no sense; names file, line and key.
    """
    found = Imported(Policy())
    parameters = _parameters(conf, found)
    partitions = {
        name: replace(one, name=name)
        for entry in conf.partitions
        if (one := _partition(entry))
        for name in entry.name.text.split(",")
    }
    qos = _described(qos, partitions.values(), associations, found)
    found.policy = Policy(
        parameters=parameters,
        partitions=partitions,
        qos=qos,
        associations=_rooted(associations),
        reservations={one.name: one for one in map(_reservation, conf.reservations) if one},
        licenses=_licenses(conf, found),
    )
    return found


def _parameters(conf: Conf, found: Imported) -> dict[str, object]:
    """Return the values of parameters that are modelled."""
    parameters: dict[str, object] = {}
    for name, parameter in PARAMETERS.items():
        if not parameter.scheduler and conf.text(name):
            _read(parameter, conf.parameters[name.lower()], parameters, found)
    # Slurm enforces nothing unless it is told to.
    parameters.setdefault("AccountingStorageEnforce", frozenset({"none"}))
    listed = conf.parameters.get(_SCHEDULER.lower())
    known = {name.lower(): one for name, one in PARAMETERS.items() if one.scheduler}
    for word in conf.words(_SCHEDULER):
        key, _, text = word.partition("=")
        key = _RENAMED.get(key.lower(), key.lower())
        if key in known and listed is not None:
            value = replace(listed, text=text.strip(), key=f"{_SCHEDULER} {key}")
            _read(known[key], value, parameters, found)
        else:
            found.words.setdefault(_SCHEDULER, []).append(word)
    return parameters


def _read(
    parameter: Parameter, value: Value, parameters: dict[str, object], found: Imported
) -> None:
    """Read a value; choices that are not modelled are noted, not refused."""
    text = value.text
    if parameter.kind in ("choice", "words") and parameter.choices:
        known = {choice.lower() for choice in parameter.choices}
        words = [word.strip() for word in text.split(",") if word.strip()]
        unknown = [word for word in words if word.lower() not in known]
        if unknown:
            found.words.setdefault(parameter.name, []).extend(unknown)
            text = ",".join(word for word in words if word not in unknown)
            if not text:
                return
    if parameter.kind == "time" and text == "-1":
        return  # not set
    parameters[parameter.name] = replace(value, text=text).read(parameter.parse)


def _partition(entry: Entry) -> Partition:
    billing = entry.values.get("tresbillingweights")
    return Partition(
        name=entry.name.text,
        job_factor=entry.number("PriorityJobFactor", entry.number("Priority", 1)),
        billing=billing.read(weights) if billing and entry.text("TRESBillingWeights") else {},
        qos=entry.text("QOS"),
        allow_qos=listed(entry, "AllowQos"),
        deny_qos=listed(entry, "DenyQos"),
        allow_accounts=listed(entry, "AllowAccounts"),
        deny_accounts=listed(entry, "DenyAccounts"),
    )


def listed(entry: Entry, key: str) -> tuple[str, ...]:
    """Return names with commas between, none for ``ALL``."""
    text = entry.text(key)
    if text.upper() in _ALL:
        return ()
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _described(
    qos: Mapping[str, Qos],
    partitions: Iterable[Partition],
    associations: Iterable[Association],
    found: Imported,
) -> dict[str, Qos]:
    """Return the QOS, with those without limits that are named and not described."""
    described = dict(qos)
    named: dict[str, str] = {}
    for partition in partitions:
        for name in (partition.qos, *partition.allow_qos, *partition.deny_qos):
            named.setdefault(name, f"partition {partition.name}")
    for one in associations:
        for name in (*one.qos, one.default_qos):
            named.setdefault(name, f"account {one.account}")
    for name, where in named.items():
        if name and name not in described:
            described[name] = Qos(name=name)
            found.undescribed.setdefault("QOS", []).append(f"{name} ({where})")
    return described


def _rooted(associations: Sequence[Association]) -> tuple[Association, ...]:
    """Return associations whose accounts and parents are all there."""
    if not associations:
        return ()
    accounts = {one.account for one in associations if not one.user}
    needed = dict.fromkeys(
        ("root", *(one.account for one in associations), *(one.parent for one in associations))
    )
    made = tuple(
        Association(account=name, parent="" if name == "root" else "root")
        for name in needed
        if name and name not in accounts
    )
    return (*made, *associations)


def _reservation(entry: Entry) -> Reservation | None:
    """Return a reservation of nodes; None of one of licences alone."""
    if not entry.text("Nodes"):
        return None
    start, end = (entry.values[key].read(instant)[0] for key in ("starttime", "endtime"))
    return Reservation(
        name=entry.name.text,
        start=start,
        end=end,
        nodes=entry.hosts("Nodes"),
        users=listed(entry, "Users"),
        accounts=listed(entry, "Accounts"),
        flags=frozenset(listed(entry, "Flags")),
    )


def _licenses(conf: Conf, found: Imported) -> dict[str, int]:
    licenses: dict[str, int] = {}
    for item in conf.words("Licenses"):
        match = _LICENSE.fullmatch(item)
        if match is None:
            raise conf.parameters["licenses"].error(f"has {item!r}, not of the form matlab:4")
        if count := int(match[2] or 1):
            licenses[match[1].strip()] = count
    if any("@" in name for name in licenses):
        found.undescribed["licences"] = [name for name in licenses if "@" in name]
    return licenses
