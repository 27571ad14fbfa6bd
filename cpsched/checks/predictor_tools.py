"""
What the checks of predictors are made of: onlookers, comparison, the size of things, and a small
made-up log.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from cpsched.checks import CheckError, require
from cpsched.model.jobstore import LABELS, SUBMIT_COLUMNS, JobStore
from cpsched.model.jobtable import JobTable
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.model.workload import Workload
from cpsched.systems import parse
from cpsched.systems.mapping import Fitted, fit
from cpsched.util.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpsched.model.system import System
    from cpsched.study.prediction.replay import PredictorReplay

#: Seconds by which another process's clock is ahead: another day, hour, minute and second.
_SHIFT = 3 * 86_400 + 5 * 3600 + 47 * 60 + 13
_CONTAINERS = (dict, list, tuple, set, frozenset, deque, np.ndarray)
#: Callables that hold things; one that keeps answers.
_HOLDERS = (MethodType, partial, staticmethod, classmethod)
_CACHE = type(cache(len))


def same(wanted: Prediction, actual: Prediction, what: str) -> None:
    """Raise :class:`CheckError` unless answers for the same n jobs are equal."""
    for purpose, left, right in zip(Prediction._fields, wanted, actual, strict=True):
        if left is None or right is None:
            require(
                left is right,
                f"answers {what}: {purpose} once with a value, once without",
            )
            continue
        differ = np.flatnonzero(
            ~np.isclose(left, right, rtol=0, atol=0, equal_nan=True)
            .reshape(len(left), -1)
            .all(axis=1)
        )
        if len(differ):
            row = differ[0]
            raise CheckError(
                f"answers {what}: {len(differ)} of {len(left)} jobs, the first is job {row}:"
                f" {purpose} {left[row]} and {right[row]}"
            )


def answered(replay: PredictorReplay) -> Prediction:
    """Return what a predictor answered for all jobs of a replay."""
    num, store = len(replay.answers), replay.store
    known = (store.quantiles, store.ends_within)
    distributions = (None if values is None else values[:num] for values in known)
    return Prediction(*replay.answers.T, *distributions)


def size(thing: object) -> int:
    """
    Return the bytes of everything a predictor keeps, each object once.

    Also in its classes, in what its functions remember, and in containers of its modules.
    """
    seen: set[int] = set()
    total = 0
    waiting = [thing, *_class_and_module_values(thing)]
    while waiting:
        item = waiting.pop()
        # The store of job tables grows with the log and belongs to whoever runs the jobs.
        foreign = type(item).__module__.startswith(("cpsched.model", "cpsched.engine"))
        if id(item) in seen or foreign or isinstance(item, type | ModuleType):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, FunctionType):
            waiting += [item.__closure__, item.__defaults__, item.__kwdefaults__, item.__dict__]
        elif isinstance(item, np.ndarray):
            waiting.append(item.base)
        elif isinstance(item, dict):
            # Of keys that are strings the collector of garbage knows nothing.
            waiting += [*item.keys(), *item.values()]
        elif _holds(item):
            waiting += gc.get_referents(item)
    return total


def _holds(item: Any) -> bool:
    """Tell whether what an object refers to is its own, and may grow."""
    if isinstance(item, _CACHE):
        return item.cache_info().maxsize is None
    # Of what libraries compile nothing is of interest.
    return (
        not callable(item)
        or isinstance(item, _HOLDERS)
        or isinstance(type(item).__call__, FunctionType)
    )


def _class_and_module_values(thing: object) -> list[object]:
    """Return what the classes of an object and their modules hold."""
    objects: list[object] = []
    for cls in type(thing).__mro__[:-1]:
        objects += vars(cls).values()
        module = sys.modules.get(cls.__module__)
        members = {} if module is None else vars(module)
        objects += [
            value
            for name, value in members.items()
            if name != "__builtins__" and isinstance(value, _CONTAINERS)
        ]
    return objects


@contextmanager
def another_process() -> Iterator[None]:
    """Show another time of day, and other hashes of strings, as another process would have."""
    import builtins
    import time

    real = builtins.hash

    def salted(value: object) -> int:
        # What has a hash of its own keeps it: it may be a key already.
        own = sys._getframe(1).f_code.co_name == "__hash__"
        changed = isinstance(value, str | bytes) and not own
        return real(value) ^ 0x5BD1E995 if changed else real(value)

    with ExitStack() as patches:
        patches.enter_context(patch.object(builtins, "hash", salted))
        for name, unit in (("time", 1), ("time_ns", 10**9)):
            shifted = partial(_shifted, getattr(time, name), _SHIFT * unit)
            patches.enter_context(patch.object(time, name, shifted))
        yield


def _shifted(clock: Callable[[], float], later: int) -> float:
    return clock() + later


def _passed(hook: str) -> Any:
    """Return a method that passes a call on."""

    def method(self: Raw, jobs: JobTable, *rest: Any) -> Any:
        return self.hand(hook, jobs, *rest)

    return method


class Raw(RuntimePredictor):
    """Passes everything on through one method, and lets no answer be clipped."""

    name = "raw"
    clipped = False

    def __init__(self, inner: RuntimePredictor) -> None:
        self.inner = inner

    def on_epoch(self, epoch: int | None) -> None:
        """Pass it on."""
        self.inner.on_epoch(epoch)

    def reset(self, system: System, seed: int) -> None:
        """Pass it on."""
        self.inner.reset(system, seed)

    def hand(self, hook: str, jobs: JobTable, *rest: Any) -> Any:
        """Pass jobs on to a hook of the predictor, with what else it takes."""
        return getattr(self.inner, hook)(jobs, *rest)

    on_submit, on_start, on_cancel = map(_passed, ("on_submit", "on_start", "on_cancel"))
    observe, predict = _passed("observe"), _passed("predict")


class Renumbered(Raw):
    """Shows job tables in which users, names, queues and groups have other numbers."""

    def hand(self, hook: str, jobs: JobTable, *rest: Any) -> Any:
        """Pass on a table with other numbers."""
        return super().hand(hook, _renumbered(jobs), *rest)


def _renumbered(jobs: JobTable) -> JobTable:
    """Return a table of the same jobs; of every two strings, one has the other's code."""
    store = jobs.store
    other = JobStore(store.resources, capacity=len(store.columns))
    other.writable[:] = store.columns
    other.size, other.shapes, other.reordered = store.size, store.shapes, store.reordered
    other.quantiles, other.ends_within = store.quantiles, store.ends_within
    labels = {}
    for label in LABELS:
        codes = other.writable[:, SUBMIT_COLUMNS[label]]
        np.copyto(codes, codes ^ 1, where=codes >= 0)
        known = [*store.labels[label], f"no {label} at all"]
        labels[label] = [known[min(at ^ 1, len(known) - 1)] for at in range(len(known))]
    other.labels = labels
    return JobTable(other, jobs.rows)


class PredictsTwice(Raw):
    """Asks every question twice, and once more when the job starts."""

    def hand(self, hook: str, jobs: JobTable, *rest: Any) -> Any:
        """Pass it on, and ask again."""
        answer = super().hand(hook, jobs, *rest)
        if hook in ("predict", "on_start"):
            again = super().hand("predict", jobs, rest[-1])
            if hook == "predict":
                what = "change when asked for again"
                same(answer, again, what)
        return answer


class Watched(Raw):
    """Compares what is handed over before and after every call."""

    def hand(self, hook: str, jobs: JobTable, *rest: Any) -> Any:
        """Pass it on and compare."""
        before, outcome = _copy(jobs), rest[0] if hook == "observe" else ()
        values = [part.copy() for part in outcome]
        answer = super().hand(hook, jobs, *rest)
        for was, now in zip(before, _copy(jobs), strict=True):
            equal = np.array_equal(was, now) if isinstance(was, np.ndarray) else was == now
            require(equal, f"{hook} changes the job table it is given")
        equal = all(map(np.array_equal, values, outcome))
        require(equal, "observe changes the outcome it is given")
        return answer


def _copy(jobs: JobTable) -> list[Any]:
    store = jobs.store
    labels = {label: list(values) for label, values in store.labels.items()}
    used = store.columns[: store.size]
    return [jobs.rows.copy(), used.copy(), store.shapes.copy(), labels, store.size]


RESOURCES = ("core", "gpu", "mem")
_SYSTEM = """
resources = ["core", "gpu", "mem"]
default_expected_wait = 3600

[[nodes]]
group = "all"
count = 8
core = 16
gpu = 4
mem = 1048576
"""
_WALLTIMES = np.array([300, 900, 3600, 3600, 7200, 43_200, 86_400])
_STEMS = ("relax", "md-run", "train_", "a.out", "x")
#: Mean seconds between two submits, and between the two jobs of a pair submitted at once.
_GAP = 120.0


def sample(
    num_jobs: int = 400,
    seed: int = 0,
    *,
    strangers: bool = False,
    begin: int = 0,
) -> Fitted:
    """
    Make a log on a machine it fits.

    Users repeat themselves for a while and then change. Some jobs have no user, name or queue;
    some fail at once, some are killed at their requested time, some run beyond it, some run 0
    seconds; several are submitted in one second. Names hold what names in logs hold.

    Parameters
    ----------
    num_jobs
        Jobs J, at least 1.
    seed
        Of everything drawn; the first jobs are the same however many follow.
    strangers
        Every job has a user and a name of its own, as hard as can be on memory.
    begin
        Second of the first submit.
    """
    rng = np.random.default_rng([seed, 2017])
    rows = [_row(rng, index, strangers) for index in range(num_jobs)]
    columns: dict[str, Any] = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))
    submit = begin + np.cumsum(columns.pop("gap")).astype(np.int64)
    wait = np.array(columns.pop("wait"))
    workload = Workload.build(
        title="sample",
        job_id=[str(index) for index in range(num_jobs)],
        submit=submit,
        recorded_start=submit + wait,
        resources=RESOURCES,
        **columns,
    )
    return fit(workload, parse(_SYSTEM, where="sample"))


_COLUMNS = (
    "gap", "wait", "units", "request", "requested_time", "runtime", "status", "user", "name",
    "queue", "group",
)  # fmt: skip


def _row(rng: np.random.Generator, index: int, strangers: bool) -> tuple[object, ...]:
    """Draw one job, with the same number of draws for every job."""
    draw = rng.random(12)
    user = int(12 * draw[0] ** 2)
    # What a user does now: it changes every few dozen jobs, so that the past misleads at times.
    habit = (user * 7 + index // 60) % 11
    walltime = int(_WALLTIMES[(habit + int(2 * draw[1])) % len(_WALLTIMES)])
    share = 0.05 + 0.9 * ((habit * 37 % 11) / 11) ** 2
    runtime = int(walltime * share * (0.7 + 0.6 * draw[2]))
    status = Status.COMPLETED
    if draw[3] < 0.08:
        runtime, status = int(30 * draw[4]), Status.FAILED
    elif draw[3] < 0.12:
        runtime, status = walltime, Status.TIMEOUT
    elif draw[3] < 0.16:
        runtime = walltime + int(600 * draw[4])
    elif draw[3] < 0.18:
        runtime = 0
    name = f"{_STEMS[habit % len(_STEMS)]}{int(4 * draw[5])}"
    return (
        0 if draw[6] < 0.2 else int(-_GAP * np.log1p(-draw[7])),
        0 if draw[8] < 0.5 else int(4000 * draw[8]),
        1 + habit % 4,
        (1 + user % 3, int(habit == 5), 1024 * (1 + habit)),
        walltime,
        runtime,
        int(status),
        f"stranger{index}" if strangers else None if draw[9] < 0.03 else f"user{user}",
        f"job-{index}-of-many" if strangers else None if draw[10] < 0.05 else name,
        None if draw[11] < 0.05 else ("debug", "batch")[walltime > 3600],
        f"group{user % 3}",
    )
