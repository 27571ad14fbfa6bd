"""
Records of jobs in partitions: what of a job matters to Slurm, found out once, when it arrives.

The columns of records are those of :mod:`slurm_adapter.kernels.records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.kernels import FAR
from cpsched.api.model import JobTable, immutable
from cpsched.api.model import columns as c
from slurm_adapter.dispatch.accounts import Accounts
from slurm_adapter.dispatch.limits import Job, LimitBook, Rows, Who, limited_tres
from slurm_adapter.dispatch.partitions import Partitions, Reservations
from slurm_adapter.dispatch.priority import MOST, Multifactor, normalized
from slurm_adapter.dispatch.tres import Tres
from slurm_adapter.kernels import records as r

if TYPE_CHECKING:
    from cpsched.api.model import BoolArray, FloatArray, IntArray, JobStore, System, View
    from slurm_adapter.dispatch.policy import Policy

#: Labels that say whose a job is and where it runs, by column.
_WHO = {
    c.QUEUE: "queue",
    c.QOS: "qos",
    c.USER: "user",
    c.GROUP: "group",
    c.LICENSES: "licenses",
    c.RESERVATION: "reservation",
}


class Records:
    """
    The records of all jobs so far; M of them.

    Attributes
    ----------
    table
        int64, shape ``(M, NUM_COLUMNS)`` and more rows than are in use.
    amounts
        What jobs count in limits: 1, and the TRES of :attr:`tres`.
    billing
        What a second of a job costs, with the usage factor of its QOS.
    of_row
        The records of each row of the job store that has any.
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
        #: The QOS that another may preempt: jobs of others go first.
        by_qos = policy["PreemptType"] == "preempt/qos"
        self._preempted = {name for one in policy.qos.values() if by_qos for name in one.preempt}
        self._flags = policy["PriorityFlags"]
        self.multifactor = self._multifactor(system)
        self._basic = policy["PriorityType"] == "priority/basic"
        self._table, self._billing = Rows(r.NUM_COLUMNS), Rows(kind=np.float64)
        self._amounts, self._weighted = Rows(1 + len(self.kinds)), Rows(5, kind=np.float64)
        self.of_row: dict[int, range] = {}
        self._who: dict[tuple[int, ...], Who] = {}
        self._sizes: dict[tuple[bytes, int, int, int], tuple[int, ...]] = {}
        self._factors: dict[tuple[object, ...], tuple[float, ...]] = {}
        self._bills: dict[tuple[int, tuple[int, ...]], float] = {}
        self._shapes = Shapes(self.partitions, self.reservations)

    @property
    def table(self) -> IntArray:
        """The columns of all records."""
        return self._table.array

    @property
    def amounts(self) -> IntArray:
        """What all records count."""
        return self._amounts.array

    @property
    def billing(self) -> FloatArray:
        """What a second of all records costs."""
        return self._billing.array

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
        if row in self.of_row:
            return self.of_row[row]
        values = store.columns[row].tolist()
        who = self._find_who(store, values)
        # The number of a shape may later belong to another.
        shape = store.shapes[values[c.SHAPE]].tobytes()
        size = shape, values[c.UNITS], values[c.NODES_MIN], values[c.NODES_MAX]
        amounts = self._sizes.get(size)
        if amounts is None:
            jobs = JobTable(store, immutable(np.array([row], dtype=np.int64)))
            amounts = self._sizes[size] = tuple(self.tres.amounts(jobs)[0].tolist())
        first = self._table.size
        self.of_row[row] = found = range(first, first + len(who.partitions))
        since = values[c.SUBMIT] if "ACCRUE_ALWAYS" in self._flags else now
        for partition in who.partitions:
            self._add(row, values, who, partition, amounts, since)
        return found

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
        billing = self._bill(partition, amounts)
        counted = (1, *amounts, int(billing))
        limit, minutes = values[c.ARRAY_LIMIT], -(-values[c.REQUESTED_TIME] // 60)
        array = values[c.ARRAY] if limit > 0 else None
        template = self.limits.template(
            Job(self.partitions.rules[partition].qos, who, array, limit, minutes), counted[1:]
        )
        several, own = len(who.partitions) > 1, who.reservation
        until = int(self.reservations.end[own] if own >= 0 else FAR)
        safe = who.qos not in self._preempted
        standing = (((safe << 1) + (own >= 0)) << 17) + int(self.partitions.tier[partition])
        row_of_table = (
            row, partition, self._shapes.asked(values[c.SHAPE], partition if several else -1, own),
            template, several, values[c.ARRAY], who.user, who.association, own, until,
            since + self.policy["bf_min_age_reserve"], 0, -1, -1,
            since, amounts[self.kinds.index("cpu")], values[c.NODES_MIN],
            minutes if self.multifactor.small_relative_to_time else 0,
            self._qos.get(who.qos, -1), values[c.NICE], standing, 0,
        )  # fmt: skip
        self._table.append(row_of_table)
        self._amounts.append(counted)
        self._weighted.append(self._fixed(row_of_table, counted))
        qos = self.policy.qos.get(who.qos)
        self._billing.append(billing * (qos.usage_factor if qos is not None else 1.0))

    def _fixed(self, row: tuple[int, ...], counted: tuple[int, ...]) -> tuple[float, ...]:
        """Return a job's weighted factors that do not change, in the order of :meth:`_sum`."""
        key = (row[r.PARTITION], row[r.ASSOCIATION], *row[r.CPUS : r.STANDING], counted)
        found = self._factors.get(key)
        if found is None:
            job, tres = np.array([row], dtype=np.int64), np.array([counted[1:]], dtype=np.int64)
            one = self.multifactor.factors(job, tres, 0, np.zeros(len(self.accounts.tree)))
            rest = one.tres.sum(axis=1) - one.nice
            parts = (one.association, one.job_size, one.partition, one.qos, rest)
            found = self._factors[key] = tuple(part.item() for part in parts)
        return found

    def _bill(self, partition: int, amounts: tuple[int, ...]) -> float:
        """Return what a second of a job costs in a partition."""
        found = self._bills.get((partition, amounts))
        if found is None:
            row, weights = np.array([amounts]), self.partitions.rules[partition].billing
            (found,) = self.tres.billing(row, weights, largest="MAX_TRES" in self._flags).tolist()
            self._bills[partition, amounts] = found
        return found

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
                *(partitions, own, association, path, key[2], key[3], licenses or ""),
                self.reservations.at(reservation),
            )
            self._who[key] = found
        return found

    # --- priorities -------------------------------------------------------------------------------

    def prioritise_arrival(self, record: int, now: int, fair_share: FloatArray) -> None:
        """Work out the priority of one record; quickly where its age counts from now on."""
        item = self.table.item
        if self._basic or item(record, r.SINCE) != now:
            self.prioritise(np.array([record], dtype=np.int64), now, fair_share)
            return
        own = item(record, r.ASSOCIATION)
        share = fair_share.item(own) if own >= 0 else 0.0
        total = self._sum(0.0, share, self._weighted.array[record].tolist())
        priority = int(min(max(total, 1.0), MOST))
        self.table[record, r.PRIORITY] = priority
        self.table[record, r.KEY] = -((item(record, r.STANDING) << 32) + priority)

    def prioritise(self, records: IntArray, now: int, fair_share: FloatArray) -> None:
        """Work out the priorities of some records, and the keys by which they are sorted."""
        table = self.table
        if self._basic:
            priority = _FIRST - table[records, r.ROW] - table[records, r.NICE]
        else:
            own = table[records, r.ASSOCIATION]
            share = np.where(own >= 0, fair_share[own], 0.0)
            age = self.multifactor.age_of(table[records, r.SINCE], now)
            total = self._sum(age, share, self._weighted.array[records].T)
            priority = np.clip(total, 1.0, MOST).astype(np.int64)
        if "INCR_ONLY" in self._flags:
            priority = np.maximum(priority, table[records, r.PRIORITY])
        table[records, r.PRIORITY] = priority
        table[records, r.KEY] = -((table[records, r.STANDING] << 32) + priority)

    def _sum(self, age: Any, share: Any, fixed: Any) -> Any:
        """Add up factors in Slurm's order: sums of the same numbers are cut off at the same."""
        association, job_size, partition, qos, rest = fixed
        total = age + association + self.multifactor.fair_share * share
        return total + job_size + partition + qos + rest

    def shapes(self, view: View) -> tuple[IntArray, BoolArray]:
        """Return the shapes that records ask for, and the nodes of each class of them."""
        base, shift = self._shapes.make_room(len(view.waiting.store.shapes))
        if shift:
            asked = self.table[: self._table.size, r.ASKS]
            asked[asked >= base] += shift
        return self._shapes.of(view)


#: The priority of the first job under priority/basic, as Slurm has it.
_FIRST = 4294901759


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
