"""
Leases of partitions, kept in Slurm: one engine for each partition, and for as long as it lives.

A lease of partition ``trial`` is the reservation ``cpsched.trial``. Slurm lets only operators
create one, and only one of a name. It lies twenty years ahead, so that it keeps no job from
running: it begins that long after the lease ends, and its length in minutes, drawn at random, tells
whose it is.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from cpsched.api.errors import CpschedError, RunError
from cpsched.api.tools import write_all
from slurm_adapter.live.snapshot import Lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from slurm_adapter.live.filter import Filter, Paused
    from slurm_adapter.live.journal import Journal
    from slurm_adapter.live.scontrol import Scontrol

#: Renewed when less than this share of it is left.
_RENEWED_AT = 0.75
#: Lengths of reservations, minutes.
_MOST_MINUTES = 500_000
#: The file that says which leases are ours, in the folder of the engine.
_TOKEN = "lease"  # noqa: S105 - no secret


class LeaseError(CpschedError, RuntimeError):
    """Another engine has a partition, or Slurm does not grant it."""


def token_of(folder: Path) -> int | None:
    """Return whose the leases of a folder's engine are; None if it never had one."""
    path = folder / _TOKEN
    return int(path.read_text()) if path.exists() else None


def _made_token(folder: Path) -> int:
    """Return whose the leases of a folder's engine are, from now on."""
    token = token_of(folder)
    if token is None:
        token = random.SystemRandom().randint(1, _MOST_MINUTES)
        write_all(folder, {_TOKEN: f"{token}\n".encode()})
    return token


class Leases:
    """
    The leases of an engine.

    Parameters
    ----------
    backend, partitions
        The Slurm, and whose leases.
    folder
        Of the engine; the next one here goes on with the same leases.
    seconds
        For how long they are taken; they are renewed in time.
    clock
        Unix seconds.
    """

    def __init__(
        self,
        backend: Scontrol,
        partitions: Iterable[str],
        folder: Path,
        seconds: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._backend, self._seconds, self._clock = backend, seconds, clock
        self._partitions = sorted(partitions)
        self._token = _made_token(folder)
        self._until = 0

    def hold(self) -> None:
        """
        Take or renew the leases, if it is time to.

        Raises
        ------
        LeaseError
            If another engine has one, or Slurm does not grant it.
        """
        now = int(self._clock())
        if self._until - now > self._seconds * _RENEWED_AT:
            return
        there, own = self._backend.leases(), Lease(now + self._seconds, self._token)
        for name in self._partitions:
            other = there.get(name)
            if other is not None and other.token != own.token and other.until > now:
                raise LeaseError(
                    f"partition {name}: another engine has its lease for {other.until - now} s"
                )
        for name in self._partitions:
            other = there.get(name)
            if other is not None and other.token != own.token:
                self._backend.end_lease(name)
                other = None
            grant = self._backend.begin_lease if other is None else self._backend.renew_lease
            refused = grant(name, own)
            if refused and now >= self._until:
                raise LeaseError(f"partition {name}: Slurm grants no lease: {refused}")
            if refused:
                # It is tried again until what is left of it is over.
                return
        self._until = own.until

    def end(self) -> None:
        """Give the leases up."""
        there = self._backend.leases()
        for name in self._partitions:
            if name in there and there[name].token == self._token:
                self._backend.end_lease(name)
        self._until = 0


def give_back(backend: Scontrol, ours: Filter, paused: Paused, journal: Journal) -> int:
    """
    Leave all jobs that wait for an engine to Slurm, with their own requests; return their number.

    What people keep back stays held.
    """
    jobs = backend.snapshot().jobs
    bound = [one for one in journal.orders.values() if one.job in jobs and jobs[one.job].waits]
    held = [job.key for job in jobs.values() if ours.may_start(job) and not paused.stops(job)]
    refused = backend.leave(bound, held)
    # If the disk is full, the next engine finds out what became of them.
    with suppress(RunError):
        journal.write("back", [order for order in bound if order.job not in refused])
    return len(held) - len(refused.keys() & set(held))
