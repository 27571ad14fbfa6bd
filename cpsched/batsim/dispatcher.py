"""
Schedulers written for Batsim, as a dispatcher.

The scheduler runs in a process of its own and is told what happens: jobs that are submitted, with
the number of hosts and the walltime, and jobs that have ended. It answers what starts on which
hosts. No message has a runtime, or a job that is not submitted; a profile holds the walltime.
"""

from __future__ import annotations

import hashlib
import json
from heapq import heappop, heappush
from math import ceil
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from cpsched.batsim import events
from cpsched.batsim.hosts import check_kind, hosts_of_system
from cpsched.batsim.jobs import ENDED, REJECTED, RUNS, WAITS, BatsimJobs
from cpsched.batsim.messages import Event, hosts_of, read, written
from cpsched.batsim.process import Scheduler, words_of
from cpsched.batsim.version5 import read5
from cpsched.batsim.version5 import written as written5
from cpsched.dispatch.contract import Dispatcher
from cpsched.errors import ConfigError, DispatchError
from cpsched.model.decision import NOTHING, Decision, Kill, Start
from cpsched.util.words import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.batsim.hosts import Hosts
    from cpsched.model.decision import Action
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.types import BoolArray

#: Why a message of the scheduler is refused.
_REFUSED = {
    "SET_RESOURCE_STATE": "nodes stay switched on in cpsched",
    "REGISTER_JOB": "all jobs come from the log",
    "REGISTER_PROFILE": "all jobs come from the log",
    "CHANGE_JOB_STATE": "jobs end by themselves or by KILL_JOB",
    "QUERY": "energy is outside the simulation",
    "ANSWER": "no question was sent",
    "TO_JOB_MSG": "jobs receive no messages",
    "RESOURCES_ADDED": "the system has a fixed size",
    "RESOURCES_REMOVED": "the system has a fixed size",
}
#: Parts of EXECUTE_JOB that cannot be respected.
_EXECUTORS = ("mapping", "storage_mapping", "additional_io_job", "profile_allocation_override")
#: Batsim's messages arrive a moment after what they tell, so never at second 0, and schedulers rely
#: on it. A power of two: sums with whole seconds are exact.
_LATE = 2.0**-10


class Batsim(Dispatcher):
    """
    A scheduler written for the simulator Batsim, run as a process of its own.

    Parameters
    ----------
    command
        Command that starts the scheduler. ``{socket}`` stands for its endpoint, which is otherwise
        appended as ``--socket-endpoint=...``.
    hosts
        Meaning of a host of Batsim: ``cores`` (one core) or ``nodes`` (one node).
    timeout
        Seconds within which the scheduler must answer.
    socket
        Endpoint of the scheduler, such as ``tcp://localhost:28000``. By default a private one.
        Without a command the scheduler must already run.
    protocol
        Version of the protocol: 4 (also for Batsim 3) or 5.

    Raises
    ------
    ConfigError
        If an option is invalid.
    """

    name = "batsim"
    family = "schedulers of others"
    good_for = "schedulers written for Batsim (pybatsim, batsched)"
    goes_wrong_when = "jobs ask for memory or certain nodes, or for GPUs without hosts=nodes"
    acts_when_idle = True
    selects_sets = False

    def __init__(
        self,
        command: str = "",
        hosts: str = "cores",
        timeout: float = 60.0,
        socket: str = "",
        protocol: int = 4,
    ) -> None:
        self._command, self._socket, self._timeout = words_of(command), socket, timeout
        check_kind(hosts)
        self._kind = hosts
        if not timeout > 0:
            raise ConfigError(f"is {timeout}, must be more than 0", key="timeout")
        if protocol not in (4, 5):
            raise ConfigError(f"is {protocol}, must be 4 or 5", key="protocol")
        self._protocol = protocol
        self._write, self._read = (written, read) if protocol == 4 else (written5, read5)
        self._end: finalize[Any, Batsim] | None = None
        self._scheduler: Scheduler | None = None

    def reset(self, system: System, seed: int) -> None:  # noqa: ARG002
        """Clear all memory. The scheduler is started at the first decision."""
        self._stop()
        self._hosts: Hosts = hosts_of_system(system, self._kind)
        self._jobs = BatsimJobs(self._hosts)
        #: Seconds at which the scheduler wants to be called, and what it calls them.
        self._calls: list[tuple[int, str]] = []
        #: What the scheduler has decided for a later second.
        self._later: list[Event] = []
        #: Second until which it is busy with its last answer.
        self._busy = 0
        #: What is still to be told in this second.
        self._follow_up: list[Event] = []
        self._up: BoolArray = np.ones(system.num_nodes, dtype=np.bool_)
        #: All that was sent, and a digest of all answers: how its memory can be restored.
        self._sent: list[str] = []
        self._answers = hashlib.sha256()

    def decide(self, view: View) -> Decision:
        """
        Send the events since the last decision to the scheduler, and return its decision.

        Raises
        ------
        ConfigError
            If the scheduler cannot be started.
        DispatchError
            If the scheduler ends, does not answer in time, breaks the protocol, or sends an action
            that is not possible here.
        """
        try:
            return self._decide(view)
        except BaseException:
            self._stop()
            raise

    def _decide(self, view: View) -> Decision:
        now = view.now
        actions: list[Action] = []
        self._waiting = view.waiting.handle
        if self._scheduler is None:
            self._begin()
            self._request(now, [events.simulation_begins(now, self._hosts.names)])
        # First, as what starts below is not in the view yet.
        pending = self._news(view) if now >= self._busy else []
        self._carry_out(view, actions)
        while pending and now >= self._busy:
            self._request(now, pending)
            self._carry_out(view, actions)
            pending, self._follow_up = self._follow_up, []
        self._follow_up += pending
        again = [int(event.timestamp) for event in self._later[:1]]
        again += [second for second, _ in self._calls[:1]]
        if self._busy > now:
            again.append(self._busy)
        if not actions and not again:
            return NOTHING
        return Decision(tuple(actions), again_at=min(again, default=None))

    def _request(self, now: int, sent: list[Event]) -> None:
        """Send events; keep what is answered until its second."""
        assert self._scheduler is not None
        at = now + _LATE
        text = self._write(at, [event._replace(timestamp=at) for event in sent])
        answer = self._scheduler.request(text)
        self._sent.append(text)
        self._answers.update(answer)
        message = self._read(answer, "the scheduler", at)
        self._later += message.events
        self._busy = int(message.now)
        self._scheduler.now = message.now

    def _carry_out(self, view: View, actions: list[Action]) -> None:
        """Do what is decided for this second, or before."""
        while self._later and int(self._later[0].timestamp) <= view.now:
            event = self._later.pop(0)
            match event.type:
                case "EXECUTE_JOB":
                    self._execute(event, view, actions)
                case "REJECT_JOB":
                    job = self._jobs.named(event, event.value("job_id", str), WAITS)
                    self._jobs.known[job] = REJECTED
                case "KILL_JOB":
                    self._kill(event, view, actions)
                case "CALL_ME_LATER":
                    self._call_later(event, view.now)
                case "NOTIFY":
                    self._hear(event)
                case "SET_JOB_METADATA":
                    pass  # A note for a file that is not written here.
                case kind:
                    why = _REFUSED.get(kind, "this event is unknown")
                    raise DispatchError(
                        f"batsim: the scheduler sends {quoted(kind)}, which is not supported: {why}"
                    )

    def _news(self, view: View) -> list[Event]:
        """Return what has happened since the last time, as events of this second."""
        now = view.now
        news = [*self._jobs.ends(view, self._waiting), *self._changes_of_nodes(view)]
        news += self._jobs.submits(view, self._waiting)
        while self._calls and self._calls[0][0] <= now:
            news.append(Event(now, "REQUESTED_CALL", {"call": heappop(self._calls)[1]}))
        news, self._follow_up = news + self._follow_up, []
        return news

    def _changes_of_nodes(self, view: View) -> list[Event]:
        """Return which hosts are not available any more, or are again."""
        before, up, node = self._up, view.node_up, self._hosts.node
        self._up = up
        # The same array as long as nothing changes.
        return [] if up is before else events.hosts_changed(view.now, before[node], up[node])

    def _execute(self, event: Event, view: View, actions: list[Action]) -> None:
        """Start a job."""
        name = event.value("job_id", str)
        for key in _EXECUTORS:
            if event.data.get(key):
                raise DispatchError(f"batsim: EXECUTE_JOB with {key} is not supported")
        job = self._jobs.named(event, name, WAITS)
        at = np.flatnonzero(self._waiting == job)
        hosts = hosts_of(event.value("alloc", str), len(self._hosts.node))
        if not len(at):
            # Its user has cancelled it meanwhile, for which Batsim has no message.
            self._jobs.known[job] = ENDED
            self._follow_up.append(events.completed(view.now, name, "COMPLETED_KILLED", hosts))
            return
        jobs = view.waiting.take(at)
        self._jobs.check_hosts(job, hosts, view)
        actions.append(Start(job, self._hosts.allocation(jobs, hosts)))
        self._jobs.start(job, hosts, view.now, int(jobs.requested_time[0]))

    def _kill(self, event: Event, view: View, actions: list[Action]) -> None:
        """Kill jobs; that they have ended is told when they have."""
        names = event.value("job_ids", list)
        jobs = [self._jobs.named(event, str(name), RUNS, ENDED) for name in names]
        kills = self._jobs.kill(jobs, view.running.handle)
        actions += map(Kill, kills)
        if not kills:
            self._follow_up.append(events.killed(view.now, names, {}))

    def _call_later(self, event: Event, now: int) -> None:
        """Remember when the scheduler wants to be called."""
        wanted = event.value("timestamp", float)
        if not now + _LATE < wanted < 2**53:
            raise DispatchError(
                f"batsim: CALL_ME_LATER asks for second {wanted:g}, must be after second {now}"
            )
        heappush(self._calls, (ceil(wanted - _LATE), event.data.get("call", "")))

    def _hear(self, event: Event) -> None:
        """Hear that the scheduler registers no more jobs: it may not register any."""
        kind = event.value("type", str)
        if kind not in ("registration_finished", "continue_registration"):
            raise DispatchError(f"batsim: NOTIFY of {quoted(kind)} is not supported")

    def never_starts(self, view: View) -> Mapping[int, str]:
        """
        Return the jobs that the scheduler has rejected. They leave the queue at the end of the run.
        """
        waiting = view.waiting
        # Of a job that has just come nothing may be known yet.
        rejected = np.isin(waiting.handle, np.flatnonzero(self._jobs.known == REJECTED))
        return dict.fromkeys(waiting.rows[rejected].tolist(), "rejected by the Batsim scheduler")

    def _begin(self) -> None:
        """Start the scheduler."""
        if not self._command and not self._socket:
            raise ConfigError(
                'the command is missing. Give it, such as batsim:command="pybatsim fillerSched"',
                key="command",
            )
        self._scheduler = Scheduler(self._command, self._socket, self._timeout, self._protocol)
        # A dispatcher is not told the end of a run: it is no longer needed then.
        self._end = finalize(self, self._scheduler.end)

    def _stop(self) -> None:
        """Kill the scheduler."""
        if self._end is not None:
            self._end.detach()
            self._end = None
        if self._scheduler is not None:
            self._scheduler.kill()
            self._scheduler = None

    def state(self) -> Mapping[str, Any]:
        """Return the memory for a checkpoint, with all messages sent to the scheduler."""
        return {
            "sent": "\n".join(self._sent),
            "answers": self._answers.hexdigest(),
            **self._jobs.state(),
            "calls": json.dumps(self._calls),
            "later": json.dumps([event._asdict() for event in self._later]),
            "follow_up": json.dumps([event._asdict() for event in self._follow_up]),
            "busy": self._busy,
            "up": self._up.copy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore the memory that :meth:`state` returned, and send all messages to a new scheduler.

        Raises
        ------
        ValueError
            If the scheduler does not give the same answers as before.
        """
        self._jobs.restore(state)
        self._calls = [(second, call) for second, call in json.loads(state["calls"])]
        self._later = [Event(**event) for event in json.loads(state["later"])]
        self._follow_up = [Event(**event) for event in json.loads(state["follow_up"])]
        self._busy, self._up = int(state["busy"]), state["up"].copy()
        self._sent = state["sent"].split("\n") if state["sent"] else []
        self._answers = hashlib.sha256()
        if not self._sent:
            return
        self._begin()
        assert self._scheduler is not None
        try:
            for text in self._sent:
                self._answers.update(self._scheduler.request(text))
            if self._answers.hexdigest() != state["answers"]:
                raise ValueError(
                    "the answers of the scheduler have changed since then. Start the run again."
                )
        except BaseException:
            self._stop()
            raise
