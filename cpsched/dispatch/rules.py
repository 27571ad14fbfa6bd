"""
List schedulers: take jobs in an order, start what fits.

``fifo``, ``sjf`` and ``ljf`` stop at the first job that does not fit; ``prb`` (Remediani 2017,
Algorithm 1) skips it and goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched import kernels
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.passes import frozen, make_allocator, make_priority, start_in_order
from cpsched.model.decision import NOTHING, Decision

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.model.view import View

#: How many of the first jobs are sorted at once; passes that stop early rarely need more.
_CHUNK = 64


class Fifo(Dispatcher):
    """
    First come, first served: stop at the first job that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator.
    """

    name = "fifo"

    def __init__(self, allocator: str = "first-fit") -> None:
        self.allocator = make_allocator(allocator)

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Prepare for a system."""
        self.allocator.reset(system)

    def decide(self, view: View) -> Decision:
        """Start from the head of the queue on."""
        return start_in_order(view, view.waiting.rows, self.allocator, stop=True)


class _ByLength(Dispatcher):
    """Jobs by predicted runtime; stop at the first that does not fit."""

    sign: ClassVar[int]

    def __init__(self, allocator: str = "first-fit") -> None:
        self.allocator = make_allocator(allocator)

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Prepare for a system."""
        self.allocator.reset(system)

    def decide(self, view: View) -> Decision:
        """Start from the first by length on; ties in queue order."""
        key = self.sign * view.waiting.priority
        ahead = _smallest(key)
        decision = start_in_order(view, frozen(view.waiting.rows[ahead]), self.allocator, stop=True)
        if len(decision.actions) < len(ahead) or len(ahead) == len(key):
            return decision
        order = np.argsort(key, kind="stable")
        return start_in_order(view, frozen(view.waiting.rows[order]), self.allocator, stop=True)


class Sjf(_ByLength):
    """
    Shortest job first, by the prediction; stop at the first job that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator.
    """

    name = "sjf"
    sign = 1


class Ljf(_ByLength):
    """
    Longest job first, by the prediction; stop at the first job that does not fit.

    Parameters
    ----------
    allocator
        Name of the allocator.
    """

    name = "ljf"
    sign = -1


class Prb(Dispatcher):
    """
    Priority rule-based: in order of priority, start every job that fits, skip the others.

    Remediani 2017, Algorithm 1; with ``priority=slowdown`` it is the SDPRB of that thesis.

    Parameters
    ----------
    priority
        Name of the priority.
    allocator
        Name of the allocator.
    """

    name = "prb"

    def __init__(self, priority: str = "expected-wait", allocator: str = "first-fit") -> None:
        self.priority = make_priority(priority)
        self.allocator = make_allocator(allocator)

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Prepare for a system."""
        self.priority.reset(system)
        self.allocator.reset(system)

    def decide(self, view: View) -> Decision:
        """Start what fits; only jobs that fit on their own are worth ranking."""
        waiting = view.waiting
        store = waiting.store
        fits = kernels.fits_now(
            waiting.rows,
            store.columns,
            store.shapes,
            view.eligible,
            self.allocator.capacity,
            view.free,
        )
        if not fits.any():
            return NOTHING
        able = waiting.take(fits)
        rows = able.rows
        if len(rows) > 1:
            rows = rows[self.priority.order(able, view.now)]
        return start_in_order(view, frozen(rows), self.allocator, stop=False)


def _smallest(key: IntArray) -> IntArray:
    """Return the positions of (at least) the first few keys, sorted, ties in order."""
    if len(key) <= _CHUNK:
        return np.argsort(key, kind="stable")
    limit = np.partition(key, _CHUNK - 1)[_CHUNK - 1]
    few = np.flatnonzero(key <= limit)
    return few[np.argsort(key[few], kind="stable")]
