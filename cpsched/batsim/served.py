"""
Our dispatchers as a scheduler of Batsim.

A :class:`Served` is told what Batsim says and answers what starts; it neither listens nor sends.
Hosts are nodes of one core, and times are whole seconds: what happens within a second is decided
on as of its begin.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.batsim.messages import Event, Message, hosts_of, intervals, read, written
from cpsched.batsim.version5 import hello, read5
from cpsched.batsim.version5 import written as written5
from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError, DispatchError, InfeasibleRequestError
from cpsched.model.decision import Start
from cpsched.systems import parse as parse_system
from cpsched.util.types import Status
from cpsched.util.versions import versions
from cpsched.util.words import quoted

if TYPE_CHECKING:
    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.prediction import RuntimePredictor
    from cpsched.util.types import IntArray

#: How jobs end, by Batsim.
_STATUS = {
    "COMPLETED_SUCCESSFULLY": Status.COMPLETED,
    "COMPLETED_FAILED": Status.FAILED,
    "COMPLETED_WALLTIME_REACHED": Status.TIMEOUT,
    "COMPLETED_KILLED": Status.CANCELLED,
}
#: What Batsim says that changes nothing here.
_IGNORED = {"ANSWER", "JOB_KILLED"}


class Served:
    """
    Answers Batsim with what a dispatcher decides.

    Parameters
    ----------
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``, or objects.
    default_time
        Walltime of jobs without one, seconds; None: such jobs are refused.
    seed
        Of dispatcher and predictor.

    Attributes
    ----------
    ended
        Whether Batsim has said that the simulation has ended.
    """

    def __init__(
        self,
        dispatcher: str | Dispatcher = "easy",
        predictor: str | RuntimePredictor = "requested",
        *,
        default_time: int | None = None,
        seed: int = 0,
    ) -> None:
        self.ended = False
        self._dispatcher, self._predictor, self._seed = dispatcher, predictor, seed
        self._default_time = default_time
        self._cluster: Cluster | None = None
        #: Batsim's number of each host, increasing.
        self._hosts: IntArray = np.zeros(0, dtype=np.int64)
        self._names: list[str] = []
        self._handles: dict[str, int] = {}
        self._down: set[int] = set()
        #: The last second at which Batsim was asked to call.
        self._called = -1

    def answer(self, message: Message) -> list[Event]:
        """
        Return what the scheduler says to a message, in this order.

        Raises
        ------
        DispatchError
            If Batsim breaks the protocol or says what cannot be respected, or the dispatcher an
            invariant.
        """
        second = int(message.now)
        answers: list[Event] = []
        for event in message.events:
            answers += self._take(event, int(event.timestamp), message.now)
        if self._cluster is not None and not self.ended:
            answers += self._decide(self._cluster, second, message.now)
        return answers

    def _take(self, event: Event, second: int, now: float) -> list[Event]:
        """Take note of an event; return what is said at once."""
        if event.type == "SIMULATION_BEGINS":
            self._begin(event)
            return []
        if self._cluster is None:
            raise DispatchError(f"batsim: {quoted(event.type)} comes before SIMULATION_BEGINS")
        match event.type:
            case "JOB_SUBMITTED":
                return self._submit(self._cluster, event, second, now)
            case "JOB_COMPLETED":
                handle = self._handles.get(event.value("job_id", str))
                if handle is None:
                    raise DispatchError(
                        f"batsim: job {event.data['job_id']!r} ends, but was never submitted"
                    )
                state = event.data.get("job_state", "COMPLETED_SUCCESSFULLY")
                killed = state == "COMPLETED_WALLTIME_REACHED"
                status = _STATUS.get(state, Status.UNKNOWN)
                self._cluster.end(handle, second, status=status, killed=killed)
            case "NOTIFY":
                self._hear(self._cluster, event, second)
            case "SIMULATION_ENDS":
                self.ended = True
            case "REQUESTED_CALL":
                pass  # A wake of the cluster, which knows its seconds.
            case kind if kind not in _IGNORED:
                raise DispatchError(f"batsim: the event {quoted(kind)} is not supported")
        return []

    def _begin(self, event: Event) -> None:
        """Make the machine."""
        # Before version 2 the key was another.
        key = "compute_resources" if "compute_resources" in event.data else "resources_data"
        numbers: list[Any] = [
            host.get("id") for host in event.value(key, list) if isinstance(host, dict)
        ]
        if not numbers or not all(type(number) is int and number >= 0 for number in numbers):
            raise DispatchError(
                f"batsim: {key} of SIMULATION_BEGINS must list hosts, each with an id of 0 or more"
            )
        if event.data.get("allow_compute_sharing") is True:
            raise DispatchError(
                "batsim: allow_compute_sharing is on, but jobs cannot share hosts. Turn it off."
            )
        self._hosts = np.array(sorted(numbers), dtype=np.int64)
        text = (
            f'resources = ["core"]\n[[nodes]]\ngroup = "host"\ncount = {len(numbers)}\ncore = 1\n'
        )
        self._cluster = Cluster(
            parse_system(text),
            self._dispatcher,
            self._predictor,
            any_queue=True,
            seed=self._seed,
            may_change=False,
        )

    def _submit(self, cluster: Cluster, event: Event, second: int, now: float) -> list[Event]:
        """Put a job in the queue, or reject it."""
        name, job = event.value("job_id", str), event.value("job", dict)
        asked, walltime = job.get("res"), job.get("walltime", -1)
        if type(asked) is not int or not isinstance(walltime, int | float):
            raise DispatchError(
                f"batsim: job {quoted(name)}: res must be a whole number, walltime a number"
            )
        if walltime <= 0:
            if self._default_time is None:
                raise ConfigError(f"job {quoted(name)} has no walltime. Give --default-time.")
            walltime = self._default_time
        try:
            request = Request(units=max(asked, 1), requested_time=ceil(walltime))
            handle = cluster.submit(request, second, job_id=name)
        except InfeasibleRequestError:
            return [Event(now, "REJECT_JOB", {"job_id": name})]
        self._handles[name] = handle
        self._names.append(name)
        return []

    def _hear(self, cluster: Cluster, event: Event, second: int) -> None:
        """Hear which hosts are available."""
        kind = event.value("type", str)
        if kind not in ("event_machine_unavailable", "event_machine_available"):
            return
        named = hosts_of(event.value("resources", str), int(self._hosts[-1]) + 1)
        nodes = set(np.flatnonzero(np.isin(self._hosts, named)).tolist())
        self._down = self._down - nodes if kind == "event_machine_available" else self._down | nodes
        cluster.set_down(self._down, second)

    def _decide(self, cluster: Cluster, second: int, now: float) -> list[Event]:
        """Start what the dispatcher starts in this second, and ask for a call if it wants one."""
        answers: list[Event] = []
        interval = cluster.dispatcher.interval
        wait = -second % interval if interval else 0
        while cluster.is_due(second) and not wait:
            view = cluster.prepare(second)
            if view is None:
                break
            decision = cluster.dispatcher.decide(view)
            cluster.accept(decision, second)
            starts = [action for action in decision.actions if isinstance(action, Start)]
            cluster.start(starts, second)
            answers += [self._execute(start, now) for start in starts]
            if not (starts and decision.again_at == second):
                break
        wake = second + wait if wait and cluster.is_due(second) else cluster.next_wake
        if wake is not None and wake != self._called:
            self._called = wake
            answers.append(Event(now, "CALL_ME_LATER", {"timestamp": wake}))
        return answers

    def _execute(self, start: Start, now: float) -> Event:
        hosts = self._hosts[start.allocation.node].tolist()
        data = {"job_id": self._names[start.handle], "alloc": intervals(hosts)}
        return Event(now, "EXECUTE_JOB", data)


def serve(socket: Any, served: Served, protocol: int = 4) -> None:
    """
    Answer all that arrives at a socket, until the simulation ends.

    Parameters
    ----------
    protocol
        4, which is that of version 3, too; or 5.

    Raises
    ------
    DispatchError
        As :meth:`Served.answer`.
    """
    reads, writes = (read5, written5) if protocol == 5 else (read, written)
    if protocol == 5:
        socket.recv()
        socket.send(hello("cpsched", versions()["cpsched"]))
    last = 0.0
    while not served.ended:
        message = reads(socket.recv(), "Batsim", last)
        last = message.now
        socket.send_string(writes(message.now, served.answer(message)))
