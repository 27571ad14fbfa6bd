"""How long jobs run from each of their starts, and what is left to do when one is cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.allocation import Allocation
    from cpsched.simulation.arrivals import Arrivals
    from cpsched.simulation.runtime_models import RuntimeModel


class Work:
    """
    What each job has to do.

    Parameters
    ----------
    arrivals
        The jobs.
    model
        How long they run on their nodes.
    kills
        Whether a job that reaches its requested time is ended there.

    Attributes
    ----------
    will_time_out
        The running jobs that will be.
    """

    def __init__(self, arrivals: Arrivals, model: RuntimeModel, *, kills: bool) -> None:
        self._model = model
        self._kills = kills
        self._requested: list[int] = arrivals.requested_time.tolist()
        self._checkpoint: list[int] = arrivals.checkpoint.tolist()
        self._restart_cost: list[int] = arrivals.restart_cost.tolist()
        self.will_time_out: set[int] = set()
        #: Of jobs with checkpoints that have started: what was left to do at the last start.
        self._left: dict[int, int] = {}

    def start(self, row: int, allocation: Allocation, now: int, *, again: bool) -> int:
        """Return when a job that starts now will end; ``again``: it has been cut short before."""
        left = self._left.get(row)
        if left is None:
            left = self._model.start(row, allocation, now)
            if self._checkpoint[row]:
                self._left[row] = left
        extra = self._restart_cost[row] if again else 0
        end = self._model.end(row, allocation, left, now) + extra
        latest = now + extra + self._requested[row]
        if self._kills and end > latest:
            self.will_time_out.add(row)
            return latest
        return end

    def cut_short(
        self, row: int, allocation: Allocation, start: int, now: int, *, again: bool
    ) -> None:
        """Keep what a job has saved that is taken off its nodes now."""
        self.will_time_out.discard(row)
        left = self._left.get(row)
        if left is None:
            return
        begun = start + (self._restart_cost[row] if again else 0)
        length = self._model.end(row, allocation, left, begun) - begun
        every = self._checkpoint[row]
        saved = max(now - begun, 0) // every * every
        # In proportion: of how fast a job goes on these nodes, only its end is known.
        self._left[row] -= left * min(saved, length) // max(length, 1)

    def ended(self, row: int) -> bool:
        """Say whether a job that ends now is ended at its requested time."""
        # Asked of every job, and nearly always there are none.
        if not self.will_time_out or row not in self.will_time_out:
            return False
        self.will_time_out.remove(row)
        return True

    def state(self) -> dict[str, Any]:
        """Return what the starts so far have left."""
        return {
            "will_time_out": np.array(sorted(self.will_time_out), dtype=np.int64),
            "left": np.array(sorted(self._left.items()), dtype=np.int64).reshape(-1, 2),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave."""
        self.will_time_out = set(saved["will_time_out"].tolist())
        self._left = {int(row): int(left) for row, left in saved["left"].tolist()}
