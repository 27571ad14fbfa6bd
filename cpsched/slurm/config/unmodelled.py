"""
What of a site's configuration no simulation here follows, by name, and the jobs it touches.

Each :class:`Gap` says what is simulated instead. Those that are about jobs have a test of a job,
and with an accounting log are counted in jobs, core-hours and GPU-hours; a gap that only jobs show
(heterogeneous jobs, counts of features) is listed if there are any, and so are options and columns
of jobs (:mod:`cpsched.logs.sacct.gaps`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from cpsched.errors import did_you_mean
from cpsched.logs.sacct.as_json import json_rows
from cpsched.logs.sacct.command import options_of
from cpsched.logs.sacct.gaps import gaps_of
from cpsched.logs.sacct.lines import SacctLines
from cpsched.logs.sacct.request import GRES
from cpsched.slurm.config.inventory import (
    DOWN_NODES,
    NO_LIMIT,
    NODE,
    NODE_SET,
    NOTHING,
    PARTITION,
    RESERVATION,
    RESERVATION_FLAGS,
    SLURM_CONF,
    WORDS,
    Fate,
)
from cpsched.slurm.config.machine import oversubscribe
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.util.node_lists import compress
from cpsched.util.slurm_quantities import amount, elapsed
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping
    from pathlib import Path

    from cpsched.errors import TraceError
    from cpsched.slurm.config.conf import Conf
    from cpsched.slurm.config.inventory import Inventory
    from cpsched.slurm.config.machine import Machine
    from cpsched.slurm.config.policy import Imported

_COUNTED = re.compile(r"\*[0-9]|\[")
_CPUS = re.compile(r"(?:^|,)cpu=([^,]+)")
_GPUS = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=([^,]+)")
#: A profile of a multi-instance GPU, as Slurm names its type: ``1g.5gb``, ``a100_3g.20gb``.
_MIG = re.compile(r"[0-9]+g\.[0-9]+gb")


class Job:
    """A line of sacct, as gaps look at it."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def text(self, name: str) -> str:
        """Return a column by its name in lower case."""
        return self.values.get(name, "")

    @cached_property
    def options(self) -> Mapping[str, str]:
        """Options of the command that submitted it."""
        component = self.text("jobid").partition("+")[2]
        return options_of(self.values, int(component) if component.isdecimal() else 0)

    @cached_property
    def partitions(self) -> frozenset[str]:
        """Partitions it named."""
        return frozenset(self.text("partition").split(",")) - {""}

    @cached_property
    def gres(self) -> frozenset[str]:
        """Generic resources it asked for: ``shard``, ``gpu:v100``."""
        named = ("gpus", "gpus-per-node", "gpus-per-task")
        asked = [self.text("reqtres"), self.options.get("gres", "")]
        asked += [f"gpu:{self.options[name]}" for name in named if name in self.options]
        items = ",".join(asked).replace("=", ":").split(",")
        found = (match for item in items if (match := GRES.fullmatch(item)))
        return frozenset(f"{one[1]}:{one[2]}".lower() if one[2] else one[1] for one in found)

    @property
    def core_seconds(self) -> int:
        """CPUs it had times seconds; 0 where the columns do not say them."""
        match = _CPUS.search(self.text("alloctres"))
        cpus = match[1] if match else self.text("alloccpus") or self.text("ncpus")
        return self._seconds * _or_none(amount, cpus)

    @property
    def gpu_seconds(self) -> int:
        """GPUs it had times seconds; 0 where the columns do not say them."""
        found = _GPUS.findall(self.text("alloctres") or self.text("reqtres"))
        # Types are part of the total, if that is given.
        totals = [_or_none(amount, count) for kind, count in found if not kind]
        return self._seconds * sum(totals or (_or_none(amount, count) for _, count in found))

    @property
    def _seconds(self) -> int:
        return _or_none(elapsed, self.text("elapsedraw") or self.text("elapsed"))


def _or_none(read: Callable[[str], int], text: str) -> int:
    """Return what a column says, 0 where it is empty or cannot be read: the log's reader tells."""
    try:
        return read(text)
    except ValueError:
        return 0


@dataclass(slots=True)
class Gap:
    """
    Something that is not modelled.

    Attributes
    ----------
    name
        As Slurm calls it, with the values.
    instead
        What is simulated.
    touches
        Whether it matters to a job; None: that cannot be told from a log.
    jobs, core_seconds, gpu_seconds
        How much of a log it touches.
    """

    name: str
    instead: str
    touches: Callable[[Job], bool] | None = None
    jobs: int = 0
    core_seconds: int = 0
    gpu_seconds: int = 0

    def add(self, job: Job) -> None:
        """Count a job."""
        self.jobs += 1
        self.core_seconds += job.core_seconds
        self.gpu_seconds += job.gpu_seconds


@dataclass(slots=True)
class Touched:
    """A log, for shares of it: ``whole`` counts all of it."""

    whole: Gap = field(default_factory=lambda: Gap("", ""))
    bad: int = 0
    gaps: list[Gap] = field(default_factory=list)


def count(
    log: Path, gaps: Iterable[Gap], hidden: Iterable[Gap], reservations: Container[str] = ()
) -> Touched:
    """
    Count the jobs of a log that gaps touch; hidden gaps are listed if they touch any.

    Parameters
    ----------
    reservations
        Names of those in the configuration: others are listed with their jobs.
    """
    found = Touched()

    def bad(_: TraceError) -> None:
        found.bad += 1

    shown, hidden = list(gaps), list(hidden)
    of_rows: dict[tuple[str, str], Gap] = {}
    # Steps are not jobs.
    rows = json_rows(log) or SacctLines(log, bad).rows()
    for job in (Job(row.values) for row in rows if not row.is_step):
        found.whole.add(job)
        for gap in (*shown, *hidden):
            if gap.touches is not None and gap.touches(job):
                gap.add(job)
        unknown = _unknown_reservations(job, reservations)
        for name, instead in (*gaps_of(job.values, job.options), *unknown):
            gap = of_rows.setdefault((name, instead), Gap(name, instead, _counted))
            gap.add(job)
    listed = sorted(of_rows.values(), key=lambda gap: (-gap.jobs, gap.name))
    found.gaps = [*shown, *(gap for gap in hidden if gap.jobs), *listed]
    return found


def of_site(machine: Machine, imported: Imported) -> list[Gap]:
    """Return what of a configuration is not modelled."""
    conf = machine.conf
    gaps = [*_of_parameters(conf, imported), *_of_partitions(conf), *_of_nodes(machine)]
    gaps += [*_of_lines(conf), *_of_reservations(conf)]
    if imported.undescribed:
        instead = "without limits and priority: they are named, but not described (--qos)"
        gaps.append(Gap(f"QOS {few(imported.undescribed)}", instead))
    return gaps


def _of_parameters(conf: Conf, imported: Imported) -> Iterator[Gap]:
    for name, words in imported.words.items():
        yield Gap(f"{name}={few(words)}", f"{PARAMETERS[name].default} instead")
    for name, inventory in WORDS.items():
        yield from of_words(name, conf.words(name), inventory)
    for key, value in conf.parameters.items():
        if SLURM_CONF.is_lost(key, value.text):
            yield Gap(
                f"{value.key}={brief(value.text)}", _instead(SLURM_CONF, key), _TOUCHES.get(key)
            )
    if conf.text("SuspendProgram") and conf.text("SuspendTime").lower() not in (
        *NOTHING,
        *NO_LIMIT,
    ):
        yield Gap("power saving (SuspendTime, ResumeTimeout)", "nodes are always on")


def of_words(
    title: str, words: Iterable[str], inventory: Inventory, *, apart: bool = False
) -> Iterator[Gap]:
    """
    Yield the words of a list that have no effect, together where the same is simulated.

    ``apart``: each word alone.
    """
    by_instead: dict[str, list[str]] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        # A word alone is on; one with a value may say what is simulated anyway.
        if inventory.is_lost(name, text if equals else "yes") and name.lower() not in NOTHING:
            own = name.lower() if apart or name.lower() in _TOUCHES else ""
            key = f"{own} {_instead(inventory, name)}"
            by_instead.setdefault(key, []).append(word)
    for key, alike in by_instead.items():
        name, _, instead = key.partition(" ")
        yield Gap(f"{title}={few(alike)}", instead, _TOUCHES.get(name))


def _instead(inventory: Inventory, key: str) -> str:
    """Return what is simulated instead of a key; of an unknown one also what may be meant."""
    treatment = inventory.of(key)
    if treatment.fate is not Fate.UNKNOWN:
        return treatment.why
    return f"{treatment.why}{did_you_mean(key, inventory.names.values())}"


def _of_lines(conf: Conf) -> Iterator[Gap]:
    """Yield the keys of lines NodeSet and DownNodes without effect, and front ends."""
    for entries, inventory in ((conf.node_sets, NODE_SET), (conf.down_nodes, DOWN_NODES)):
        for entry in entries:
            for key, value in entry.values.items():
                if inventory.is_lost(key, value.text):
                    name = f"{value.key}={value.text} of {entry.name.key} {entry.name.text}"
                    yield Gap(name, _instead(inventory, key))
    if conf.front_ends:
        names = few(entry.name.text for entry in conf.front_ends)
        yield Gap(f"FrontendName={names}", SLURM_CONF.of("FrontendName").why)


def _of_reservations(conf: Conf) -> Iterator[Gap]:
    """Yield what reservations say and nothing follows."""
    for entry in conf.reservations:
        name = entry.name.text
        touches = partial(_names_reservation, name)
        if not entry.text("Nodes"):
            yield Gap(f"reservation {name} without nodes", "left out", touches)
            continue
        for key, value in entry.values.items():
            if RESERVATION.is_lost(key, value.text):
                shown = f"{value.key}={brief(value.text)} of reservation {name}"
                yield Gap(shown, _instead(RESERVATION, key), touches)
        flags = [flag for flag in entry.text("Flags").split(",") if flag]
        for gap in of_words("Flags", flags, RESERVATION_FLAGS):
            yield Gap(f"{gap.name} of reservation {name}", gap.instead, touches)


def _unknown_reservations(job: Job, known: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield the reservations that a job names and the configuration does not have."""
    named = job.text("reservation") or job.options.get("reservation", "")
    for name in filter(None, (part.strip() for part in named.split(","))):
        if name not in known:
            yield (
                f"reservation {name}, which only the log names",
                "its jobs run on any nodes, at any time",
            )


def _names_reservation(name: str, job: Job) -> bool:
    return job.text("reservation") == name


def _asks(*names: str) -> Callable[[Job], bool]:
    return lambda job: any(name in job.options for name in names)


def _counted(_: Job) -> bool:
    """Stand for the test of a gap that each row tells by itself."""
    return True


def _of_partitions(conf: Conf) -> Iterator[Gap]:
    by_value: dict[tuple[str, str, str], list[str]] = {}
    for entry in conf.partitions:
        names = entry.name.text.split(",")
        for key, value in entry.values.items():
            if PARTITION.is_lost(key, value.text):
                shown = (value.key, value.text, _instead(PARTITION, key))
                by_value.setdefault(shown, []).extend(names)
        mode = entry.text("PreemptMode")
        for gap in of_words("PreemptMode", mode.split(","), WORDS["PreemptMode"]):
            by_value.setdefault(("PreemptMode", mode, gap.instead), []).extend(names)
        sharing = oversubscribe(entry)
        single = entry.text("OverSubscribe", "FORCE").upper() == "FORCE:1"
        if sharing in ("FORCE", "YES") and not single:
            shown = ("OverSubscribe", sharing, "every job has its cores to itself")
            by_value.setdefault(shown, []).extend(names)
    for (key, text, instead), names in by_value.items():
        yield Gap(
            f"{key}={text} of {few(names)}",
            instead,
            lambda job, inside=frozenset(names): not inside.isdisjoint(job.partitions),  # type: ignore[misc]
        )


def _of_keys_of_nodes(conf: Conf) -> Iterator[Gap]:
    """Yield the keys of nodes that have no effect, each with its values."""
    values: dict[str, list[str]] = {}
    named: dict[str, str] = {}
    nodes: dict[str, list[str]] = {}
    for entry in conf.nodes:
        for key, value in entry.values.items():
            if NODE.is_lost(key, value.text):
                named[key] = value.key
                values.setdefault(key, []).append(value.text)
                nodes.setdefault(key, []).extend(entry.hosts())
    for key, texts in values.items():
        yield Gap(
            f"{named[key]}={few(texts, 3)} of {counted(len(nodes[key]), 'node')}",
            _instead(NODE, key),
            _TOUCHES.get(key),
        )


def _of_nodes(machine: Machine) -> Iterator[Gap]:
    down = [node.name for node in machine.nodes if re.match(r"DOWN|DRAIN|FAIL|MAINT", node.state)]
    listed = (name for entry in machine.conf.down_nodes for name in entry.hosts())
    if down := list(dict.fromkeys((*down, *listed))):
        yield Gap(
            f"{counted(len(down), 'node')} down or drained: {brief(compress(down))}",
            "they are up; simulate --outages",
        )
    if cloud := [node for node in machine.nodes if "CLOUD" in node.state]:
        yield Gap(f"{counted(len(cloud), 'node')} of State=CLOUD", "they are always on")
    mixed = _several_types(machine)
    if mixed:
        yield Gap(
            f"{counted(len(mixed), 'node')} with several types of a resource:"
            f" {brief(compress(mixed))}",
            "a job that names none takes of no type in particular",
        )
    yield from _of_keys_of_nodes(machine.conf)
    yield from (gap for gap, there in _parts_of_gpus(machine) if there)
    free = sorted({gres.name for node in machine.nodes for gres in node.gres if not gres.consumed})
    if free:
        yield Gap(f"resources that are not used up (no_consume): {few(free)}", "left out")


def _has_licences(job: Job) -> bool:
    return bool(job.text("licenses") or "L" in job.options or "licenses" in job.options)


def _in_several_partitions(job: Job) -> bool:
    asked = job.options.get("partition") or job.options.get("p") or job.text("partition")
    return "," in asked


def _is_part(job: Job) -> bool:
    return "+" in job.text("jobid")


def _has_one_core(job: Job) -> bool:
    return (job.text("ncpus") or job.text("alloccpus") or job.text("reqcpus")) == "1"


#: Jobs that a key or word without effect is about, by its name in lower case.
_TOUCHES: Mapping[str, Callable[[Job], bool]] = {
    "bf_licenses": _has_licences,
    "reclaim_licenses": _has_licences,
    "bf_one_resv_per_job": _in_several_partitions,
    "bf_hetjob_immediate": _is_part,
    "bf_hetjob_prio": _is_part,
    "max_switch_wait": _asks("switches"),
    "pack_serial_at_end": _has_one_core,
    "extra_constraints": _asks("extra"),
    "time_min_as_soft_limit": _asks("time-min"),
    "burstbuffertype": _asks("bb", "bbf"),
    "tmpdisk": _asks("tmp"),
}


def of_jobs(machine: Machine) -> list[Gap]:
    """Return what jobs may ask for and is not modelled."""
    types = machine.types()
    return [
        Gap("heterogeneous jobs", "each component is a job", lambda job: "+" in job.text("jobid")),
        Gap(
            "features with counts ([a*2&b*4])",
            "such jobs are rejected",
            lambda job: bool(_COUNTED.search(job.text("constraints"))),
        ),
        Gap(
            "types of GRES that no node has",
            "any serves",
            lambda job: any(
                kind not in types[name] and ("" in types[name] or len(types[name]) == 1)
                for name, kind in _typed(job, types)
            ),
        ),
        *(gap for gap, there in _parts_of_gpus(machine) if not there),
    ]


def _several_types(machine: Machine) -> list[str]:
    """Return the nodes with more than one type of a resource."""
    found = []
    for node in machine.nodes:
        types = {(gres.name, gres.type) for gres in node.gres if gres.consumed}
        if len(types) > len({name for name, _ in types}):
            found.append(node.name)
    return found


def _typed(job: Job, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield name and type of what a job asked for by type, of the known names."""
    for kind in job.gres:
        name, colon, model = kind.partition(":")
        if colon and name in known:
            yield name, model


def _parts_of_gpus(machine: Machine) -> Iterator[tuple[Gap, bool]]:
    """Yield what jobs have of parts of GPUs, and whether nodes list such parts."""
    types = machine.types()
    profiles = sorted(one for own in types.values() for one in own if _MIG.search(one))
    yield (
        Gap(
            f"MIG profiles {few(profiles)}".rstrip(),
            "an instance is a gpu of its own type, in GPU-hours too",
            lambda job: any(_MIG.search(kind) for kind in job.gres),
        ),
        bool(profiles),
    )
    parts = ("shard", "mps")
    yield (
        Gap(
            "shards of GPUs (shard, mps)",
            "counted beside the GPUs: one may be given out whole and in shards",
            lambda job: not job.gres.isdisjoint(parts),
        ),
        not set(parts).isdisjoint(types),
    )


def few(names: Iterable[str], most: int = 6) -> str:
    """Return distinct names with commas between; of many the first ones and how many are left."""
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
