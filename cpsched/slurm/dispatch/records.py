"""
Records of jobs in partitions: what of a job matters to Slurm, found out once, when it arrives.

The columns of records are those of :mod:`cpsched.slurm.kernels.records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.kernels.arrays import FAR
from cpsched.model import columns as c
from cpsched.model.arrays import immutable
from cpsched.slurm.dispatch.accounts import Accounts
from cpsched.slurm.dispatch.limits import JobOwner, LimitCounters, LimitedJob, limited_tres
from cpsched.slurm.dispatch.partitions import Partitions, Reservations
from cpsched.slurm.dispatch.priority import Multifactor, normalized
from cpsched.slurm.dispatch.settings import grown
from cpsched.slurm.dispatch.tres import TresCounter
from cpsched.slurm.dispatch.usage import Usage
from cpsched.slurm.kernels import jobs as kernels
from cpsched.slurm.kernels import records as r
from cpsched.slurm.kernels.desk import Desk, Jobs, Kinds, Lists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.jobtable import JobTable
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.util.types import BoolArray, FloatArray, IntArray

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
    jobs
        These; what jobs count in limits (1, and the TRES of :attr:`tres`); their weighted factors
        that do not change; what a second costs, with the usage factor of the QOS; and the first
        record of each row of the job store.
    """

    def __init__(self, system: System, policy: SlurmPolicy, epoch: int = 0) -> None:
        self.policy = policy
        self.reservations = Reservations(system, policy, epoch)
        self.accounts = Accounts(policy)
        self.partitions = Partitions(system, policy)
        billed = (name for one in self.partitions.rules for name in one.billing)
        weights = policy["PriorityWeightTRES"]
        names = dict.fromkeys([*limited_tres(policy), *billed, *weights])
        names.pop("billing", None)
        self.tres = TresCounter(system, tuple(names))
        self.kinds = (*self.tres.names, "billing")
        self.limits = LimitCounters(policy, self.accounts.associations, self.kinds)
        self._qos = {name: at for at, name in enumerate(policy.qos)}
        #: The QOS that another may preempt: jobs of others go first.
        by_qos = policy["PreemptType"] == "preempt/qos"
        self._preempted = {name for one in policy.qos.values() if by_qos for name in one.preempt}
        self._flags = policy["PriorityFlags"]
        self.multifactor = self._multifactor(system)
        self.usage = Usage(self.accounts.tree, policy, self.accounts.usage(), epoch)
        self.book, self.settings = self.usage.book, self.usage.settings
        self.settings["minds_time"] |= self.limits.on_jobs
        self.settings["limits"] = bool(self.limits.reasons)
        none = np.zeros(0, dtype=np.int64)
        self.jobs = Jobs(
            table=np.zeros((1, r.NUM_COLUMNS), dtype=np.int64),
            amounts=np.zeros((1, 1 + len(self.kinds)), dtype=np.int64),
            weighted=np.zeros((1, 5)),
            billing=np.zeros(1),
            first=none,
        )
        self.lists = Lists(none, none, none, none)
        #: Kinds of jobs that have come.
        self.known = Kinds(
            keys=np.zeros((1, kernels.NUM_SAME), dtype=np.int64),
            slots=np.full(1, -1, dtype=np.int64),
            first=np.zeros(1, dtype=np.int64),
            table=self.jobs.table.copy(),
            amounts=self.jobs.amounts.copy(),
            weighted=self.jobs.weighted.copy(),
            billing=self.jobs.billing.copy(),
            sought=np.zeros(kernels.NUM_SAME, dtype=np.int64),
        )
        self._num_kinds = 0
        self._who: dict[tuple[int, ...], JobOwner] = {}
        self._factors: dict[tuple[object, ...], tuple[float, ...]] = {}
        self._bills: dict[tuple[int, tuple[int, ...]], float] = {}
        self._shapes = Shapes(self.partitions, self.reservations)

    @property
    def table(self) -> IntArray:
        """The columns of all records."""
        return self.jobs.table

    @property
    def num_records(self) -> int:
        """M."""
        return int(self.book["num_records"][0])

    @property
    def order(self) -> IntArray:
        """The queue as Slurm sorts it, as records; see :class:`~.kernels.desk.Lists`."""
        return self.lists.order[: self.book["num_queued"][0]]

    @property
    def running(self) -> IntArray:
        """Records of the jobs that run, in any order."""
        return self.lists.running[: self.book["num_running"][0]]

    def desk(self) -> Desk:
        """Return all that is known, for kernels."""
        return Desk(
            *(self.book, self.settings, self.jobs, self.known, self.lists),
            *(self.accounts.tree.arrays, self.usage.charges),
        )

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

    def of_row(self, row: int) -> range:
        """Return the records of a row of the job store, none if it has not been looked at."""
        first = int(self.jobs.first[row]) if row < len(self.jobs.first) else -1
        end, table = first + 1, self.table
        while first >= 0 and end < self.num_records and table[end, r.ROW] == row:
            end += 1
        return range(first, end) if first >= 0 else range(0)

    def make_room(self, num_rows: int) -> None:
        """Make room for another job of a store of so many rows."""
        most, jobs, lists = len(self.partitions), self.jobs, self.lists
        book = self.book[0]
        queued = int(book["num_queued"]) + most
        # Most jobs have one; copying what grows takes longer than memory that may not be used.
        records = max(int(book["num_records"]) + most, num_rows)
        first = grown(jobs.first, num_rows)
        first[len(jobs.first) :] = -1
        self.usage.grow(queued)
        self.jobs = Jobs(
            table=grown(jobs.table, records),
            amounts=grown(jobs.amounts, records),
            weighted=grown(jobs.weighted, records),
            billing=grown(jobs.billing, records),
            first=first,
        )
        order, keys = grown(lists.order, queued), grown(lists.keys, queued)
        running = grown(lists.running, int(book["num_running"]) + queued)
        self.lists = Lists(order, keys, running, lists.rests)

    def learn(self, labels: Mapping[str, Sequence[str]], jobs: JobTable) -> None:
        """
        Find out what is the same of all jobs like some of unknown kinds.

        Parameters
        ----------
        labels
            Of the job store that their codes are of.
        """
        rows, first = jobs.store.columns[jobs.rows], self._num_kinds
        self._make_room_for_kinds(first + len(rows))
        found = np.empty(len(rows), dtype=np.int64)
        count = kernels.enter_unknown(self.known, self.settings, rows, first, found)
        found, entry = found[:count], self.known.first.item(first)
        entries, ends = [], []
        taken = self.tres.amounts(jobs.take(found)).tolist()
        for values, amounts in zip(rows[found].tolist(), map(tuple, taken), strict=True):
            who = self._find_who(labels, values)
            entries += [self._entry(values, who, one, amounts) for one in who.partitions]
            ends.append(entry + len(entries))
        self._num_kinds += count
        self.known.first[first + 1 : self._num_kinds + 1] = ends
        self._make_room_for_entries(entry + len(entries))
        kinds = self.known
        for array, of_all in zip(
            (kinds.table, kinds.amounts, kinds.weighted, kinds.billing),
            zip(*entries, strict=True),
            strict=True,
        ):
            array[entry : entry + len(entries)] = of_all

    def _make_room_for_kinds(self, num: int) -> None:
        old = self.known
        self.known = old._replace(keys=grown(old.keys, num), first=grown(old.first, num + 1))
        if 2 * num > len(old.slots):
            # Their number is a power of two.
            slots = np.full(1 << (2 * num).bit_length(), -1, dtype=np.int64)
            self.known = self.known._replace(slots=slots)
            kernels.note_kinds(self.known, 0, self._num_kinds)

    def _make_room_for_entries(self, num: int) -> None:
        old = self.known
        self.known = old._replace(
            table=grown(old.table, num),
            amounts=grown(old.amounts, num),
            weighted=grown(old.weighted, num),
            billing=grown(old.billing, num),
        )

    def forget_kinds(self, *, shapes: bool = False) -> None:
        """Forget what jobs have in common, where the numbers of their shapes may mean others."""
        if shapes:
            self._shapes.forget()
        self._num_kinds = 0
        self.known.slots[:] = -1

    def look_again(self, columns: IntArray, records: IntArray) -> None:
        """Read the current shapes of jobs."""
        self.forget_kinds(shapes=True)
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

    def why_never(self, record: int, submit: int, now: int, duration: int) -> str:
        """
        Return why a job will never start in a partition, whatever ends; '' if it may.

        Parameters
        ----------
        submit, now
            When it was submitted, and the present second.
        duration
            Seconds for which it is expected to run.
        """
        own, partition = self.table[record, [r.RESERVATION, r.PARTITION]].tolist()
        if own >= 0:
            since = max(now, self.table.item(record, r.BEGINS))
            nodes = self.partitions.nodes[partition]
            fewest = self.table.item(record, r.NODES)
            reason = self.reservations.why_never(own, submit, since, duration, nodes, fewest)
            if reason:
                return reason
        return self.limits.never_fits(
            self.table.item(record, r.TEMPLATE), self.jobs.amounts[record]
        )

    def _entry(
        self, values: list[int], who: JobOwner, partition: int, amounts: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...], float]:
        """Return what is the same of all jobs like one in a partition, as of :attr:`jobs`."""
        billing = self._bill(partition, amounts)
        counted = (1, *amounts, int(billing))
        limit, minutes = values[c.ARRAY_LIMIT], -(-values[c.REQUESTED_TIME] // 60)
        array = values[c.ARRAY] if limit > 0 else None
        template = self.limits.template(
            LimitedJob(self.partitions.rules[partition].qos, who, array, limit, minutes),
            counted[1:],
        )
        several, own = len(who.partitions) > 1, who.reservation
        until = int(self.reservations.end[own] if own >= 0 else FAR)
        safe = who.qos not in self._preempted
        standing = (((safe << 1) + (own >= 0)) << 17) + int(self.partitions.tier[partition])
        row_of_table = (
            -1, partition, self._shapes.asked(values[c.SHAPE], partition if several else -1, own),
            template, several, -1, who.user, who.association, own, until,
            0, 0, -1, -1,
            0, amounts[self.kinds.index("cpu")], values[c.NODES_MIN],
            minutes if self.multifactor.small_relative_to_time else 0,
            self._qos.get(who.qos, -1), values[c.NICE], standing, 0,
        )  # fmt: skip
        qos = self.policy.qos.get(who.qos)
        usage = billing * (qos.usage_factor if qos is not None else 1.0)
        return row_of_table, counted, self._fixed(row_of_table, counted), usage

    def _fixed(self, row: tuple[int, ...], counted: tuple[int, ...]) -> tuple[float, ...]:
        """Return the weighted factors of a job that do not change, in the order of their sum."""
        rules = self.multifactor
        # Without their weights, whose it is and what it takes make no difference.
        own = row[r.ASSOCIATION] if rules.association_weight else -1
        taken = counted if len(rules.tres_weight) else ()
        key = (row[r.PARTITION], own, *row[r.CPUS : r.STANDING], taken)
        found = self._factors.get(key)
        if found is None:
            job, tres = np.array([row], dtype=np.int64), np.array([counted[1:]], dtype=np.int64)
            one = rules.factors(job, tres, 0, np.zeros(len(self.accounts.tree)))
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

    def _find_who(self, labels: Mapping[str, Sequence[str]], values: list[int]) -> JobOwner:
        key = tuple(values[column] for column in _WHO)
        found = self._who.get(key)
        if found is None:
            queue, qos, user, account, licenses, reservation = (
                labels[label][code] if code >= 0 else None
                for label, code in zip(_WHO.values(), key, strict=True)
            )
            first = (queue or "").partition(",")[0]
            association = self.accounts.find(account, user, first)
            own = qos or self.accounts.default_qos(association)
            partitions = tuple(self.partitions.of(queue, own, account))
            path = self.accounts.path(association)
            found = JobOwner(
                *(partitions, own, association, path, key[2], key[3], licenses or ""),
                self.reservations.at(reservation),
            )
            self._who[key] = found
        return found

    # --- shapes -----------------------------------------------------------------------------------

    def shapes(self, view: View) -> tuple[IntArray, BoolArray]:
        """Return the shapes that records ask for, and the nodes of each class of them."""
        base, shift = self._shapes.make_room(len(view.waiting.store.shapes))
        if shift:
            for table in (self.table[: self.num_records], self.known.table):
                table[table[:, r.ASKS] >= base, r.ASKS] += shift
        return self._shapes.of(view)


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
