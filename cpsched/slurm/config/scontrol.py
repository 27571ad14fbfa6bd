"""
The output of ``scontrol show config``, ``node``, ``partition``, ``reservation``, ``licenses``.

The same things as in ``slurm.conf``, as the controller has them: records of ``Key=Value``, one a
line (``scontrol -o``) or over several lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.slurm.config.conf import Conf
from cpsched.slurm.config.lines import ConfigLine, Output, Setting, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_CONFIG = re.compile(r"([A-Za-z][\w-]*)\s*=\s?(.*)")
_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][\w:/]*)=")
#: What units of ``scontrol show config`` say nothing that slurm.conf would.
_UNIT = re.compile(r"(-?[0-9]+) (?:sec|usec|min|secs|mins|days|bytes)\b.*")
#: Keys of ``scontrol show node`` by those of slurm.conf that say the same.
_NODE_KEYS = {"cpus": "cputot", "feature": "availablefeatures", "cpueffective": "cpuefctv"}
_RECORDS = ("NodeName", "PartitionName", "ReservationName", "LicenseName")


def read_scontrol(paths: Iterable[Path | Output]) -> Conf:
    """Return the configuration in outputs of ``scontrol show ...``, one or several in a file."""
    paths = list(paths)
    conf = Conf(where=", ".join(map(str, paths)))
    tables = {
        "NodeName": conf.nodes,
        "PartitionName": conf.partitions,
        "ReservationName": conf.reservations,
    }
    licenses: list[str] = []
    for path in paths:
        before = len(conf.parameters) + sum(map(len, tables.values())) + len(licenses)
        text = read_text(path)
        conf.parameters |= _config(text, str(path))
        for entry in _records(text, str(path)):
            kind = entry.name.key
            if kind == "LicenseName":
                licenses.append(f"{entry.name.text}:{entry.text('Total', '0')}")
            else:
                tables[kind].append(_as_conf(entry) if kind == "NodeName" else entry)
        after = len(conf.parameters) + sum(map(len, tables.values())) + len(licenses)
        if after == before and not text.lower().startswith("no "):
            raise ConfigError(
                "is not output of scontrol show config, node, partition, reservation or licenses",
                where=str(path),
            )
    if licenses:
        conf.parameters["licenses"] = Setting(",".join(licenses), "Licenses", conf.where)
    return conf


def _config(text: str, where: str) -> dict[str, Setting]:
    """Read the lines of ``scontrol show config``, up to those of plug-ins below it."""
    parameters: dict[str, Setting] = {}
    began = False
    for number, line in enumerate(text.splitlines(), start=1):
        began |= line.startswith("Configuration data as of")
        if not began or (parameters and not line.strip()):
            began = False
            continue
        match = _CONFIG.fullmatch(line.strip())
        if match is not None and not _is_record(line):
            value = match[2].strip()
            unit = _UNIT.fullmatch(value)
            parameters[match[1].lower()] = Setting(
                unit[1] if unit else value, match[1], where, number
            )
    return parameters


def _is_record(line: str) -> bool:
    return line.startswith(tuple(f"{name}=" for name in _RECORDS))


def _records(text: str, where: str) -> Iterator[ConfigLine]:
    """Yield the records; what is indented goes on with the one before."""
    lines: list[str] = []
    first = 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        begins = _is_record(line)
        if lines and (begins or not line.strip()):
            yield _record(" ".join(lines), where, first)
            lines = []
        if begins:
            first = number
        if begins or (lines and line[:1].isspace()):
            lines.append(line.strip())


def _record(text: str, where: str, line: int) -> ConfigLine:
    """Split a record at its keys: values may have spaces in them (``OS=``, ``Reason=``)."""
    pieces = _KEY.split(text)
    values = {
        key.lower(): Setting(value.strip(), key, where, line)
        for key, value in zip(pieces[1::2], pieces[2::2], strict=True)
    }
    name = values.pop(pieces[1].lower())
    return ConfigLine(name, values)


def _as_conf(entry: ConfigLine) -> ConfigLine:
    """Return a node with the keys of slurm.conf."""
    own = {mine: entry.values[its] for mine, its in _NODE_KEYS.items() if its in entry.values}
    return ConfigLine(entry.name, {**entry.values, **own})
