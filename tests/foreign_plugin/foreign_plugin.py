"""What somebody else's package may register: one thing of each kind, and an observer."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cpsched import start_by
from cpsched.dispatch.allocators import FirstFit, make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.orders import Priority
from cpsched.errors import TraceError
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.model.workload import Workload
from cpsched.simulation.observers import RunObserver


class BySize(Dispatcher):
    """Start the smallest jobs first; skip what does not fit."""

    name = "by-size"

    def __init__(self, area: bool = False, allocator: str = "first-fit") -> None:
        self.area = area
        self.allocator = make_allocator(allocator)

    def reset(self, system, seed):
        self.allocator.reset(system)

    def decide(self, view):
        waiting = view.waiting
        sizes = waiting.units * (waiting.requested_time if self.area else 1)
        return start_by(view, sizes.argsort(kind="stable"), self.allocator)


class Half(RuntimePredictor):
    """Half of what was asked for."""

    name = "half"

    def predict(self, jobs, now):
        return Prediction.point(np.maximum(jobs.requested_time // 2, 1))


class Widest(Priority):
    """The job with the most units first."""

    name = "widest"
    static = True

    def keys(self, jobs, now):
        return (-jobs.units,)


class LastFit(FirstFit):
    """The order of nodes of first-fit, under another name."""

    name = "last-fit"


class Starts(RunObserver):
    """Writes the ids of jobs in the order in which they start."""

    def __init__(self, file: str) -> None:
        self.path = Path(file)

    @contextmanager
    def opened(self, dispatcher, job_ids, *, overwrite):
        self.ids = job_ids
        with self.path.open("w") as self.file:
            yield

    def on_start(self, job, allocation, now):
        self.file.write(f"{self.ids[job]}\n")


class Plain:
    """Lines of submit, runtime, cores and requested time below a head of one word."""

    name = "plain"
    summary = "submit, runtime, cores and requested time"
    suffixes = (".plain",)
    write = None

    def matches(self, path, head):
        return head.startswith(b"plain\n")

    def read(self, path, rejected):
        try:
            rows = np.loadtxt(path, dtype=np.int64, skiprows=1, ndmin=2)
        except ValueError as error:
            raise TraceError(str(error), file=path) from error
        submit, runtime, units, requested = rows.T
        return Workload.build(
            title=path.name,
            job_id=[str(row + 1) for row in range(len(rows))],
            submit=submit,
            runtime=runtime,
            units=units,
            requested_time=requested,
            resources=("core",),
            request=np.ones((len(rows), 1), dtype=np.int64),
        )


PLAIN = Plain()
