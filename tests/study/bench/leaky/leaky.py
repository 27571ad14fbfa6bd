"""Dispatchers that know what they cannot, and one that does not."""

import gc
import sys

import numpy as np

from cpsched import start_by
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.model.decision import Decision
from cpsched.model.system import System
from cpsched.model.view import View


class Honest(Dispatcher):
    """Shortest requested time first, whoever fits."""

    name = "honest"

    def __init__(self) -> None:
        self._allocator = make_allocator("first-fit")

    def reset(self, system: System, seed: int) -> None:
        self._allocator.reset(system)

    def runtimes(self, view: View) -> np.ndarray:
        return view.waiting.requested_time

    def decide(self, view: View) -> Decision:
        return start_by(view, np.argsort(self.runtimes(view), kind="stable"), self._allocator)


class ReadsTheLog(Honest):
    """Shortest runtime first, as the file says that the command simulates."""

    name = "reads-the-log"

    def runtimes(self, view: View) -> np.ndarray:
        from cpsched.logs import read as read_log

        log = [word for word in sys.argv if word.endswith("log.parquet")]
        return read_log(log[0]).runtime[view.waiting.handle] if log else super().runtimes(view)


class LooksIntoMemory(Honest):
    """Small jobs first while running ones end late: it finds the simulator's workload."""

    name = "looks-into-memory"

    def runtimes(self, view: View) -> np.ndarray:
        workload = next(item for item in gc.get_objects() if type(item).__name__ == "Workload")
        left = view.running.start + workload.runtime[view.running.handle] - view.now
        return view.waiting.units * (1 if left.mean() > 150 else -1)
