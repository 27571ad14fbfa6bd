"""What calling code asks for, one job at a time, as rows of a job store."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError, InfeasibleRequestError
from cpsched.model import columns as c
from cpsched.model.jobstore import LABELS, SUBMIT_COLUMNS, submit_rows
from cpsched.model.speedup import MILLION
from cpsched.model.workload import MAX_NICE, RESIZE_COST, Workload
from cpsched.systems.mapping.classes import NodeFeatures, parse
from cpsched.systems.mapping.feasibility import infeasible
from cpsched.util.types import MAX_AMOUNT, MAX_TIME, MISSING, UNBOUNDED, JobType, Split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.model.jobstore import JobStore
    from cpsched.model.system import Queue, System
    from cpsched.util.types import BoolArray

_WHERE = "Request"
_ONE_CORE = {"core": 1}
#: The least and the most that a request may say of each number.
_BOUNDS = {
    "requested_time": (1, MAX_TIME),
    "units": (1, UNBOUNDED),
    "nodes_min": (1, UNBOUNDED),
    "nodes_max": (1, UNBOUNDED),
    "segment": (0, UNBOUNDED),
    "max_switches": (0, UNBOUNDED),
    "switch_wait": (0, MAX_TIME),
    "units_min": (1, UNBOUNDED),
    "units_max": (1, UNBOUNDED),
    "array_limit": (0, UNBOUNDED),
    "nice": (-MAX_NICE, MAX_NICE),
    "serial": (0, MILLION),
    "resize_cost": (0, MAX_TIME),
}
#: Those that may be None.
_MAY_BE_OPEN = ("switch_wait", "units_min", "units_max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    Request of one job: requested time, tasks, resources and conditions on its nodes.

    For example ``Request(3600, units=2, resources={"core": 4})``: an hour for two tasks of 4 cores.

    Attributes
    ----------
    requested_time
        The user's time limit, seconds.
    units, resources
        Number of identical tasks, and the request of one task by resource type. ``mem`` is in KB,
        other types are counts. Missing types are not needed.
    per_node
        Additional request on every node that the job uses, by resource type.
    per_node_max
        Largest useful amount on a node by resource type, if above ``per_node``. For example 1 to 4
        GPUs per node: ``per_node={"gpu": 1}``, ``per_node_max={"gpu": 4}``.
    nodes_min, nodes_max
        Bounds on the number of its nodes.
    split
        ``any`` numbers of tasks on its nodes, or ``even``: the same number on each.
    contiguous, exclusive
        Whether it needs consecutive nodes, and nodes without other jobs.
    segment
        Nodes in each of its segments (Slurm's ``--segment``). Each segment is inside one group of
        the topology's lowest level, and the number of its nodes is a multiple of this. 0: none.
    max_switches
        Largest number of groups of the topology's lowest level, such as switches. 0: any number.
    switch_wait
        Seconds for which ``max_switches`` applies, from when the job may first start. None: as long
        as it waits.
    restartable
        Whether it may be requeued and started again.
    job_type, units_min, units_max
        ``rigid``, ``moldable``, ``malleable`` or ``evolving``, and the bounds of its tasks. None:
        ``units``. ``requested_time`` refers to ``units`` tasks.
    serial, resize_cost
        Serial share of its work in millionths, and the seconds without progress after each change
        of size.
    urgent, deadline
        Whether it should start at once, and the second by which it should end.
    constraint
        Expression for its nodes, as in :func:`cpsched.systems.mapping.classes.parse`:
        ``a&b|c&^n7``. Empty: any nodes.
    queue, user, name, group
        Text, empty if unknown. ``queue`` may name several queues, separated by commas. Those that
        accept the job apply.
    qos, reservation, licenses, array, array_limit, nice
        Used by Slurm policies, as in :class:`~cpsched.model.workload.Workload`.
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
    segment: int = 0
    max_switches: int = 0
    switch_wait: int | None = None
    restartable: bool = False
    job_type: str = "rigid"
    units_min: int | None = None
    units_max: int | None = None
    serial: int = 0
    resize_cost: int = RESIZE_COST
    urgent: bool = False
    deadline: int | None = None
    constraint: str = ""
    queue: str = ""
    user: str = ""
    name: str = ""
    group: str = ""
    qos: str = ""
    reservation: str = ""
    licenses: str = ""
    array: str = ""
    array_limit: int = 0
    nice: int = 0

    def __post_init__(self) -> None:
        narrower = {
            "nodes_max": (self.nodes_min, UNBOUNDED),
            "units_min": (1, self.units),
            "units_max": (self.units, UNBOUNDED),
        }
        for key, (least, limit) in {**_BOUNDS, **narrower}.items():
            value = getattr(self, key)
            if value is not None or key not in _MAY_BE_OPEN:
                _check_integer(key, value, least, limit)
        for kind, amount in (*self.resources.items(), *self.per_node.items()):
            _check_integer(kind, amount, 0, MAX_AMOUNT)
        for kind, amount in self.per_node_max.items():
            _check_integer(
                f"per_node_max of {kind}", amount, self.per_node.get(kind, 0), MAX_AMOUNT
            )
        for key, value, known in (
            ("split", self.split, _SPLITS),
            ("job_type", self.job_type, _JOB_TYPES),
        ):
            if value not in known:
                raise ConfigError(
                    f"is {value!r}, must be one of: {', '.join(known)}", where=_WHERE, key=key
                )


class JobEncoder:
    """
    Adds requests to a store; shapes, strings and eligibility are numbered by appearance.

    Parameters
    ----------
    system
        The machine.
    store
        Where the jobs are added; no other code may add any.
    any_queue
        Whether jobs may be in queues that the system does not have. These have no rules, and the
        system's default expected wait.

    """

    def __init__(self, system: System, store: JobStore, *, any_queue: bool = False) -> None:
        self._system = system
        self._store = store
        self._any_queue = any_queue
        self._kinds = {kind: index for index, kind in enumerate(system.resources)}
        #: Classes by the groups and the constraint that their nodes follow from.
        self._class_of: dict[tuple[tuple[str, ...], str], int] = {}
        self._features = NodeFeatures(system)
        self._classes: BoolArray = np.zeros((0, system.num_nodes), dtype=np.bool_)
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
            If no placement on the empty machine satisfies it, or its constraint or the rules of
            its queues keep it out.
        ConfigError
            If the system has queues and this is none of them.
        """
        request = self._in_queues(request)
        if self._system.topology.apart and request.units > 1 and request.nodes_max > 1:
            # Groups that do not meet: no job has nodes of two.
            request = replace(request, max_switches=1, switch_wait=None)
        shape = self._shape(request)
        relaxed = shape
        if request.switch_wait is not None:
            relaxed = (*shape[: c.SHAPE_SWITCHES], 0, *shape[c.SHAPE_SWITCHES + 1 :])
        bounds = (request.units, request.nodes_min, request.nodes_max)
        self._check_feasible(relaxed, bounds)
        # Rigid jobs have no other size, whatever their bounds.
        rigid = request.job_type == JobType.RIGID.name.lower()
        units_min, units_max = (
            request.units if rigid or bound is None else bound
            for bound in (request.units_min, request.units_max)
        )
        expected_wait = self._system.expected_wait(request.queue or None)
        known = {
            "handle": self._store.size,
            "submit": now,
            "requested_time": request.requested_time,
            "units": request.units,
            "shape": self._number(shape),
            "switch_wait": MISSING if request.switch_wait is None else request.switch_wait,
            "nodes_min": request.nodes_min,
            "nodes_max": request.nodes_max,
            "expected_wait": -1 if expected_wait is None else expected_wait,
            "restartable": request.restartable,
            "job_type": _JOB_TYPES[request.job_type],
            "units_min": units_min,
            "units_max": units_max,
            "serial": request.serial,
            "resize_cost": request.resize_cost,
            "urgent": request.urgent,
            "deadline": MISSING if request.deadline is None else request.deadline,
            "array_limit": request.array_limit,
            "nice": request.nice,
            **{label: self._code(label, getattr(request, label)) for label in LABELS},
        }
        self._number(relaxed)
        return self._store.append(submit_rows(1, known))

    @property
    def num_classes(self) -> int:
        """Number of classes of jobs that may use the same nodes, so far."""
        return len(self._class_of)

    def classes(self) -> BoolArray:
        """Return the nodes of each class of jobs, shape ``(C, N)``."""
        if len(self._classes) != len(self._class_of):
            of_node = self._system.node_groups
            masks = [
                [not groups or own in groups for own in of_node] for groups, _ in self._class_of
            ]
            having = [self._features.mask(parse(text))[0] for _, text in self._class_of]
            self._classes = np.array(masks) & np.array(having)
        return self._classes

    def state(self) -> dict[str, Any]:
        """Return the requests so far, as arrays and lists."""
        store = self._store
        return {
            "submitted": store.columns[: store.size, : c.RANKING_ESTIMATE].copy(),
            "shapes": store.shapes.copy(),
            "labels": {label: list(strings) for label, strings in store.labels.items()},
            "groups": [list(groups) for groups, _ in self._class_of],
            "constraints": [constraint for _, constraint in self._class_of],
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned, with a store that is empty."""
        shapes, submitted = saved["shapes"], saved["submitted"]
        labels = {label: [str(text) for text in saved["labels"][label]] for label in LABELS}
        groups = [tuple(map(str, names)) for names in saved["groups"]]
        constraints = map(str, saved.get("constraints", [""] * len(groups)))
        classes = list(zip(groups, constraints, strict=True))
        self._class_of = {known: number for number, known in enumerate(classes)}
        self._shape_of = {tuple(shape): at for at, shape in enumerate(shapes.tolist())}
        for label, texts in labels.items():
            self._store.add_strings(label, texts)
            self._codes[label] = {text: code for code, text in enumerate(texts)}
        self._store.add_shapes(shapes)
        known = {
            name: submitted[:, at] for name, at in SUBMIT_COLUMNS.items() if at < c.RANKING_ESTIMATE
        }
        self._store.append(submit_rows(len(submitted), known))

    def _in_queues(self, request: Request) -> Request:
        """Return a request in those of its queues alone that take it."""
        queues = self._system.queues
        names = request.queue.split(",")
        if not queues:
            return request
        unknown = next((name for name in names if name and name not in queues), None)
        if unknown is not None and not self._any_queue:
            raise ConfigError(
                f"unknown queue {unknown!r}. Queues of the system: {', '.join(queues)}.",
                where=_WHERE,
                key="queue",
            )
        reasons = {
            queue.name: _refusal(request, queue) for queue in self._system.queues_of(request.queue)
        }
        taking = [name for name in names if reasons.get(name) is None]
        if not taking:
            raise InfeasibleRequestError("", next(filter(None, reversed(reasons.values()))))
        return request if len(taking) == len(names) else replace(request, queue=",".join(taking))

    def _shape(self, request: Request) -> tuple[int, ...]:
        constraint = parse(request.constraint)
        _, problem = self._features.mask(constraint)
        if problem is not None:
            raise InfeasibleRequestError("", problem)
        # Of a kind that the system lacks, there is none to have more of.
        node_limits = {kind: n for kind, n in request.per_node_max.items() if kind in self._kinds}
        queues = self._system.queues_of(request.queue)
        alone = constraint.exclusive or (bool(queues) and all(queue.exclusive for queue in queues))
        return (
            self._class(queues, request.constraint),
            _SPLITS[request.split],
            int(request.contiguous),
            int(request.exclusive or alone),
            request.segment,
            request.max_switches,
            *self._amounts(request.resources),
            *self._amounts(request.per_node),
            *self._amounts(node_limits),
        )

    def _amounts(self, amounts: Mapping[str, int]) -> list[int]:
        by_kind = [0] * len(self._kinds)
        for kind, amount in amounts.items():
            index = self._kinds.get(kind)
            if index is not None:
                by_kind[index] = amount
            elif amount:
                raise InfeasibleRequestError(
                    "", f"asks for {amount} {kind}, and the system has none"
                )
        return by_kind

    def _class(self, queues: Sequence[Queue], constraint: str) -> int:
        """Return the number of the nodes that jobs of queues may use, with a constraint."""
        every = not all(queue.groups for queue in queues)
        groups = () if every else tuple({g: None for queue in queues for g in queue.groups})
        return self._class_of.setdefault((groups, constraint), len(self._class_of))

    def _number(self, shape: tuple[int, ...]) -> int:
        number = self._shape_of.get(shape)
        if number is None:
            number = self._shape_of[shape] = len(self._store.shapes)
            self._store.add_shapes(np.array([shape], dtype=np.int64))
        return number

    def _code(self, label: str, text: str) -> int:
        if not text:
            return -1
        codes = self._codes[label]
        code = codes.get(text)
        if code is None:
            code = codes[text] = len(codes)
            self._store.add_strings(label, (text,))
        return code

    def _check_feasible(self, shape: tuple[int, ...], bounds: tuple[int, int, int]) -> None:
        key = (*shape, *bounds)
        if key not in self._reason_of:
            self._reason_of[key] = self._why_never(shape, bounds)
        reason = self._reason_of[key]
        if reason is not None:
            raise InfeasibleRequestError("", reason)

    def _why_never(self, shape: tuple[int, ...], bounds: tuple[int, int, int]) -> str | None:
        num, first = len(self._kinds), c.SHAPE_REQUEST
        job = Workload.build(
            title="",
            job_id=[""],
            submit=np.zeros(1),
            runtime=np.zeros(1),
            units=np.array([bounds[0]]),
            request=np.array([shape[first : first + num]]),
            per_node=np.array([shape[first + num : first + 2 * num]]),
            resources=self._system.resources,
            nodes_min=[bounds[1]],
            nodes_max=[bounds[2]],
            split=[shape[c.SHAPE_SPLIT]],
            contiguous=[bool(shape[c.SHAPE_CONTIGUOUS])],
            segment=[shape[c.SHAPE_SEGMENT]],
            max_switches=[shape[c.SHAPE_SWITCHES]],
        )
        own = np.array([shape[c.SHAPE_CLASS]])
        return infeasible(
            job, self._system, own, self.classes(), rows=np.zeros(1, dtype=np.int64)
        ).get(0)


def _refusal(request: Request, queue: Queue) -> str | None:
    """Return why a queue does not take a job."""
    if queue.max_time is not None and request.requested_time > queue.max_time:
        return f"asks for {request.requested_time} s, queue {queue.name} allows {queue.max_time} s"
    if queue.users and not {request.user, request.group} & set(queue.users):
        return f"its user and group may not use queue {queue.name}"
    return None


_JOB_TYPES = {kind.name.lower(): int(kind) for kind in JobType}
_SPLITS = {split.name.lower(): int(split) for split in Split}


def _check_integer(key: str, value: object, least: int, limit: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= limit:
        raise ConfigError(
            f"is {value!r}, must be a whole number from {least} to {limit}", where=_WHERE, key=key
        )
