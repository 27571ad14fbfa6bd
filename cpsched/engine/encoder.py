"""Jobs that calling code describes one by one, entered into a job store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError, InfeasibleRequestError
from cpsched.mapping.feasibility import infeasible
from cpsched.model import columns as c
from cpsched.model.jobstore import LABELS
from cpsched.model.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED, Split
from cpsched.model.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.jobstore import JobStore
    from cpsched.model.system import System
    from cpsched.model.types import BoolArray

_WHERE = "Request"
_ONE_CORE = {"core": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    What one job asks for, as its user said it at submit.

    Attributes
    ----------
    requested_time
        The user's limit, seconds.
    units, resources
        Number of identical units, and what one of them needs, by resource kind; kinds that are
        left out are not needed.
    per_node
        What the job needs besides on every node it touches.
    per_node_max
        The most of a kind it can use there, where that is more: a range. Kinds that are left out
        have none.
    nodes_min, nodes_max
        Bounds on the nodes it touches.
    split
        ``any`` or ``even``: as many units on each node it touches.
    contiguous, exclusive
        Consecutive nodes only; nobody else on its nodes.
    queue, user, name, group
        As text, '' where unknown.
    """

    requested_time: int
    units: int = 1
    resources: Mapping[str, int] = field(default_factory=lambda: _ONE_CORE)
    per_node: Mapping[str, int] = field(default_factory=dict)
    per_node_max: Mapping[str, int] = field(default_factory=dict)
    nodes_min: int = 1
    nodes_max: int = UNBOUNDED
    split: str = "any"
    contiguous: bool = False
    exclusive: bool = False
    queue: str = ""
    user: str = ""
    name: str = ""
    group: str = ""

    def __post_init__(self) -> None:
        _check_whole("requested_time", self.requested_time, 1, MAX_TIME)
        _check_whole("units", self.units, 1, UNBOUNDED)
        _check_whole("nodes_min", self.nodes_min, 1, UNBOUNDED)
        _check_whole("nodes_max", self.nodes_max, self.nodes_min, UNBOUNDED)
        for kind, amount in self.resources.items():
            _check_whole(kind, amount, 0, MAX_AMOUNT)
        for kind, amount in self.per_node.items():
            _check_whole(kind, amount, 0, MAX_AMOUNT)
        for kind, amount in self.per_node_max.items():
            _check_whole(f"per_node_max of {kind}", amount, self.per_node.get(kind, 0), MAX_AMOUNT)
        if self.split not in _SPLITS:
            raise ConfigError(
                f"is {self.split!r}, must be one of: {', '.join(_SPLITS)}",
                where=_WHERE,
                key="split",
            )


class JobEncoder:
    """
    Enters requests into a store; shapes, strings and eligibility are numbered by appearance.

    Parameters
    ----------
    system
        The machine.
    store
        Where the jobs go; nobody else may add any.
    any_queue
        Whether jobs may name queues that the system does not have. These have no rules, and the
        system's default expected wait.

    Attributes
    ----------
    masks
        Nodes of each eligibility class so far.
    """

    def __init__(self, system: System, store: JobStore, *, any_queue: bool = False) -> None:
        self._system = system
        self._store = store
        self._any_queue = any_queue
        self._kinds = {kind: index for index, kind in enumerate(system.resources)}
        self.masks: list[BoolArray] = []
        self._class_of: dict[tuple[str, ...], int] = {}
        self._shape_of: dict[tuple[int, ...], int] = {}
        self._codes: dict[str, dict[str, int]] = {label: {} for label in LABELS}
        #: Why requests that were looked at before never fit; None where they do.
        self._reason_of: dict[tuple[int, ...], str | None] = {}

    def add(self, request: Request, now: int) -> int:
        """
        Copy a request into the store.

        Returns
        -------
        int
            Its row, which is its handle.

        Raises
        ------
        InfeasibleRequestError
            If no placement on the empty machine satisfies it, or the rules of its queue keep it
            out.
        ConfigError
            If the system has queues and this is none of them.
        """
        self._check_queue(request)
        shape = self._shape(request)
        bounds = (request.units, request.nodes_min, request.nodes_max)
        self._check_feasible(shape, bounds)
        expected_wait = self._system.expected_wait(request.queue or None)
        limit = request.requested_time
        block = np.zeros((1, c.NUM_SUBMIT), dtype=np.int64)
        columns = block[0]
        columns[: c.EXPECTED_WAIT + 1] = (
            self._store.size,
            now,
            limit,
            request.units,
            self._number(shape),
            request.nodes_min,
            request.nodes_max,
            -1 if expected_wait is None else expected_wait,
        )
        columns[c.QUEUE : c.GROUP + 1] = [self._code(label, request) for label in LABELS]
        columns[c.UNITS_MIN : c.UNITS_MAX + 1] = request.units
        columns[c.DEADLINE : c.NOT_BEFORE + 1] = MISSING
        columns[c.PRIORITY :] = limit
        return self._store.append(block)

    def _check_queue(self, request: Request) -> None:
        name, queues = request.queue, self._system.queues
        if not queues:
            return
        queue = queues.get(name)
        if queue is None:
            if name and not self._any_queue:
                raise ConfigError(
                    f"is {name!r}, the system has: {', '.join(queues)}", where=_WHERE, key="queue"
                )
            return
        if queue.max_time is not None and request.requested_time > queue.max_time:
            raise InfeasibleRequestError(
                "",
                f"asks for {request.requested_time} s, queue {name} allows {queue.max_time} s",
            )
        if queue.users and not {request.user, request.group} & set(queue.users):
            raise InfeasibleRequestError("", f"its user and group may not use queue {name}")

    def _shape(self, request: Request) -> tuple[int, ...]:
        return (
            self._class(request.queue),
            _SPLITS[request.split],
            int(request.contiguous),
            int(request.exclusive),
            *self._amounts(request.resources),
            *self._amounts(request.per_node),
            *self._amounts(self._ranges(request)),
        )

    def _ranges(self, request: Request) -> dict[str, int]:
        """Return the most of each kind that a job can use; of a kind the system lacks, none."""
        return {kind: most for kind, most in request.per_node_max.items() if kind in self._kinds}

    def _amounts(self, amounts: Mapping[str, int]) -> list[int]:
        found = [0] * len(self._kinds)
        for kind, amount in amounts.items():
            index = self._kinds.get(kind)
            if index is not None:
                found[index] = amount
            elif amount:
                raise InfeasibleRequestError("", f"asks for {amount} {kind}, the system has none")
        return found

    def _class(self, queue: str) -> int:
        """Return the number of the nodes that the jobs of a queue may use."""
        queues = self._system.queues
        groups = queues[queue].groups if queue in queues else ()
        found = self._class_of.get(groups)
        if found is None:
            found = self._class_of[groups] = len(self.masks)
            of_node = self._system.node_groups
            self.masks.append(np.array([not groups or own in groups for own in of_node]))
        return found

    def _number(self, shape: tuple[int, ...]) -> int:
        found = self._shape_of.get(shape)
        if found is None:
            found = self._shape_of[shape] = len(self._store.shapes)
            self._store.add_shapes(np.array([shape], dtype=np.int64))
        return found

    def _code(self, label: str, request: Request) -> int:
        text: str = getattr(request, label)
        if not text:
            return -1
        codes = self._codes[label]
        found = codes.get(text)
        if found is None:
            found = codes[text] = len(codes)
            self._store.labels[label].append(text)
        return found

    def _check_feasible(self, shape: tuple[int, ...], bounds: tuple[int, int, int]) -> None:
        key = (*shape, *bounds)
        if key not in self._reason_of:
            self._reason_of[key] = self._why_never(shape, bounds)
        reason = self._reason_of[key]
        if reason is not None:
            raise InfeasibleRequestError("", reason)

    def _why_never(self, shape: tuple[int, ...], bounds: tuple[int, int, int]) -> str | None:
        num = len(self._kinds)
        job = Workload.build(
            title="",
            job_id=[""],
            submit=np.zeros(1),
            runtime=np.zeros(1),
            units=np.array([bounds[0]]),
            request=np.array([shape[4 : 4 + num]]),
            per_node=np.array([shape[4 + num : 4 + 2 * num]]),
            resources=self._system.resources,
            nodes_min=[bounds[1]],
            nodes_max=[bounds[2]],
            split=[shape[1]],
            contiguous=[bool(shape[2])],
        )
        masks = np.stack(self.masks)
        own = np.array([shape[0]])
        return infeasible(job, self._system, own, masks, rows=np.zeros(1, dtype=np.int64)).get(0)


_SPLITS = {split.name.lower(): int(split) for split in Split}


def _check_whole(key: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(
            f"is {value!r}, must be a whole number from {least} to {most}", where=_WHERE, key=key
        )
