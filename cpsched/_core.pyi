"""The native core of cpsched."""

from collections.abc import Mapping, Sequence, Set
from typing import Annotated

import numpy
from numpy.typing import NDArray


SOURCE_HASH: str = ...

COMPILER: str = ...

def release_unused_memory() -> None:
    """
    Hand pages of memory back to the system that the C library keeps for later.
    """

class PassMemory:
    """What the passes of one allocator remember between decisions."""

    def __init__(self, allocator: int, capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def look_at(self, store: object, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], requests: object, eligible: object, free: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], reordered: int) -> None:
        """Point to the arrays of a view."""

    def look_at_running(self, now: int, running: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], node: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Point to its running jobs, too."""

    def place(self, job: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], preferred: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = ...) -> NDArray[numpy.int64] | None:
        """
        Return the number of tasks of a job on each node, shape (N,); None if it does not fit.

        The job is a row of the job table, free is what each node has, shape (N, R). Preferred is a part of that to use first, as reservations do.
        """

    def set_wanted(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Note the request classes that other jobs ask for, for the allocator fgd.

        Rows of request class, tasks together on one node and weight, the heaviest first.
        """

    def list(self, rows: NDArray[numpy.int64], stop: bool) -> tuple | None:
        """
        Start jobs in the order given, as long as they fit.

        Returns
        -------
        tuple or None
            None where nothing starts; otherwise the rows that start, the bounds of their
            nodes, the nodes, the tasks on each and what is taken of each, shape (K, R); then
            the row of the job with the reservation, -1 for none, when it starts, and the
            reserved nodes.
        """

    def easy(self, rows: NDArray[numpy.int64], backfill: NDArray[numpy.int64], rule: int) -> tuple | None:
        """
        Start heads of a queue, reserve for the first that does not fit, and backfill.

        `backfill` has the same rows in the order in which they are backfilled. Returns what
        `list` does; None where nothing starts and nothing is reserved.
        """

    def candidates(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_age: bool) -> NDArray[numpy.int64]:
        """
        Return the rows of the jobs that could start now on their own, in their order.
        """

    def fits_now(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fits: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Fill `fits` with whether as many tasks of each job fit now."""

    def plan(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, full: bool) -> tuple:
        """
        Plan jobs in order, by conservative backfilling.

        Returns what starts now, and the planned start of each job, -1 where none is.
        """

    def list_on_nodes(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], duration: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], occupies: bool, times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> tuple:
        """
        Give jobs, in some order, the first window in which they fit on what nodes have.

        Nodes have ``levels[i]``, shape (N, R), from ``times[i]`` on, never less later.
        Returns the start of each job, -1 for none, and its tasks on each node, (n, N).
        """

class ClusterState:
    """What a Cluster is without its tables."""

class Cluster(ClusterState):
    """
    The state of a cluster: which jobs wait, which run where, and what is free.
    """

    def __init__(self, capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def look_at_jobs(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Use a job table, shape (n, 41); it is written to."""

    def look_at_requests(self, requests: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Use a table of request classes."""

    def look_at_eligible(self, masks: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Use masks of the nodes that are up and that each class may use, shape (C, N).
        """

    @property
    def num_waiting(self) -> int:
        """The number of waiting jobs."""

    @property
    def num_running(self) -> int:
        """The number of running jobs."""

    @property
    def free(self) -> NDArray[numpy.int64]:
        """
        What each node has left, shape (N, R); nothing on nodes that are down.

        One array, which this brings up to date.
        """

    def waiting(self) -> Annotated[NDArray[numpy.int64], dict(writable=False)]:
        """Return the rows of the waiting jobs in order of submission."""

    def running(self) -> Annotated[NDArray[numpy.int64], dict(writable=False)]:
        """Return the rows of the running jobs by (expected end, row)."""

    def allocations(self) -> tuple:
        """
        Return the ranges of nodes of all running jobs, found by ALLOC_FIRST: first node,
        number of nodes, tasks and amounts on each.
        """

    def oldest(self, size: int) -> int:
        """
        Return the first row of a job that waits or runs; size where none does.
        """

    def enqueue(self, row: int) -> None:
        """Put a job at its place in the queue."""

    def return_to_queue(self, row: int) -> None:
        """Put a job that was held, or that ran, at its place in the queue."""

    def dequeue(self, row: int, state: int) -> None:
        """Take a waiting job out of the queue, in another state."""

    def requeue(self, row: int) -> None:
        """Put a running job back into the queue, with one more attempt."""

    def set_queue(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Replace the queue."""

    def start(self, row: int, node: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tasks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], now: int) -> tuple[int, int, int]:
        """
        Give a waiting job nodes; return fault, position and resource, the first 0 for none.
        """

    def resize(self, row: int, node: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tasks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], now: int) -> tuple[int, int, int]:
        """Give a running job other nodes; returns as start."""

    def undo_start(self, row: int) -> None:
        """Undo a start in the same second."""

    def leave(self, row: int) -> None:
        """Take a running job off its nodes."""

    def expect_end(self, row: int, end: int) -> None:
        """Expect a running job at another end than so far."""

    def correct_overdue(self, doubles: bool, now: int) -> None:
        """
        Expect running jobs later whose expected end has passed; never before now + 1.
        """

    @property
    def down(self) -> list[int]:
        """The nodes that are down, in order."""

    def set_down(self, nodes: Sequence[int]) -> None:
        """Set which nodes are down."""

    @property
    def now(self) -> int:
        """The second of the last report."""

    @now.setter
    def now(self, arg: int, /) -> None: ...

    @property
    def has_news(self) -> bool:
        """Whether anything has happened since the dispatcher was last asked."""

    @has_news.setter
    def has_news(self, arg: bool, /) -> None: ...

    @property
    def wakes(self) -> set[int]:
        """The seconds at which the dispatcher asked to be asked."""

    @wakes.setter
    def wakes(self, arg: Set[int], /) -> None: ...

    def add_wake(self, second: int) -> None:
        """Ask the dispatcher at a second."""

    @property
    def num_jobs(self) -> int:
        """The number of jobs submitted so far."""

    @num_jobs.setter
    def num_jobs(self, arg: int, /) -> None: ...

    @property
    def reordered(self) -> int:
        """How often a job came into the queue elsewhere than at its end."""

    @reordered.setter
    def reordered(self, arg: int, /) -> None: ...

    def await_switches(self, row: int, now: int) -> None:
        """Note when the limit of switches of a waiting job passes."""

    @property
    def awaits_switches(self) -> bool:
        """Whether a job's limit of switches will pass."""

    def relax_switches(self, row: int) -> None:
        """Allow a job any number of switches from now on."""

    @property
    def switch_ends(self) -> set[tuple[int, int]]:
        """When the limit of switches of each job passes: second and row."""

    @switch_ends.setter
    def switch_ends(self, arg: Set[tuple[int, int]], /) -> None: ...

    @property
    def relaxed(self) -> set[int]:
        """The jobs whose limit of switches has passed."""

    @relaxed.setter
    def relaxed(self, arg: Set[int], /) -> None: ...

    def is_due(self, now: int) -> bool:
        """Say whether the dispatcher is to be asked."""

    @property
    def next_wake(self) -> int | None:
        """
        The next second at which the dispatcher is to be asked in any case; None: never.
        """

    def ran(self, row: int, now: int) -> int:
        """
        Return how many seconds a running job has run, as on the tasks it prefers.
        """

    @property
    def ran_before(self) -> dict[int, int]:
        """Seconds that jobs which were resized had run before."""

    @ran_before.setter
    def ran_before(self, arg: Mapping[int, int], /) -> None: ...

    def set_ran_before(self, row: int, ran: int) -> None:
        """Note what a resized job had run before."""

    def forget_ran_before(self, row: int) -> None:
        """Forget it."""

class NativeDispatcher:
    """A dispatcher that the event loop asks without Python."""

class FifoDispatcher(NativeDispatcher):
    """First come, first served."""

    def __init__(self, allocator: int, capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class EasyDispatcher(NativeDispatcher):
    """EASY backfilling in order of submission."""

    def __init__(self, allocator: int, capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], prefers: bool) -> None: ...

class GreedyDispatcher(NativeDispatcher):
    """In order of priority, every job that fits."""

    def __init__(self, allocator: int, capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], largest_wait: int, demand: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class NativeObserver:
    """An observer that the event loop tells without Python."""

class AllocationRecorder(NativeObserver):
    """Writes down every allocation as contiguous ranges of nodes."""

    def __init__(self, num_resources: int, grow: object) -> None: ...

    @property
    def used(self) -> int:
        """The number of rows written."""

    @used.setter
    def used(self, arg: int, /) -> None: ...

    def add(self, row: int, now: int, node: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tasks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Write down an allocation."""

class DecisionRecorder(NativeObserver):
    """Keeps how long each decision took, and counts starts."""

    def __init__(self) -> None: ...

    def take(self) -> tuple:
        """
        Return the seconds of each decision and the number of starts, and begin anew.
        """

class RefusedStart(Exception):
    pass

class Simulation:
    """The event loop of a simulation."""

    def __init__(self, owner: object, cluster: Cluster, columns: dict, start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], end: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], outcome: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], settings: dict) -> None: ...

    def set_dispatcher(self, dispatcher: object | None) -> None:
        """Decide by a native dispatcher, or by the owner's _dispatch."""

    def add_observer(self, observer: object) -> None:
        """Tell a native observer."""

    def forget(self) -> None:
        """Have the native dispatcher look at the whole state again."""

    def advance(self, until: int, seconds: float) -> int:
        """
        Go on for some seconds of real time, to the last instant before `until`; return 0 if
        nothing is left to happen, 1 if `until` is reached, 2 if time is over.
        """

    def instant(self, now: int) -> None:
        """Do what happens at a second."""

    def next_time(self) -> int | None:
        """Return the next second at which something happens; None: never."""

    def push(self, time: int, phase: int, row: int) -> None:
        """Put an event into those to come."""

    def started(self, row: int) -> None:
        """Note a start that the cluster has made."""

    def push_end(self, row: int, end: int) -> None:
        """Put a running job's new end into the events."""

    def forget_end(self, row: int) -> None:
        """
        Remove a running job's end and its requests for another size from the events.
        """

    def finish(self, row: int, outcome: int) -> None:
        """Write down how a job ended."""

    def fulfilled(self, needed: int, type: int) -> int:
        """
        Return 1 if a dependency is fulfilled, 0 if not yet, -1 if it never will be.
        """

    def events(self) -> list[tuple[int, int, int, int]]:
        """Return the events to come, in order: second, phase, counter and row."""

    def set_events(self, events: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Replace the events to come."""

    @property
    def has_events(self) -> bool:
        """Whether an event is to come."""

    @property
    def now(self) -> int:
        """The second of the last instant."""

    @now.setter
    def now(self, arg: int, /) -> None: ...

    @property
    def next_submit(self) -> int:
        """The first job that has not been submitted."""

    @next_submit.setter
    def next_submit(self, arg: int, /) -> None: ...

    @property
    def counter(self) -> int:
        """How many events there have been."""

    @counter.setter
    def counter(self, arg: int, /) -> None: ...

    @property
    def num_held(self) -> int:
        """The number of jobs that are held."""

    @num_held.setter
    def num_held(self, arg: int, /) -> None: ...

    @property
    def tick(self) -> int | None:
        """
        The second of the dispatch grid at which the dispatcher is asked next; None: none.
        """

    @tick.setter
    def tick(self, tick: int | None) -> None: ...

    @property
    def next_node_change(self) -> int | None:
        """The next second at which nodes go down or come up; None: never."""

    @next_node_change.setter
    def next_node_change(self, second: int | None) -> None: ...

    @property
    def is_over(self) -> bool:
        """
        Whether nothing that the dispatcher may still be asked makes a difference.
        """

    @is_over.setter
    def is_over(self, arg: bool, /) -> None: ...

def place_in_order(fitting: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, tasks: int, nodes_min: int, nodes_max: int, even: bool, contiguous: bool) -> NDArray[numpy.int64] | None:
    """
    Put a job's tasks on nodes in a given order of preference.

    Fitting is how many tasks each node holds, order has the nodes that hold one or more. Returns the number of tasks on each node, None if the job does not fit.
    """

def num_fitting_tasks(free: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], eligible: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)], requests: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], request_id: int) -> NDArray[numpy.int64]:
    """
    Return the number of tasks of a request class that fit on each node, shape (N,).
    """

def given_back(running: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """Return what each running job releases when it ends, shape (B, R)."""

def pool_profile(now: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], running: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], back: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Return the times, and what all nodes together have free from each on, (S, R).
    """

def list_plan(order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], duration: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], demand: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ready: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], level: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Return the start of each job on the system as one pool, -1 where it never fits.

    In the order given, each gets the first second from ``ready`` on.
    """

def job_cost(wait: float, runtime: float, aging: float) -> float:
    """
    Return the bounded slowdown of a job, and a penalty for a very long wait.
    """

def overdue_slope(wait: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], area: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], aging: float) -> NDArray[numpy.float64]:
    """
    Return by how much the penalty for long waits grows with a second, shape (n,).
    """

def plan_cost(start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], duration: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], submit: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], aging: float) -> float:
    """
    Return the sum of ``job_cost`` over a plan; a job that never starts costs most.
    """

def runtime_distribution(facts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ended_of_all: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], num_of_all: int, ended_of_users: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], num_of_user: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float) -> tuple:
    """Return runtimes, weights and the number of samples of each job."""

def expected_runtimes(runtime: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """Return means of 1 / max(r, 10) and of the runtime r of each job."""

def sampled_runtimes(num: int, seed: int, elapsed: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], otherwise: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], runtime: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Return sampled runtimes longer than each job has run, one row a scenario.
    """

def runtime_predictions(runtime: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], horizons: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Return quantiles, probabilities to end within horizons, and what to rank by.
    """

class ShareTree:
    """The tree of associations and their shares; the root first."""

    def __init__(self, parent: Sequence[int], shares: Sequence[int], is_user: Sequence[bool]) -> None: ...

    def __len__(self) -> int: ...

    @property
    def share_parent(self) -> object:
        """Whose child each counts as."""

    @property
    def level_share(self) -> object:
        """Each one's part of the shares of its siblings and itself."""

    @property
    def norm_share(self) -> object:
        """The same times that of all accounts above it."""

    def summed_up(self, amounts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Return amounts with those of all associations below added."""

    def level_fair_share(self, usage: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Return the share among siblings over the part of their parent's usage."""

    def fair_tree(self, usage: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """Return users' Fair Tree factors, 0 for accounts."""

    def effective_usage(self, norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """
        Return one's own part of all usage, and a part of what siblings have used.
        """

    def classic(self, effective: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dampening: float) -> NDArray[numpy.float64]:
        """Return ``2 ** (-(effective usage / share) / dampening)``."""

class SlurmUsage:
    """The usage of associations, with decay."""

    def __init__(self, tree: ShareTree, settings: dict, used: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], resets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def start(self, association: int, billing: float, now: int) -> None:
        """Charge a job from now on."""

    def end(self, association: int, billing: float, start: int, now: int) -> None:
        """Charge a job that ends now."""

    def advance(self, now: int) -> int:
        """Do the computations that are due; return the second of the last."""

    @property
    def raw(self) -> object:
        """The usage of each association and all below it."""

    def state(self) -> dict: ...

    def restore(self, saved: dict) -> None: ...

class SlurmLimits:
    """Limits as counters with a maximum."""

    def __init__(self) -> None: ...

    def add_counter(self, most: int, stops: bool) -> int:
        """
        Add a counter; `stops`: whether a job over it may stop those behind it.
        """

    def add_set(self, entries: Sequence[tuple[int, int, int, bool]]) -> int:
        """Add what a job adds to: (counter, amount, factor, checked) each."""

    def counter(self, number: int) -> tuple:
        """Return what is counted, the most that may be, and `stops`."""

    def set(self, number: int) -> list:
        """Return what `add_set` was given."""

class PlainSlurm:
    """Slurm's two schedulers without a policy."""

    def __init__(self, settings: dict, allocator: int, capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def run(self, now: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], backfills: bool, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], requests: object, eligible: object, free: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], running: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], node: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple:
        """
        Start jobs in the order given, and backfill where that is due.

        Returns what starts, the rows that backfill has looked at, when they are planned, and
        the places in the order of what the main pass and backfill have started.
        """

class SlurmScheduler:
    """Slurm in one run."""

    def __init__(self, settings: dict, allocator: int, capacity: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], partitions: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)], reserved_from: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], reserved_until: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], reserved: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)], tree: ShareTree, used: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], resets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def look_at(self, requests: object, eligible: object) -> None:
        """Point to the request classes and masks of a view."""

    def decide(self, now: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], running: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], node: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], num_jobs: int, waiting: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], reordered: int, learn: object) -> object:
        """Run the passes that are due; `learn` is asked for templates of rows."""

    def priorities(self, now: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], learn: object) -> list[int]:
        """Return the priorities of jobs that arrive now."""

    def add_template(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], row: int, records: Sequence[Sequence[int]], amounts: Sequence[Sequence[int]], factors: Sequence[Sequence[float]]) -> None:
        """Say what the records of jobs like one are made of."""

    def unknown(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], num_jobs: int) -> NDArray[numpy.int64]:
        """Return the rows of jobs that none is like whose template is known."""

    def records(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
        """Return what is known of records, a row each."""

    def records_of(self, row: int) -> tuple:
        """Return the first record of a job, and the one behind its last."""

    def amounts(self, number: int) -> list[int]:
        """Return what a record counts in limits."""

    def ranking(self) -> NDArray[numpy.int64]:
        """Return the queue's records as the last decision saw it."""

    def forget_templates(self, renumbered: bool) -> None:
        """Forget what jobs are alike."""

    def note_change(self) -> None:
        """Note that something has changed besides jobs."""

    def held_by(self, row: int) -> int:
        """Return a counter that holds a job now, -1 if none does."""

    def planned(self) -> tuple:
        """
        Return the rows that backfill has looked at, and when they are planned.
        """

    def started(self) -> tuple:
        """Return the records that the main pass and backfill have started."""

    def exceeded(self, number: int) -> int:
        """Return a counter that holds a record now, -1 if none does."""

    @property
    def due(self) -> tuple:
        """
        How many jobs the last main pass considered, and whether backfill came.
        """

    @property
    def timer(self) -> dict:
        """When passes are due, and when the last ones were."""

    @property
    def again_at(self) -> int:
        """When there is something to do again for the jobs that wait."""

    @property
    def limits(self) -> SlurmLimits: ...

    @property
    def usage(self) -> SlurmUsage: ...

    @property
    def num_templates(self) -> int: ...

    def state(self) -> dict: ...

    def restore(self, saved: dict) -> None: ...

class SlurmDispatcher(NativeDispatcher):
    """Slurm, as the event loop asks it without Python."""

    def __init__(self, scheduler: SlurmScheduler, learn: object) -> None: ...

def number_lines(text: bytes, width: int, max_value: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], may_have_fraction: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], is_column: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Return columns of the lines of numbers, the numbers of these lines, and the number, begin and end of every other line that is not blank.
    """

def num_up_to(values: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Return how many of some rising values are at most each of some rising limits.
    """

def numbered_sequences(rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Return a number for each sequence of rows, the same for equal ones, and the first sequence of each number.
    """

class PoolJobs:
    """The jobs of a log on a pool of each resource."""

    def __init__(self, submit: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], runtime: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], estimate: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], requested_time: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], demand: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Take n jobs in order of submit; demand of shape (n, R), total of shape (R,).
        """

    def __len__(self) -> int: ...

class EpisodeOptions:
    """What an agent decides, and what happens behind its decision."""

    def __init__(self, *, by_rule: bool, only_fitting: bool, may_wait: bool, backfills: bool, behind: int, rules: Sequence[int], visible: int, measure: int) -> None:
        """Take options; rules and measures by number."""

class Episodes:
    """Episodes of one log that are stepped together."""

    def __init__(self, jobs: PoolJobs, options: EpisodeOptions, *, num_episodes: int, length: int, shows_system: bool, is_dense: bool, relative_to: int | None) -> None:
        """Prepare E episodes with windows of some length."""

    def begin(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Begin episodes, each at a row of its own."""

    def step(self, actions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """
        Let every episode that is not over act; return rewards and whether each is over.
        """

    def by_rule(self, first: int, rule: int) -> float:
        """Return the measure of a rule in the window from a row on."""

    def __len__(self) -> int: ...

    @property
    def rows(self) -> Annotated[NDArray[numpy.float32], dict(writable=False)]:
        """What is shown of jobs, shape (E, A, F); a view."""

    @property
    def system(self) -> Annotated[NDArray[numpy.float32], dict(writable=False)]:
        """What is shown of the system, shape (E, S); a view."""

    @property
    def mask(self) -> Annotated[NDArray[numpy.bool_], dict(writable=False)]:
        """Which actions are possible, shape (E, A); a view."""

    @property
    def cost(self) -> NDArray[numpy.float64]:
        """The measure of each episode so far, shape (E,)."""

    @property
    def first_row(self) -> NDArray[numpy.int64]:
        """The first row of the window of each, shape (E,)."""

    @property
    def now(self) -> NDArray[numpy.int64]:
        """The present second of each, shape (E,)."""

    def starts(self, number: int) -> NDArray[numpy.int64]:
        """Return when the jobs of a window have started, -1 for not yet."""

def feature_names() -> list[str]:
    """Return the names of the columns of an observation, in order."""

def observed_jobs(now: int, shown: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], submit: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], estimate: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], demand: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], total: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], num_waiting: int, expected_end: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], released: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], num_rows: int, may_wait: bool) -> NDArray[numpy.float32]:
    """
    Return the rows of an observation in which some jobs are shown, shape (A, F).

    Running jobs are in order of their expected ends.
    """

def rule_keys(rule: int, submit: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], estimate: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], demand: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], now: int) -> NDArray[numpy.float64]:
    """
    Return the keys of jobs under a rule; one with a smaller key goes first.
    """
