"""What is known of the jobs: how far each is, what the protocol calls it, which hosts it holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.batsim import events
from cpsched.errors import DispatchError
from cpsched.util.words import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.batsim.hosts import Hosts
    from cpsched.batsim.messages import Event
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

#: What is known of a job, and how an error says it.
UNSEEN, WAITS, RUNS, ENDED, REJECTED = range(5)
_STATE_TEXTS = ("has not been submitted", "waits", "runs", "has ended", "is rejected")


class BatsimJobs:
    """
    The jobs that the scheduler was told of.

    Parameters
    ----------
    hosts
        The machine.

    Attributes
    ----------
    known
        What is known of each job.
    """

    def __init__(self, hosts: Hosts) -> None:
        self.known = np.zeros(256, dtype=np.int8)
        self._hosts = hosts
        #: How many hosts jobs of a kind take: their shape, units, and bounds of nodes.
        self._numbers: dict[tuple[int, ...], int] = {}
        #: The same of each job that waits.
        self._num_hosts: dict[int, int] = {}
        #: The job on each host, or -1.
        self._holder: IntArray = np.full(len(hosts.node), -1, dtype=np.int64)
        #: Second of the start and walltime of jobs that run.
        self._running: dict[int, tuple[int, int]] = {}
        #: Times that a job was taken off its nodes, where it was.
        self._attempts: dict[int, int] = {}
        #: Jobs that the scheduler has killed, until it is told that they have ended; in groups as
        #: it has named them.
        self._killed: list[list[int]] = []

    def name(self, job: int) -> str:
        """Return what the protocol calls a job: started again, it is another one."""
        attempt = self._attempts.get(job)
        return f"{events.WORKLOAD}!{job}" + (f"#{attempt}" if attempt else "")

    def named(self, event: Event, name: str, *states: int) -> int:
        """Return the job of a name; raise a DispatchError unless it is in one of some states."""
        text = name.removeprefix(f"{events.WORKLOAD}!").partition("#")[0]
        job = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1
        exists = 0 <= job < len(self.known) and name == self.name(job)
        known = int(self.known[job]) if exists else UNSEEN
        if known not in states:
            raise DispatchError(
                f"batsim: {event.type} of job {quoted(name)}, which {_STATE_TEXTS[known]}"
            )
        return job

    def submits(self, view: View, waiting: IntArray) -> list[Event]:
        """Return the jobs that are new in the queue."""
        more = int(waiting.max(initial=-1)) + 1 - len(self.known)
        if more > 0:
            self.known = np.pad(self.known, (0, max(len(self.known), more)))
        new = np.flatnonzero(self.known[waiting] == UNSEEN)
        if not len(new):
            return []
        jobs = view.waiting.take(new)
        self.known[jobs.handle] = WAITS
        self._count_hosts(jobs, view)
        columns = (jobs.handle, jobs.submit, jobs.requested_time)
        return [
            events.submitted(view.now, self.name(job), submit, walltime, self._num_hosts[job])
            for job, submit, walltime in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _count_hosts(self, jobs: JobTable, view: View) -> None:
        """Remember how many hosts each job asks for; most ask for what others did."""
        columns = (jobs.handle, jobs.shape, jobs.units, jobs.nodes_min, jobs.nodes_max)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for at, (job, *request) in enumerate(rows):
            kind = tuple(request)
            if kind not in self._numbers:
                self._numbers[kind] = int(self._hosts.number(jobs.take(np.array([at])), view)[0])
            self._num_hosts[job] = self._numbers[kind]

    def ends(self, view: View, waiting: IntArray) -> list[Event]:
        """Return the jobs that no longer run."""
        now, sent, ran = view.now, [], {}
        ended = sorted(self._running.keys() - set(view.running.handle.tolist()))
        killed = self._all_killed()
        back = set() if killed.issuperset(ended) else set(waiting.tolist())
        for job in ended:
            start, walltime = self._running.pop(job)
            name, state = self.name(job), "COMPLETED_SUCCESSFULLY"
            if job in killed:
                state = "COMPLETED_KILLED"
                ran[name] = (now - start, walltime)
            elif job in back:
                state = "COMPLETED_FAILED"
            elif now - start >= walltime:
                state = "COMPLETED_WALLTIME_REACHED"
            hosts = np.flatnonzero(self._holder == job)
            self._holder[hosts] = -1
            self.known[job] = ENDED
            sent.append(events.completed(now, name, state, hosts))
            if job in back:
                self.known[job] = UNSEEN
                self._attempts[job] = self._attempts.get(job, 0) + 1
        groups = [[self.name(job) for job in group] for group in self._killed]
        self._killed = []
        return sent + [events.killed(now, names, ran) for names in groups]

    def check_hosts(self, job: int, hosts: IntArray, view: View) -> None:
        """Raise a DispatchError unless a job asks for as many hosts, free and available."""
        start, number = f"batsim: EXECUTE_JOB of job {quoted(self.name(job))}", self._num_hosts[job]
        if len(hosts) != number:
            raise DispatchError(f"{start} on {len(hosts)} hosts, but the job asks for {number}")
        occupied = hosts[self._holder[hosts] >= 0]
        if len(occupied):
            holder = quoted(self.name(int(self._holder[occupied[0]])))
            raise DispatchError(
                f"{start} on host {occupied[0]}, which is allocated to job {holder}"
            )
        down = hosts[~view.node_up[self._hosts.node[hosts]]]
        if len(down):
            raise DispatchError(f"{start} on host {down[0]}, which is down")

    def start(self, job: int, hosts: IntArray, now: int, walltime: int) -> None:
        """Remember that a job runs from now on."""
        del self._num_hosts[job]
        self._holder[hosts] = job
        self.known[job] = RUNS
        self._running[job] = (now, walltime)

    def kill(self, jobs: list[int], running: IntArray) -> list[int]:
        """Return which of some jobs are to be killed: that run, and are not killed already."""
        alive = set(running.tolist()) - self._all_killed()
        kills = [job for job in jobs if job in alive]
        if kills:
            self._killed.append(jobs)
        return kills

    def _all_killed(self) -> set[int]:
        return {job for group in self._killed for job in group}

    def state(self) -> dict[str, Any]:
        """Return what is remembered."""
        running = [(job, *times) for job, times in sorted(self._running.items())]
        return {
            "holder": self._holder.copy(),
            "asks": np.array(sorted(self._num_hosts.items()), dtype=np.int64).reshape(-1, 2),
            "known": self.known.copy(),
            "running": np.array(running, dtype=np.int64).reshape(-1, 3),
            "attempts": np.array(sorted(self._attempts.items()), dtype=np.int64).reshape(-1, 2),
            "killed": json.dumps(self._killed),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self._holder, self.known = state["holder"].copy(), state["known"].copy()
        self._num_hosts = dict(state["asks"].tolist())
        self._running = {job: (start, end) for job, start, end in state["running"].tolist()}
        self._attempts = dict(state["attempts"].tolist())
        self._killed = json.loads(state["killed"])
