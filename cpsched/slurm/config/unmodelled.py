"""
The settings of a site's configuration that no simulation follows, and the jobs they touch.

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
from cpsched.logs.rejects import RejectedRows
from cpsched.logs.sacct.gaps import gaps_of
from cpsched.logs.sacct.options import options_of
from cpsched.logs.sacct.records import SacctRecords
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
from cpsched.slurm.config.nodes import oversubscribe
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.util.node_lists import compress
from cpsched.util.slurm_quantities import amount, elapsed
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping
    from pathlib import Path

    from cpsched.slurm.config.conf import Conf
    from cpsched.slurm.config.inventory import Inventory
    from cpsched.slurm.config.lines import Setting
    from cpsched.slurm.config.nodes import SiteNodes
    from cpsched.slurm.config.policy import ImportedPolicy

_COUNTED = re.compile(r"\*[0-9]|\[")
_CPUS = re.compile(r"(?:^|,)cpu=([^,]+)")
_GPUS = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=([^,]+)")
#: A profile of a multi-instance GPU, as Slurm names its type: ``1g.5gb``, ``a100_3g.20gb``.
_MIG = re.compile(r"[0-9]+g\.[0-9]+gb")


class AccountedJob:
    """A line of sacct, as tests of gaps read it."""

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
        matches = (match for item in items if (match := GRES.fullmatch(item)))
        return frozenset(
            f"{resource[1]}:{resource[2]}".lower() if resource[2] else resource[1]
            for resource in matches
        )

    @property
    def core_seconds(self) -> int:
        """CPUs it had times seconds; 0 where the columns do not say them."""
        match = _CPUS.search(self.text("alloctres"))
        cpus = match[1] if match else self.text("alloccpus") or self.text("ncpus")
        return self._seconds * _or_none(amount, cpus)

    @property
    def gpu_seconds(self) -> int:
        """GPUs it had times seconds; 0 where the columns do not say them."""
        gpus = _GPUS.findall(self.text("alloctres") or self.text("reqtres"))
        # Types are part of the total, if that is given.
        totals = [_or_none(amount, count) for kind, count in gpus if not kind]
        return self._seconds * sum(totals or (_or_none(amount, count) for _, count in gpus))

    @property
    def _seconds(self) -> int:
        return _or_none(elapsed, self.text("elapsedraw") or self.text("elapsed"))


def _or_none(read: Callable[[str], int], text: str) -> int:
    """Return the number in a column, 0 where it is empty or unreadable: the log's reader tells."""
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
    touches: Callable[[AccountedJob], bool] | None = None
    jobs: int = 0
    core_seconds: int = 0
    gpu_seconds: int = 0

    def add(self, job: AccountedJob) -> None:
        """Count a job."""
        self.jobs += 1
        self.core_seconds += job.core_seconds
        self.gpu_seconds += job.gpu_seconds


@dataclass(slots=True)
class AffectedLog:
    """A log, for shares of it: ``total`` counts all of it."""

    total: Gap = field(default_factory=lambda: Gap("", ""))
    bad: int = 0
    gaps: list[Gap] = field(default_factory=list)


def count(
    log: Path, gaps: Iterable[Gap], hidden: Iterable[Gap], reservations: Container[str] = ()
) -> AffectedLog:
    """
    Count the jobs of a log that gaps touch; hidden gaps are listed if they touch any.

    Parameters
    ----------
    reservations
        Names of those in the configuration: others are listed with their jobs.
    """
    affected, rejected = AffectedLog(), RejectedRows()
    shown, hidden = list(gaps), list(hidden)
    of_rows: dict[tuple[str, str], Gap] = {}
    # Steps are not jobs.
    rows = SacctRecords(log, rejected).rows()
    for job in (AccountedJob(row.values) for row in rows if not row.is_step):
        affected.total.add(job)
        for gap in (*shown, *hidden):
            if gap.touches is not None and gap.touches(job):
                gap.add(job)
        unknown = _unknown_reservations(job, reservations)
        for name, instead in (*gaps_of(job.values, job.options), *unknown):
            # Each row says by itself whether it is touched.
            of_rows.setdefault((name, instead), Gap(name, instead, bool)).add(job)
    affected.bad = rejected.count
    listed = sorted(of_rows.values(), key=lambda gap: (-gap.jobs, gap.name))
    affected.gaps = [*shown, *(gap for gap in hidden if gap.jobs), *listed]
    return affected


def of_site(cluster: SiteNodes, imported: ImportedPolicy) -> list[Gap]:
    """Return the settings of a configuration that are not modelled."""
    conf = cluster.conf
    gaps = [*_of_parameters(conf, imported), *_of_partitions(conf), *_of_nodes(cluster)]
    gaps += [*_of_lines(conf), *_of_reservations(conf)]
    if imported.undescribed:
        instead = "such QOS have no limits and no priority (describe them with --qos)"
        gaps.append(Gap(f"QOS {few(imported.undescribed)}", instead))
    return gaps


def _of_parameters(conf: Conf, imported: ImportedPolicy) -> Iterator[Gap]:
    for name, words in imported.words.items():
        yield Gap(f"{name}={few(words)}", f"{PARAMETERS[name].default} applies")
    for name, inventory in WORDS.items():
        yield from of_words(name, conf.words(name), inventory)
    for value, instead in _ignored(conf.parameters, SLURM_CONF):
        touches = _TOUCHES.get(value.key.lower())
        yield Gap(f"{value.key}={brief(value.text)}", instead, touches)
    never = (*NOTHING, *NO_LIMIT)
    if conf.text("SuspendProgram") and conf.text("SuspendTime").lower() not in never:
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
    """Return the simulated replacement of a key; of an unknown key also the closest match."""
    treatment = inventory.of(key)
    if treatment.fate is not Fate.UNKNOWN:
        return treatment.why
    return f"{treatment.why}{did_you_mean(key, inventory.names.values())}"


def _ignored(values: Mapping[str, Setting], inventory: Inventory) -> Iterator[tuple[Setting, str]]:
    """Yield the values of keys without effect, and what is simulated instead."""
    for key, value in values.items():
        if inventory.is_lost(key, value.text):
            yield value, _instead(inventory, key)


def _of_lines(conf: Conf) -> Iterator[Gap]:
    """Yield the keys of lines NodeSet and DownNodes without effect, and front ends."""
    for entries, inventory in ((conf.node_sets, NODE_SET), (conf.down_nodes, DOWN_NODES)):
        for entry in entries:
            for value, instead in _ignored(entry.values, inventory):
                name = f"{value.key}={value.text} of {entry.name.key} {entry.name.text}"
                yield Gap(name, instead)
    if conf.front_ends:
        names = few(entry.name.text for entry in conf.front_ends)
        yield Gap(f"FrontendName={names}", SLURM_CONF.of("FrontendName").why)


def _of_reservations(conf: Conf) -> Iterator[Gap]:
    """Yield the keys and flags of reservations without effect."""
    for entry in conf.reservations:
        name = entry.name.text
        touches = partial(lambda own, job: job.text("reservation") == own, name)
        if not entry.text("Nodes"):
            yield Gap(f"reservation {name} without nodes", "the reservation is left out", touches)
            continue
        for value, instead in _ignored(entry.values, RESERVATION):
            yield Gap(f"{value.key}={brief(value.text)} of reservation {name}", instead, touches)
        flags = [flag for flag in entry.text("Flags").split(",") if flag]
        for gap in of_words("Flags", flags, RESERVATION_FLAGS):
            yield Gap(f"{gap.name} of reservation {name}", gap.instead, touches)


def _unknown_reservations(job: AccountedJob, known: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield the reservations that a job names and the configuration does not have."""
    named = job.text("reservation") or job.options.get("reservation", "")
    for name in filter(None, (part.strip() for part in named.split(","))):
        if name not in known:
            yield (
                f"reservation {name}, which only the log names",
                "its jobs run on any nodes, at any time",
            )


def _asks(*names: str) -> Callable[[AccountedJob], bool]:
    return lambda job: any(name in job.options for name in names)


def _of_partitions(conf: Conf) -> Iterator[Gap]:
    by_value: dict[tuple[str, str, str], list[str]] = {}
    for entry in conf.partitions:
        names = entry.name.text.split(",")
        for value, instead in _ignored(entry.values, PARTITION):
            by_value.setdefault((value.key, value.text, instead), []).extend(names)
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
    by_key: dict[str, list[tuple[Setting, str, int]]] = {}
    for entry in conf.nodes:
        for value, instead in _ignored(entry.values, NODE):
            use = value, instead, len(entry.hosts())
            by_key.setdefault(value.key.lower(), []).append(use)
    for key, uses in by_key.items():
        last, instead, _ = uses[-1]
        texts, number = few((value.text for value, _, _ in uses), 3), sum(use[2] for use in uses)
        name = f"{last.key}={texts} of {counted(number, 'node')}"
        yield Gap(name, instead, _TOUCHES.get(key))


def _of_nodes(cluster: SiteNodes) -> Iterator[Gap]:
    down = [node.name for node in cluster.nodes if re.match(r"DOWN|DRAIN|FAIL|MAINT", node.state)]
    listed = (name for entry in cluster.conf.down_nodes for name in entry.hosts())
    if down := list(dict.fromkeys((*down, *listed))):
        yield Gap(
            f"{counted(len(down), 'node')} down or drained: {brief(compress(down))}",
            "the nodes are up (use simulate --outages)",
        )
    if cloud := [node for node in cluster.nodes if "CLOUD" in node.state]:
        yield Gap(f"{counted(len(cloud), 'node')} of State=CLOUD", "the nodes are always on")
    mixed = _several_types(cluster)
    if mixed:
        yield Gap(
            f"{counted(len(mixed), 'node')} with several types of a resource:"
            f" {brief(compress(mixed))}",
            "a job that names no type gets units of any type",
        )
    yield from _of_keys_of_nodes(cluster.conf)
    yield from (gap for gap, there in _parts_of_gpus(cluster) if there)
    free = sorted({gres.name for node in cluster.nodes for gres in node.gres if not gres.consumed})
    if free:
        yield Gap(f"resources that are not used up (no_consume): {few(free)}", "they are left out")


def _has_licences(job: AccountedJob) -> bool:
    return bool(job.text("licenses") or "L" in job.options or "licenses" in job.options)


def _is_part(job: AccountedJob) -> bool:
    return "+" in job.text("jobid")


#: Jobs that a key or word without effect is about, by its name in lower case.
_TOUCHES: Mapping[str, Callable[[AccountedJob], bool]] = {
    "bf_licenses": _has_licences,
    "reclaim_licenses": _has_licences,
    "bf_one_resv_per_job": lambda job: (
        "," in (job.options.get("partition") or job.options.get("p") or job.text("partition"))
    ),
    "bf_hetjob_immediate": _is_part,
    "bf_hetjob_prio": _is_part,
    "max_switch_wait": _asks("switches"),
    "pack_serial_at_end": lambda job: (
        (job.text("ncpus") or job.text("alloccpus") or job.text("reqcpus")) == "1"
    ),
    "extra_constraints": _asks("extra"),
    "time_min_as_soft_limit": _asks("time-min"),
    "burstbuffertype": _asks("bb", "bbf"),
    "tmpdisk": _asks("tmp"),
}


def of_jobs(cluster: SiteNodes) -> list[Gap]:
    """Return the requests of jobs that are not modelled."""
    types = cluster.types()
    return [
        Gap("heterogeneous jobs", "each component is a job of its own", _is_part),
        Gap(
            "features with counts ([a*2&b*4])",
            "such jobs are rejected",
            lambda job: bool(_COUNTED.search(job.text("constraints"))),
        ),
        Gap(
            "types of GRES that no node has",
            "units of any type serve such jobs",
            lambda job: any(
                kind not in types[name] and ("" in types[name] or len(types[name]) == 1)
                for name, kind in _typed(job, types)
            ),
        ),
        *(gap for gap, there in _parts_of_gpus(cluster) if not there),
    ]


def _several_types(cluster: SiteNodes) -> list[str]:
    """Return the nodes with more than one type of a resource."""
    mixed = []
    for node in cluster.nodes:
        types = {(gres.name, gres.type) for gres in node.gres if gres.consumed}
        if len(types) > len({name for name, _ in types}):
            mixed.append(node.name)
    return mixed


def _typed(job: AccountedJob, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield name and type of what a job asked for by type, of the known names."""
    for kind in job.gres:
        name, colon, model = kind.partition(":")
        if colon and name in known:
            yield name, model


def _parts_of_gpus(cluster: SiteNodes) -> Iterator[tuple[Gap, bool]]:
    """Yield the gaps of parts of GPUs, and whether nodes list such parts."""
    types = cluster.types()
    profiles = sorted(model for own in types.values() for model in own if _MIG.search(model))
    yield (
        Gap(
            f"MIG profiles {few(profiles)}".rstrip(),
            "each instance counts as a GPU of its own type, in GPU-hours too",
            lambda job: any(_MIG.search(kind) for kind in job.gres),
        ),
        bool(profiles),
    )
    parts = ("shard", "mps")
    yield (
        Gap(
            "shards of GPUs (shard, mps)",
            "shards and GPUs are counted apart (a GPU may be allocated as both)",
            lambda job: not job.gres.isdisjoint(parts),
        ),
        not set(parts).isdisjoint(types),
    )


def few(names: Iterable[str], limit: int = 6) -> str:
    """Return distinct names with commas between; of many the first ones and how many are left."""
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more
