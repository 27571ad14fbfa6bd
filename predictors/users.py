"""What each user has been doing lately, and is doing now; in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from predictors.remembered import LIMIT, Remembered, frozen

if TYPE_CHECKING:
    from predictors.remembered import Key

#: Weight of the newest job in a moving average, and of a faster one.
_SLOW, _FAST = 0.1, 0.4


@dataclass(slots=True)
class UserRecord:
    """
    A user's jobs that have ended, in short; in the order of model files.

    Attributes
    ----------
    completed, killed
        Moving averages: share that completed, share that reached the requested time.
    submit, end
        Second of the last submit and of the last end, None before any.
    ended
        How many.
    logs, shares
        Logarithm of the last three runtimes (seconds), and of their share of the requested time,
        newest first.
    mean_log, fast_log, mean_share
        Moving averages of the same.
    kind, streak
        What the last submitted job was like, and how many like it were submitted in a row.
    """

    completed: float = 1.0
    end: int | None = None
    ended: int = 0
    fast_log: float = 0.0
    killed: float = 0.0
    kind: Key = None
    logs: tuple[float, ...] = ()
    mean_log: float = 0.0
    mean_share: float = 0.0
    shares: tuple[float, ...] = ()
    streak: int = 0
    submit: int | None = None

    def has_submitted(self, kind: Key, now: int) -> None:
        """Take note of a submit."""
        self.streak = self.streak + 1 if kind == self.kind else 1
        self.kind = kind
        self.submit = now

    def has_ended(self, log: float, share: float, completed: bool, now: int) -> None:
        """Take note of a job that has ended."""
        if not self.ended:
            self.mean_log = self.fast_log = log
            self.mean_share = share
        self.ended += 1
        self.logs = (log, *self.logs[:2])
        self.shares = (share, *self.shares[:2])
        self.mean_log += _SLOW * (log - self.mean_log)
        self.fast_log += _FAST * (log - self.fast_log)
        self.mean_share += _SLOW * (share - self.mean_share)
        self.completed += _SLOW * (completed - self.completed)
        self.killed += _SLOW * ((share > -0.01) - self.killed)
        self.end = now


class UserRecords(Remembered[UserRecord]):
    """The users of a machine."""

    def touch(self, user: str | None) -> UserRecord:
        """Return a user for whom something happens."""
        record = self.get(user)
        if record is None:
            record = UserRecord()
            self.put(user, record)
        else:
            self.move_to_end(user)
        return record

    def forget_times(self) -> None:
        """Forget when things happened, for a log whose seconds count from elsewhere."""
        for record in self.values():
            record.submit = record.end = None

    def load(self, text: str) -> None:
        """Restore what :meth:`dump` returned."""
        self.take(text, lambda values: UserRecord(*frozen(values)))


@dataclass(slots=True)
class Activity:
    """
    Jobs of one user, or of one kind, that are in the queue or run now.

    Attributes
    ----------
    queued, queued_cores, running_cores
        Jobs that wait, their cores, and those of the running ones.
    started
        Second of start of the running jobs by handle, the oldest first.
    """

    queued: int = 0
    queued_cores: int = 0
    running_cores: int = 0
    sum_started: int = 0
    started: dict[int, int] = field(default_factory=dict)

    @property
    def idle(self) -> bool:
        """Whether nothing waits or runs."""
        return not (self.queued or self.started)

    def submit(self, cores: int) -> None:
        """Take note of a job in the queue."""
        self.queued += 1
        self.queued_cores += cores

    def leave(self, cores: int) -> None:
        """Take note of a job that has left the queue."""
        self.queued -= 1
        self.queued_cores -= cores

    def start(self, handle: int, cores: int, now: int) -> None:
        """Take note of a start."""
        self.leave(cores)
        self.started[handle] = now
        self.sum_started += now
        self.running_cores += cores

    def end(self, handle: int, cores: int) -> None:
        """Take note of an end."""
        self.sum_started -= self.started.pop(handle)
        self.running_cores -= cores


class Codes(Remembered[int]):
    """
    A number for each string, by first appearance; -1 for one that has none.

    One that comes back after it was forgotten gets a new number.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._next = 0

    def add(self, text: str | None) -> None:
        """Give a string a number, unless it has one."""
        if text in self:
            self.move_to_end(text)
        elif text is not None:
            self.put(text, self._next)
            self._next += 1

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._next = 0

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {"next": self._next, "codes": self.dump()}

    def restore(self, state: Any) -> None:
        """Restore the memory that :meth:`state` returned for a checkpoint."""
        self.take(state["codes"], int)
        self._next = int(state["next"])
