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
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import finalize

import numpy as np

from batsim_adapter.hosts import check_kind, hosts_of_system
from batsim_adapter.messages import Event, hosts_of, intervals, read, written
from batsim_adapter.process import Scheduler, words_of
from batsim_adapter.version5 import read5
from batsim_adapter.version5 import written as written5
from cpsched.api.dispatchers import Dispatcher
from cpsched.api.errors import ConfigError, DispatchError
from cpsched.api.model import NOTHING, Decision, Kill, Start
from cpsched.api.tools import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batsim_adapter.hosts import Hosts
    from cpsched.api.model import Action, BoolArray, IntArray, JobTable, System, View

#: The workload's name in the names of jobs.
WORKLOAD = "cpsched"
#: Why a message of the scheduler is refused.
_REFUSED = {
    "SET_RESOURCE_STATE": "nodes are not switched off here",
    "REGISTER_JOB": "jobs come from the log alone",
    "REGISTER_PROFILE": "jobs come from the log alone",
    "CHANGE_JOB_STATE": "jobs end by themselves here, or by KILL_JOB",
    "QUERY": "energy is not simulated here",
    "ANSWER": "nothing was asked",
    "TO_JOB_MSG": "jobs do not receive messages here",
    "RESOURCES_ADDED": "machines do not grow here",
    "RESOURCES_REMOVED": "machines do not shrink here",
}
#: Parts of EXECUTE_JOB that cannot be respected.
_EXECUTORS = (
    *("mapping", "storage_mapping", "additional_io_job"),
    "profile_allocation_override",
)
#: Batsim's messages arrive a moment after what they tell, so never at second 0, and schedulers rely
#: on it. A power of two: sums with whole seconds are exact.
_LATE = 2.0**-10
#: What is known of a job.
_UNSEEN, _WAITS, _RUNS, _ENDED, _REJECTED = range(5)


class Batsim(Dispatcher):
    """
    Asks a scheduler written for Batsim, which runs in a process of its own.

    Parameters
    ----------
    command
        How to start it; ``{socket}`` stands for its endpoint, which is otherwise appended as
        ``--socket-endpoint=...``.
    hosts
        What Batsim's hosts are: ``cores`` or ``nodes``.
    timeout
        Seconds that it may take for an answer.
    socket
        Its endpoint, as ``tcp://localhost:28000``; by default a private one. Without a command:
        the scheduler runs already.
    protocol
        4, which is that of Batsim 3, too; or 5.

    Raises
    ------
    ConfigError
        If an option is invalid.
    """

    name = "batsim"
    family = "schedulers of others"
    good_for = "schedulers that were written for Batsim (pybatsim, batsched), as they are"
    goes_wrong_when = "jobs ask for memory, GPUs or certain nodes, which its protocol cannot say"
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
        """Forget everything; the scheduler is started at the first decision."""
        self._stop()
        self._system = system
        self._hosts: Hosts = hosts_of_system(system, self._kind)
        #: How many hosts jobs of a kind take: their shape, units, and bounds of nodes.
        self._numbers: dict[tuple[int, ...], int] = {}
        #: The same of each job that waits.
        self._asks: dict[int, int] = {}
        #: The job on each host, or -1.
        self._holder: IntArray = np.full(len(self._hosts.node), -1, dtype=np.int64)
        #: What is known of each job.
        self._known = np.zeros(256, dtype=np.int8)
        #: Second of the start and walltime of jobs that run.
        self._running: dict[int, tuple[int, int]] = {}
        #: Times that a job was taken off its nodes, where it was.
        self._attempts: dict[int, int] = {}
        #: Jobs that the scheduler has killed, until it is told that they have ended; in groups as
        #: it has named them.
        self._killed: list[list[int]] = []
        #: Seconds at which the scheduler wants to be called, and what it calls them.
        self._calls: list[tuple[int, str]] = []
        #: What the scheduler has decided for a later second.
        self._later: list[tuple[int, Event]] = []
        #: Second until which it is busy with its last answer.
        self._busy = 0
        #: What is still to be told in this second.
        self._follow_up: list[Event] = []
        self._up: BoolArray = np.ones(system.num_nodes, dtype=np.bool_)
        self._seen_up: BoolArray | None = None
        #: All that was sent, and a digest of all answers: how its memory can be restored.
        self._sent: list[str] = []
        self._answers = hashlib.sha256()

    # --- decide ----------------------------------------------------------------------------------

    def decide(self, view: View) -> Decision:
        """
        Tell the scheduler what has happened, and return what it answers.

        Raises
        ------
        ConfigError
            If it cannot be started.
        DispatchError
            If it ends, does not answer in time, breaks the protocol, or asks for what is not
            possible here.
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
            self._ask(now, [self._simulation_begins(now)])
        # First, as what starts below is not in the view yet.
        events = self._news(view) if now >= self._busy else []
        self._carry_out(view, actions)
        while events and now >= self._busy:
            self._ask(now, events)
            self._carry_out(view, actions)
            events, self._follow_up = self._follow_up, []
        self._follow_up += events
        again = [second for second, _ in self._later[:1]]
        again += [second for second, _ in self._calls[:1]]
        if self._busy > now:
            again = [self._busy, *(second for second in again if second < self._busy)]
        if not actions and not again:
            return NOTHING
        return Decision(tuple(actions), again_at=min(again, default=None))

    def _ask(self, now: int, events: list[Event]) -> None:
        """Send events; keep what is answered until its second."""
        assert self._scheduler is not None
        at = now + _LATE
        text = self._write(at, [event._replace(timestamp=at) for event in events])
        answer = self._scheduler.ask(text)
        self._sent.append(text)
        self._answers.update(answer)
        message = self._read(answer, "the scheduler", at)
        self._later += [(int(event.timestamp), event) for event in message.events]
        self._busy = int(message.now)
        self._scheduler.now = message.now

    def _carry_out(self, view: View, actions: list[Action]) -> None:
        """Do what is decided for this second, or before."""
        while self._later and self._later[0][0] <= view.now:
            _, event = self._later.pop(0)
            match event.type:
                case "EXECUTE_JOB":
                    self._execute(event, view, actions)
                case "REJECT_JOB":
                    self._reject(event)
                case "KILL_JOB":
                    self._kill(event, view, actions)
                case "CALL_ME_LATER":
                    self._call_later(event, view.now)
                case "NOTIFY":
                    self._hear(event)
                case "SET_JOB_METADATA":
                    pass  # A note for a file that is not written here.
                case kind:
                    why = _REFUSED.get(kind, "there is no such message")
                    raise DispatchError(f"batsim: {quoted(kind)} is not possible: {why}")

    # --- what the scheduler is told --------------------------------------------------------------

    def _simulation_begins(self, now: int) -> Event:
        """Return the first event, which describes the machine."""
        count = len(self._hosts.names)
        return Event(
            now,
            "SIMULATION_BEGINS",
            {
                "nb_resources": count,
                "nb_compute_resources": count,
                "nb_storage_resources": 0,
                "allow_compute_sharing": False,
                "allow_storage_sharing": False,
                "config": {
                    "redis-enabled": False,
                    "redis-hostname": "",
                    "redis-port": 0,
                    "redis-prefix": "",
                    "profiles-forwarded-on-submission": True,
                    "dynamic-jobs-enabled": False,
                    "dynamic-jobs-acknowledged": False,
                    "profile-reuse-enabled": False,
                    "forward-unknown-events": False,
                },
                "compute_resources": [
                    {
                        "id": number,
                        "name": name,
                        "state": "idle",
                        "properties": {"role": ""},
                        "zone_properties": {},
                    }
                    for number, name in enumerate(self._hosts.names)
                ],
                "storage_resources": [],
                "workloads": {WORKLOAD: WORKLOAD},
                "profiles": {WORKLOAD: {}},
            },
        )

    def _news(self, view: View) -> list[Event]:
        """Return what has happened since the last time, as events of this second."""
        now = view.now
        events = [*self._ends(view), *self._changes_of_nodes(view)]
        events += self._submits(view)
        while self._calls and self._calls[0][0] <= now:
            events.append(Event(now, "REQUESTED_CALL", {"call": heappop(self._calls)[1]}))
        events += self._follow_up
        self._follow_up = []
        return events

    def _ends(self, view: View) -> list[Event]:
        """Return the jobs that no longer run."""
        now, events = view.now, []
        ended = sorted(self._running.keys() - set(view.running.handle.tolist()))
        if not (ended or self._killed):
            return []
        killed = {job for group in self._killed for job in group}
        progress = {}
        back = set(self._waiting.tolist()) if ended and not killed.issuperset(ended) else ()
        for job in ended:
            start, walltime = self._running.pop(job)
            hosts = np.flatnonzero(self._holder == job)
            self._holder[hosts] = -1
            self._known[job] = _ENDED
            state = "COMPLETED_SUCCESSFULLY"
            if job in killed:
                state = "COMPLETED_KILLED"
                # Of its walltime: how long it would have run is not known, and never told.
                progress[self._name(job)] = {
                    "profile": f"walltime_{walltime}",
                    "progress": min((now - start) / walltime, 1.0),
                }
            elif job in back:
                state = "COMPLETED_FAILED"
            elif now - start >= walltime:
                state = "COMPLETED_WALLTIME_REACHED"
            events.append(self._completed(now, job, state, intervals(hosts.tolist())))
            if job in back:
                self._known[job] = _UNSEEN
                self._attempts[job] = self._attempts.get(job, 0) + 1
        for group in self._killed:
            names = [self._name(job) for job in group]
            done = {name: progress[name] for name in names if name in progress}
            events.append(Event(now, "JOB_KILLED", {"job_ids": names, "job_progress": done}))
        self._killed = []
        return events

    def _completed(self, now: int, job: int, state: str, alloc: str) -> Event:
        return Event(
            now,
            "JOB_COMPLETED",
            {
                "job_id": self._name(job),
                "job_state": state,
                "return_code": 0 if state == "COMPLETED_SUCCESSFULLY" else 1,
                "kill_reason": "",
                "alloc": alloc,
            },
        )

    def _changes_of_nodes(self, view: View) -> list[Event]:
        """Return which hosts are not available any more, or are again."""
        # The same array as long as nothing changes.
        if view.node_up is self._seen_up:
            return []
        self._seen_up = view.node_up
        events = []
        for kind, changed in (
            ("event_machine_unavailable", self._up & ~view.node_up),
            ("event_machine_available", ~self._up & view.node_up),
        ):
            hosts = np.flatnonzero(changed[self._hosts.node])
            if len(hosts):
                data = {"type": kind, "resources": intervals(hosts.tolist())}
                events.append(Event(view.now, "NOTIFY", data))
        self._up = view.node_up.copy()
        return events

    def _submits(self, view: View) -> list[Event]:
        """Return the jobs that are new in the queue."""
        handles = self._waiting
        if not len(handles):
            return []
        most = int(handles.max())
        if most >= len(self._known):
            more = np.zeros(max(2 * len(self._known), most + 1), dtype=np.int8)
            more[: len(self._known)] = self._known
            self._known = more
        new = np.flatnonzero(self._known[handles] == _UNSEEN)
        if not len(new):
            return []
        jobs = view.waiting.take(new)
        self._known[jobs.handle] = _WAITS
        columns = (
            jobs.handle.tolist(),
            jobs.submit.tolist(),
            jobs.requested_time.tolist(),
            self._number(jobs, view),
        )
        return [self._submitted(view.now, *values) for values in zip(*columns, strict=True)]

    def _number(self, jobs: JobTable, view: View) -> list[int]:
        """Return how many hosts each job asks for; looked up, as most ask for what others did."""
        columns = (jobs.shape, jobs.units, jobs.nodes_min, jobs.nodes_max)
        kinds = zip(*(column.tolist() for column in columns), strict=True)
        found = []
        for at, (job, kind) in enumerate(zip(jobs.handle.tolist(), kinds, strict=True)):
            number = self._numbers.get(kind)
            if number is None:
                number = int(self._hosts.number(jobs.take(np.array([at])), view)[0])
                self._numbers[kind] = number
            self._asks[job] = number
            found.append(number)
        return found

    def _submitted(self, now: int, job: int, submit: int, walltime: int, hosts: int) -> Event:
        name, profile = self._name(job), f"walltime_{walltime}"
        return Event(
            now,
            "JOB_SUBMITTED",
            {
                "job_id": name,
                "job": {
                    "id": name,
                    "subtime": submit,
                    "res": hosts,
                    "walltime": walltime,
                    "profile": profile,
                },
                # In Batsim a delay is the runtime, which nobody knows yet.
                "profile": {"type": "delay", "delay": walltime},
            },
        )

    def _name(self, job: int) -> str:
        """Return what the protocol calls a job: started again, it is another one."""
        attempt = self._attempts.get(job)
        return f"{WORKLOAD}!{job}" + (f"#{attempt}" if attempt else "")

    # --- what the scheduler answers --------------------------------------------------------------

    def _job(self, event: Event, name: str, *states: int) -> int:
        """Return the job of a name; raise if there is none in one of some states."""
        text = name.removeprefix(f"{WORKLOAD}!").partition("#")[0]
        job = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1
        if not 0 <= job < len(self._known) or name != self._name(job):
            self._unknown(event, name)
        known = int(self._known[job])
        if known not in states:
            if known == _UNSEEN:
                self._unknown(event, name)
            how = {_WAITS: "waits", _RUNS: "runs", _ENDED: "has ended", _REJECTED: "is rejected"}
            raise DispatchError(f"batsim: {event.type} of job {quoted(name)}, which {how[known]}")
        return job

    def _unknown(self, event: Event, name: str) -> NoReturn:
        raise DispatchError(
            f"batsim: {event.type} of job {quoted(name)}, which has not been submitted"
        )

    def _execute(self, event: Event, view: View, actions: list[Action]) -> None:
        """Start a job."""
        name = event.value("job_id", str)
        for key in _EXECUTORS:
            if event.data.get(key):
                raise DispatchError(f"batsim: {key} of EXECUTE_JOB is not possible here")
        job = self._job(event, name, _WAITS)
        at = np.flatnonzero(self._waiting == job)
        hosts = hosts_of(event.value("alloc", str), len(self._hosts.node))
        if not len(at):
            # Its user has cancelled it meanwhile, for which Batsim has no message.
            self._known[job] = _ENDED
            alloc = intervals(hosts.tolist())
            self._follow_up.append(self._completed(view.now, job, "COMPLETED_KILLED", alloc))
            return
        jobs = view.waiting.take(at)
        self._check_hosts(name, hosts, self._asks.pop(job), view)
        actions.append(Start(job, self._hosts.allocation(jobs, hosts)))
        self._holder[hosts] = job
        self._known[job] = _RUNS
        self._running[job] = (view.now, int(jobs.requested_time[0]))

    def _check_hosts(self, name: str, hosts: IntArray, number: int, view: View) -> None:
        """Raise unless these are as many hosts as a job asks for, free and available."""
        job = quoted(name)
        if len(hosts) != number:
            raise DispatchError(
                f"batsim: EXECUTE_JOB of job {job} on {len(hosts)} hosts, it asks for {number}"
            )
        holders = self._holder[hosts]
        if (holders >= 0).any():
            at = int(np.flatnonzero(holders >= 0)[0])
            holder = quoted(self._name(int(holders[at])))
            raise DispatchError(
                f"batsim: EXECUTE_JOB of job {job} on host {hosts[at]}, which job {holder} holds"
            )
        up = view.node_up[self._hosts.node[hosts]]
        if not up.all():
            down = ~up
            host = hosts[int(np.flatnonzero(down)[0])]
            raise DispatchError(f"batsim: EXECUTE_JOB of job {job} on host {host}, which is down")

    def _reject(self, event: Event) -> None:
        """Remember that a job will never start."""
        self._known[self._job(event, event.value("job_id", str), _WAITS)] = _REJECTED

    def _kill(self, event: Event, view: View, actions: list[Action]) -> None:
        """Kill jobs; that they have ended is told when they have."""
        names = event.value("job_ids", list)
        jobs = [self._job(event, str(name), _RUNS, _ENDED) for name in names]
        running = set(view.running.handle.tolist())
        named = {job for group in self._killed for job in group}
        kills = [Kill(job) for job in jobs if job in running and job not in named]
        if kills:
            actions += kills
            self._killed.append(jobs)
        else:
            data = {"job_ids": list(names), "job_progress": {}}
            self._follow_up.append(Event(view.now, "JOB_KILLED", data))

    def _call_later(self, event: Event, now: int) -> None:
        """Remember when the scheduler wants to be called."""
        wanted = event.value("timestamp", float)
        if not now + _LATE < wanted < 2**53:
            raise DispatchError(
                f"batsim: CALL_ME_LATER at {wanted:g}, but the time is already {now}"
            )
        heappush(self._calls, (ceil(wanted - _LATE), event.data.get("call", "")))

    def _hear(self, event: Event) -> None:
        """Hear that the scheduler registers no more jobs: it may not register any."""
        kind = event.value("type", str)
        if kind not in ("registration_finished", "continue_registration"):
            raise DispatchError(f"batsim: NOTIFY of {quoted(kind)} is not possible here")

    def never_starts(self, view: View) -> IntArray:
        """Return the jobs that the scheduler has rejected: they are cancelled at the end."""
        waiting = view.waiting
        if not len(waiting):
            return waiting.rows
        rejected: IntArray = waiting.rows[self._known[waiting.handle] == _REJECTED]
        return rejected

    # --- the process -----------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start the scheduler."""
        if not self._command and not self._socket:
            raise ConfigError(
                'the command is missing: batsim:command="pybatsim fillerSched"', key="command"
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

    # --- saving ----------------------------------------------------------------------------------

    def state(self) -> Mapping[str, Any]:
        """Return what is remembered; of the scheduler all that it was told, to be told again."""
        running = [(job, *times) for job, times in sorted(self._running.items())]
        return {
            "sent": "\n".join(self._sent),
            "answers": self._answers.hexdigest(),
            "holder": self._holder.copy(),
            "asks": np.array(sorted(self._asks.items()), dtype=np.int64).reshape(-1, 2),
            "known": self._known.copy(),
            "running": np.array(running, dtype=np.int64).reshape(-1, 3),
            "attempts": np.array(sorted(self._attempts.items()), dtype=np.int64).reshape(-1, 2),
            "killed": json.dumps(self._killed),
            "calls": json.dumps(self._calls),
            "later": json.dumps([event._asdict() for _, event in self._later]),
            "follow_up": json.dumps([event._asdict() for event in self._follow_up]),
            "busy": self._busy,
            "up": self._up.copy(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """
        Restore what :meth:`state` returned, by telling a new scheduler all of it again.

        Raises
        ------
        ValueError
            If the scheduler does not answer the same.
        """
        self._holder, self._known = state["holder"].copy(), state["known"].copy()
        self._asks = dict(state["asks"].tolist())
        self._running = {job: (start, end) for job, start, end in state["running"].tolist()}
        self._attempts = dict(state["attempts"].tolist())
        self._killed = json.loads(state["killed"])
        self._calls = [(second, call) for second, call in json.loads(state["calls"])]
        later = [Event(**event) for event in json.loads(state["later"])]
        self._later = [(int(event.timestamp), event) for event in later]
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
                self._answers.update(self._scheduler.ask(text))
            if self._answers.hexdigest() != state["answers"]:
                raise ValueError("the scheduler does not answer what it did: begin the run again")
        except BaseException:
            self._stop()
            raise
