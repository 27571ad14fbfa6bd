"""
Records of jobs in partitions: what of a job matters to Slurm, found out once, when it arrives.

The columns of records are those of :mod:`slurm_adapter.kernels.records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.api.kernels import FAR
from cpsched.api.model import JobTable, immutable
from cpsched.api.model import columns as c
from slurm_adapter.dispatch.accounts import Accounts
from slurm_adapter.dispatch.limits import Job, LimitBook, limited_tres
from slurm_adapter.dispatch.partitions import Partitions, Reservations
from slurm_adapter.dispatch.priority import Asked, Multifactor, normalized
from slurm_adapter.dispatch.tres import Tres
from slurm_adapter.kernels import records as r

if TYPE_CHECKING:
    from cpsched.api.model import BoolArray, FloatArray, IntArray, JobStore, System, View
    from slurm_adapter.dispatch.policy import Policy

#: Columns of ``Records.weighted``: the factors that do not change while a job waits.
ASSOCIATION, JOB_SIZE, PARTITION, QOS, TRES = range(5)
_FEWEST = 1024
#: Labels that say whose a job is and where it runs, by column.
_WHO = {
    c.QUEUE: "queue",
    c.QOS: "qos",
    c.USER: "user",
    c.GROUP: "group",
    c.LICENSES: "licenses",
    c.RESERVATION: "reservation",
}


class Who(NamedTuple):
    """Derived from a job's labels: its QOS, association, partitions and reservation."""

    number: int
    partitions: tuple[int, ...]
    qos: str
    association: int
    path: tuple[int, ...]
    user: int
    account: int
    licenses: str
    reservation: int


class Records:
    """
    The records of all jobs so far; M of them.

    Parameters
    ----------
    system, policy
        The machine, and the rules.
    epoch
        Unix time of second 0.

    Attributes
    ----------
    table
        int64, shape ``(M, NUM_FIELDS)`` and more rows than are in use.
    amounts
        What jobs count in limits: 1, and the TRES of :attr:`tres`.
    weighted
        Their fixed factors, weighted.
    billing
        What a second of a job costs, with the usage factor of its QOS.
    since
        Second from which on age counts.
    qos
        Position of the job's QOS in the policy, -1 for none.
    of_row
        The first record of each row of the job store and how many it has.
    """

    def __init__(self, system: System, policy: Policy, epoch: int = 0) -> None:
        self.policy = policy
        self.reservations = Reservations(system, policy, epoch)
        self.accounts = Accounts(policy)
        self.partitions = Partitions(system, policy)
        billed = (name for one in self.partitions.rules for name in one.billing)
        weights = policy["PriorityWeightTRES"]
        names = dict.fromkeys([*limited_tres(policy), *billed, *weights])
        names.pop("billing", None)
        self.tres = Tres(system, tuple(names))
        self.kinds = (*self.tres.names, "billing")
        self.limits = LimitBook(policy, self.accounts.associations, self.kinds)
        self._qos = {name: at for at, name in enumerate(policy.qos)}
        #: Of each QOS (the last: none), whether no other may preempt it; those go first.
        preempted = {name for one in policy.qos.values() for name in one.preempt}
        by_qos = policy["PreemptType"] == "preempt/qos"
        self.safe: IntArray = np.array(
            [not (by_qos and name in preempted) for name in (*policy.qos, "")], dtype=np.int64
        )
        self._flags = policy["PriorityFlags"]
        self.multifactor = self._multifactor(system)
        self._basic = policy["PriorityType"] == "priority/basic"
        self.size = 0
        self.table: IntArray = np.zeros((_FEWEST, r.NUM_FIELDS), dtype=np.int64)
        self.amounts: IntArray = np.zeros((_FEWEST, 1 + len(self.kinds)), dtype=np.int64)
        self.weighted: FloatArray = np.zeros((_FEWEST, 5))
        self.billing: FloatArray = np.zeros(_FEWEST)
        self.since: IntArray = np.zeros(_FEWEST, dtype=np.int64)
        self.qos: IntArray = np.zeros(_FEWEST, dtype=np.int64)
        self.of_row: IntArray = np.full((_FEWEST, 2), -1, dtype=np.int64)
        self._who: dict[tuple[int, ...], Who] = {}
        self._sizes: dict[tuple[bytes, int, int, int], tuple[int, ...]] = {}
        self._facts: dict[tuple[object, ...], tuple[list[float], float]] = {}
        self._templates: dict[tuple[object, ...], int] = {}
        self._shapes = Shapes(self.partitions, self.reservations)

    def _multifactor(self, system: System) -> Multifactor:
        policy, parts = self.policy, self.partitions
        flags = self._flags

        def keeps(kind: str) -> bool:
            return f"NO_NORMAL_{kind}" in flags or "NO_NORMAL_ALL" in flags

        def factors(values: list[int], kind: str) -> FloatArray:
            return normalized(np.array(values, dtype=np.int64), keep=keeps(kind))

        weights = policy["PriorityWeightTRES"]
        tres_weight = np.array([weights.get(name, 0.0) for name in self.kinds])
        partition_tres = np.array(
            [[*self.tres.of_nodes(system.capacity[nodes]).tolist(), 0] for nodes in parts.nodes],
            dtype=np.float64,
        )
        return Multifactor(
            age=policy["PriorityWeightAge"],
            association_weight=policy["PriorityWeightAssoc"],
            fair_share=policy["PriorityWeightFairshare"],
            job_size=policy["PriorityWeightJobSize"],
            partition_weight=policy["PriorityWeightPartition"],
            qos_weight=policy["PriorityWeightQOS"],
            tres_weight=tres_weight if tres_weight.any() else np.zeros(0),
            max_age=policy["PriorityMaxAge"],
            favor_small=policy["PriorityFavorSmall"],
            small_relative_to_time="SMALL_RELATIVE_TO_TIME" in flags,
            cpus=int(system.total[0]),
            nodes=system.num_nodes,
            partition=factors([one.job_factor for one in parts.rules], "PART"),
            qos=factors([one.priority for one in policy.qos.values()], "QOS"),
            association=factors([one.priority for one in self.accounts.associations], "ASSOC"),
            partition_tres=np.ones_like(partition_tres) if keeps("TRES") else partition_tres,
        )

    # --- arrivals ---------------------------------------------------------------------------------

    def add(self, store: JobStore, row: int, now: int) -> range:
        """Make the records of a job that may start from now on; return their numbers."""
        if row >= len(self.of_row):
            self.of_row = _grown(self.of_row, row + 1, -1)
        if self.of_row[row, 0] >= 0:
            return self.records_of(row)
        values = store.columns[row].tolist()
        who = self._find_who(store, values)
        # The number of a shape may later belong to another.
        shape = store.shapes[values[c.SHAPE]].tobytes()
        size = shape, values[c.UNITS], values[c.NODES_MIN], values[c.NODES_MAX]
        amounts = self._sizes.get(size)
        if amounts is None:
            amounts = self._amounts(store, row)
            self._sizes[size] = amounts
        first = self.size
        self.of_row[row] = first, len(who.partitions)
        since = values[c.SUBMIT] if "ACCRUE_ALWAYS" in self._flags else now
        for partition in who.partitions:
            self._add(row, values, who, partition, amounts, since)
        return range(first, self.size)

    def look_again(self, columns: IntArray, records: IntArray) -> None:
        """Read the current shapes of jobs."""
        self._shapes.forget()
        table = self.table
        table[records, r.ASKS] = columns[table[records, r.ROW], c.SHAPE]
        own = (table[records, r.SEVERAL] > 0) | (table[records, r.RESERVATION] >= 0)
        for record in records[own].tolist():
            shape, partition, reservation, several = table[
                record, [r.ASKS, r.PARTITION, r.RESERVATION, r.SEVERAL]
            ].tolist()
            table[record, r.ASKS] = self._shapes.asked(
                shape, partition if several else -1, reservation
            )

    def records_of(self, row: int) -> range:
        """Return the numbers of a job's records."""
        first, count = self.of_row[row].tolist()
        return range(first, first + count)

    def never_fits(self, record: int, now: int) -> bool:
        """Say whether a job will never start in a partition, whatever ends."""
        if self.table.item(record, r.UNTIL) <= now:
            return True
        template = self.table.item(record, r.TEMPLATE)
        return self.limits.never_fits(template, self.amounts[record].tolist())

    def _add(
        self,
        row: int,
        values: list[int],
        who: Who,
        partition: int,
        amounts: tuple[int, ...],
        since: int,
    ) -> None:
        at = self.size
        if at == len(self.table):
            self._grow()
        minutes = -(-values[c.REQUESTED_TIME] // 60)
        weighted, billing = self._fixed(who, partition, amounts, minutes, values[c.NICE], values)
        array, limit = values[c.ARRAY], values[c.ARRAY_LIMIT]
        counted = (1, *amounts, int(billing))
        alike: tuple[object, ...] = (who.number, partition, array if limit > 0 else -1, limit)
        if self.limits.on_jobs:
            alike = (*alike, counted, minutes)
        template = self._templates.get(alike)
        if template is None:
            job = Job(
                partition_qos=self.partitions.rules[partition].qos,
                qos=who.qos,
                associations=who.path,
                user=who.user,
                account=who.account,
                licenses=who.licenses,
                array=array if limit > 0 else None,
                array_limit=limit,
                minutes=minutes,
            )
            template = self._templates[alike] = self.limits.template(job, counted[1:])
        several, own = len(who.partitions) > 1, who.reservation
        until = int(self.reservations.end[own]) if own >= 0 else FAR
        self.table[at] = (
            row, partition, self._shapes.asked(values[c.SHAPE], partition if several else -1, own),
            template, several, array, who.user, who.association, own, until,
            since + self.policy["bf_min_age_reserve"], 0, -1, -1,
        )  # fmt: skip
        self.amounts[at] = counted
        self.weighted[at] = weighted
        qos = self.policy.qos.get(who.qos)
        self.billing[at] = billing * (qos.usage_factor if qos is not None else 1.0)
        self.since[at] = since
        self.qos[at] = self._qos.get(who.qos, -1)
        self.size += 1

    def _find_who(self, store: JobStore, values: list[int]) -> Who:
        key = tuple(values[column] for column in _WHO)
        found = self._who.get(key)
        if found is None:
            queue, qos, user, account, licenses, reservation = (
                store.labels[label][code] if code >= 0 else None
                for label, code in zip(_WHO.values(), key, strict=True)
            )
            first = (queue or "").partition(",")[0]
            association = self.accounts.find(account, user, first)
            own = qos or self.accounts.default_qos(association)
            partitions = tuple(self.partitions.of(queue, own, account))
            path = self.accounts.path(association)
            found = Who(
                *(len(self._who), partitions, own, association, path, key[2], key[3]),
                licenses or "",
                self.reservations.at(reservation),
            )
            self._who[key] = found
        return found

    def _amounts(self, store: JobStore, row: int) -> tuple[int, ...]:
        jobs = JobTable(store, immutable(np.array([row], dtype=np.int64)))
        return tuple(self.tres.amounts(jobs)[0].tolist())

    def _fixed(
        self,
        who: Who,
        partition: int,
        amounts: tuple[int, ...],
        minutes: int,
        nice: int,
        values: list[int],
    ) -> tuple[list[float], float]:
        """Return a job's weighted factors that do not change, and its billing."""
        relative = self.multifactor.small_relative_to_time
        key = (who.association, who.qos, partition, amounts, values[c.NODES_MIN], nice,
               minutes if relative else 0)  # fmt: skip
        found = self._facts.get(key)
        if found is None:
            row = np.array([amounts], dtype=np.int64)
            billing = self.tres.billing(
                row, self.partitions.rules[partition].billing, largest="MAX_TRES" in self._flags
            )
            since, cpus, nodes, limit, place, qos, association, taken_off = (
                np.array([value], dtype=np.int64)
                for value in (
                    *(0, amounts[self.kinds.index("cpu")], values[c.NODES_MIN], minutes),
                    *(partition, self._qos.get(who.qos, -1), who.association, nice),
                )
            )
            tres = np.append(row.astype(np.float64), billing[:, None], axis=1)
            asked = Asked(since, cpus, nodes, limit, place, qos, association, taken_off, tres)
            factors = self.multifactor.factors(asked, 0, np.zeros(len(self.accounts.tree)))
            weighted = [
                float(factors.association[0]),
                float(factors.job_size[0]),
                float(factors.partition[0]),
                float(factors.qos[0]),
                float(factors.tres[0].sum() - nice),
            ]
            found = self._facts[key] = weighted, float(billing[0])
        return found

    def _grow(self) -> None:
        num = 2 * len(self.table)
        for name in ("table", "amounts", "weighted", "billing", "since", "qos"):
            setattr(self, name, _grown(getattr(self, name), num, 0))

    # --- priorities -------------------------------------------------------------------------------

    def prioritise_one(self, record: int, now: int, fair_share: FloatArray) -> None:
        """Work out the priority of a record whose age counts from now on at the earliest."""
        if self._basic or self.since.item(record) != now:
            self.prioritise(np.array([record], dtype=np.int64), now, fair_share)
            return
        fixed = self.weighted[record].tolist()
        association = self.table.item(record, r.ASSOCIATION)
        share = fair_share.item(association) if association >= 0 else 0.0
        total = self._total(0.0, share, fixed)
        self.table[record, r.PRIORITY] = int(min(max(total, 1.0), _MOST))

    def _total(self, age: Any, share: Any, fixed: Any) -> Any:
        """Add up factors in Slurm's order: sums of the same numbers are cut off at the same."""
        total = age + fixed[ASSOCIATION] + self.multifactor.fair_share * share
        for column in (JOB_SIZE, PARTITION, QOS, TRES):
            total = total + fixed[column]
        return total

    def prioritise(self, records: IntArray, now: int, fair_share: FloatArray) -> None:
        """Work out the priorities of some records."""
        if self._basic:
            self.table[records, r.PRIORITY] = _FIRST - self.table[records, r.ROW]
            return
        association = self.table[records, r.ASSOCIATION]
        age = self.multifactor.age_of(self.since[records], now)
        share = np.where(association >= 0, fair_share[association], 0.0)
        total = self._total(age, share, self.weighted[records].T)
        priority = np.clip(total, 1.0, _MOST).astype(np.int64)
        if "INCR_ONLY" in self._flags:
            priority = np.maximum(priority, self.table[records, r.PRIORITY])
        self.table[records, r.PRIORITY] = priority

    def keys(self, records: IntArray) -> IntArray:
        """Return what records are sorted by, the lowest first; ties go by number."""
        table = self.table[records]
        reserved = (table[:, r.RESERVATION] >= 0).astype(np.int64)
        tier = self.partitions.tier[table[:, r.PARTITION]]
        first = (self.safe[self.qos[records]] << 1) + reserved
        keys: IntArray = -((((first << 17) + tier) << 32) + table[:, r.PRIORITY])
        return keys

    def shapes(self, view: View) -> tuple[IntArray, BoolArray]:
        """Return the shapes that records ask for, and the nodes of each class of them."""
        base, shift = self._shapes.make_room(len(view.waiting.store.shapes))
        if shift:
            asked = self.table[: self.size, r.ASKS]
            asked[asked >= base] += shift
        return self._shapes.of(view)


#: The priority of the first job under priority/basic, as Slurm has it.
_FIRST = 4294901759
_MOST = float(2**32 - 1)


class Shapes:
    """
    The shapes of the job store, and additional ones for jobs that may use only a part of their
    nodes.

    Jobs in several partitions use the nodes of one, and jobs in a reservation those of it.

    These have numbers above those that the store may assign.
    """

    def __init__(self, partitions: Partitions, reservations: Reservations) -> None:
        self._partitions, self._reservations = partitions, reservations
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._base = 1 << 12
        self._known: tuple[object, object, int] = (None, None, 0)
        self._shapes: IntArray = np.zeros((0, 0), dtype=np.int64)
        self._eligible: BoolArray = np.zeros((0, 0), dtype=np.bool_)

    def forget(self) -> None:
        """Forget the shapes that have been made."""
        self._numbers.clear()
        self._known = (None, None, 0)

    def asked(self, shape: int, partition: int, reservation: int) -> int:
        """Return the shape of a job in a partition and a reservation, -1 for none of them."""
        if partition < 0 and reservation < 0:
            return shape
        one = shape, partition, reservation
        return self._base + self._numbers.setdefault(one, len(self._numbers))

    def make_room(self, num_shapes: int) -> tuple[int, int]:
        """Return from which number on ours were, and how much higher they are from now on."""
        base = self._base
        while self._base < num_shapes:
            self._base *= 2
        return base, self._base - base if self._numbers else 0

    def of(self, view: View) -> tuple[IntArray, BoolArray]:
        """Return all shapes and the nodes of their classes."""
        shapes, eligible = view.waiting.store.shapes, view.eligible
        if not self._numbers:
            return shapes, eligible
        if self._known != (id(shapes), id(eligible), len(self._numbers)):
            asked = np.array(list(self._numbers), dtype=np.int64)
            more = shapes[asked[:, 0]].copy()
            masks = eligible[more[:, c.SHAPE_CLASS]]
            for column, nodes in ((1, self._partitions.nodes), (2, self._reservations.nodes)):
                bound = asked[:, column] >= 0
                masks[bound] &= nodes[asked[bound, column]]
            more[:, c.SHAPE_CLASS] = len(eligible) + np.arange(len(more))
            gap = np.zeros((self._base - len(shapes), shapes.shape[1]), dtype=np.int64)
            self._shapes = immutable(np.concatenate([shapes, gap, more]))
            self._eligible = immutable(np.concatenate([eligible, masks]))
            self._held = shapes, eligible
            self._known = id(shapes), id(eligible), len(self._numbers)
        return self._shapes, self._eligible


def _grown(array: IntArray, num: int, fill: int) -> IntArray:
    """Return an array with twice the room, or a given number of rows."""
    grown = np.full((max(2 * len(array), num), *array.shape[1:]), fill, dtype=array.dtype)
    grown[: len(array)] = array
    return grown
