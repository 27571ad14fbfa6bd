"""
What Slurm knows between two seconds: jobs, the queue, usage, and when passes are due.

Python makes these arrays and looks at them; only kernels change them while jobs come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from cpsched.util.types import AnyArray, BoolArray, FloatArray, IntArray

#: Numbers that change, as one record; seconds are ``FAR`` for never.
BOOK = np.dtype(
    [
        (name, np.int64)
        for name in (
            "num_records",
            "known",  # rows of the job store that have been looked at
            "num_waiting",  # jobs
            "num_queued",  # their records
            "num_running",
            "num_late",
            "num_rests",
            "num_resets",  # how often usage was set back
            "arrived",  # whether jobs have arrived since the last decision
            "change",  # when a reservation begins or ends next
            "charged",  # when usage was computed last, and will be next
            "next_charge",
            "after_end",  # when the pass after a job's end is due, and that after a submit
            "after_submit",
            "last",  # when the last main pass was, and the last that did not follow from an end
            "last_after_submit",
            "full",  # when a pass over all jobs, and a backfill pass, are due
            "backfill",
            "last_backfill",
            "news",  # something has changed without a known time of the next pass
            "reordered",  # how often jobs in the job store came back
            "num_shapes",  # of the jobs that have been looked at
            "is_own",  # whether a loop of Slurm's own brings the shapes of all jobs at once
            "unknown",  # the row of a job whose kind is not known
            "again_at",  # when there is something to do for the jobs that wait, whatever happens
        )
    ]
)

#: What a policy says, as one record: switches, numbers and seconds; then factors.
SETTINGS = np.dtype(
    [
        *(
            (name, np.int64)
            for name in (
                *("shares", "changes", "basic", "only_rises", "accrues_always", "minds_time"),
                *("reserves_after", "max_age", "period", "lag", "defers", "depth", "delay"),
                *("interval", "least", "backfill_interval", "fair_tree", "limits"),
            )
        ),
        *((name, np.float64) for name in ("decay", "age", "fair_share")),
    ]
)


class Jobs(NamedTuple):
    """
    Records of jobs, with room for more.

    Attributes
    ----------
    table, amounts, weighted, billing
        See :class:`cpsched.slurm.dispatch.records.Records`.
    first
        The first record of each row of the job store, -1: it has none. The others follow it.
    """

    table: IntArray
    amounts: IntArray
    weighted: FloatArray
    billing: FloatArray
    first: IntArray


class Kinds(NamedTuple):
    """
    Kinds of jobs: those of one have the same records, but for times, row and array.

    Attributes
    ----------
    keys
        What jobs of each have in common.
    slots
        A table of kinds by the hash of their keys, -1: none.
    first
        Where the records of each begin, one more than there are kinds; then those, as of jobs.
    sought
        The key that is looked for.
    """

    keys: IntArray
    slots: IntArray
    first: IntArray
    table: IntArray
    amounts: IntArray
    weighted: FloatArray
    billing: FloatArray
    sought: IntArray


class Lists(NamedTuple):
    """
    Records in lists with room for more.

    Attributes
    ----------
    order, keys
        The queue as Slurm sorts it, and by what.
    running
        Those that run, in any order.
    rests
        When jobs that were queued again may start.
    """

    order: IntArray
    keys: IntArray
    running: IntArray
    rests: IntArray


class Tree(NamedTuple):
    """Associations, see :class:`cpsched.slurm.dispatch.fair_share.ShareTree`."""

    parent: IntArray
    share_parent: IntArray
    level_share: FloatArray
    inherits: BoolArray
    is_user: BoolArray
    users_under: IntArray
    tied_order: IntArray
    deepest_first: IntArray
    new_depth: BoolArray
    by_level: IntArray


class Charges(NamedTuple):
    """
    What associations have used.

    Attributes
    ----------
    raw, fair_share
        See :class:`cpsched.slurm.dispatch.usage.Usage`.
    rate
        Billing a second of the running jobs of each.
    late, late_billing
        Association, start and billing of those of them that have started since usage was computed.
    resets
        When usage is set back, in order, ``FAR`` at the end.
    """

    raw: FloatArray
    fair_share: FloatArray
    rate: FloatArray
    late: IntArray
    late_billing: FloatArray
    resets: IntArray


class Desk(NamedTuple):
    """All of it; ``book`` and ``settings`` are arrays of one record."""

    book: AnyArray
    settings: AnyArray
    jobs: Jobs
    kinds: Kinds
    lists: Lists
    tree: Tree
    charges: Charges
