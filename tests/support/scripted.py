"""Dispatchers and outages that do what a test says, and when."""

import numpy as np

from cpsched.dispatch.rules import Fifo
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision
from cpsched.model.schedule import Outages


class Does(Fifo):
    """First come, first served; does given things to running jobs at given seconds."""

    def __init__(self, todo):
        super().__init__()
        self.acts_when_idle = True
        self._todo = dict(sorted(todo.items()))

    def decide(self, view):
        """Act first, start then."""
        due = [second for second in self._todo if second <= view.now]
        if due:
            return Decision([self._todo.pop(due[0])])
        decision = super().decide(view)
        return decision._replace(again_at=next(iter(self._todo), None))


class Given:
    """Outages given as node, start, end and, where they are planned, since when they are known."""

    def __init__(self, *rows):
        self._rows = rows

    def outages(self, names, first, last, seed):
        known = [row[3] if len(row) > 3 else row[1] for row in self._rows]
        return Outages.of([row[:3] for row in self._rows], known)


def on(*nodes):
    """Return one unit of one core on each of some nodes."""
    ones = np.ones(len(nodes), dtype=np.int64)
    return Allocation(np.array(nodes, dtype=np.int64), ones, ones[:, None])
