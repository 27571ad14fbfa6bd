"""What each user has been doing lately, and is doing now; in bounded memory."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predictors.history import Key

#: Weight of the newest job in a moving average, and of a faster one.
_SLOW, _FAST = 0.1, 0.4


class UserRecord:
    """
    A user's jobs that have ended, in short.

    Attributes
    ----------
    ended
        How many.
    logs, shares
        Logarithm of the last three runtimes (seconds), and of their share of the requested time,
        newest first.
    mean_log, fast_log, mean_share
        Moving averages of the same.
    completed, killed
        Moving averages: share that completed, share that reached the requested time.
    submit, end
        Second of the last submit and of the last end, None before any.
    kind, streak
        What the last submitted job was like, and how many like it were submitted in a row.
    """

    __slots__ = (
        "completed", "end", "ended", "fast_log", "killed", "kind", "logs", "mean_log",
        "mean_share", "shares", "streak", "submit",
    )  # fmt: skip

    def __init__(self) -> None:
        self.ended = 0
        self.logs: tuple[float, ...] = ()
        self.shares: tuple[float, ...] = ()
        self.mean_log = self.fast_log = self.mean_share = 0.0
        self.completed, self.killed = 1.0, 0.0
        self.submit: int | None = None
        self.end: int | None = None
        self.kind: Key = None
        self.streak = 0

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


class UserRecords:
    """
    The users of a machine.

    Parameters
    ----------
    limit
        Users remembered; the one is forgotten first for whom nothing has happened longest.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._users: OrderedDict[str | None, UserRecord] = OrderedDict()

    def get(self, user: str | None) -> UserRecord:
        """Return what is known of a user; asking leaves no trace."""
        return self._users.get(user) or UserRecord()

    def touch(self, user: str | None) -> UserRecord:
        """Return a user for whom something happens."""
        users = self._users
        record = users.get(user)
        if record is None:
            record = users[user] = UserRecord()
            if len(users) > self._limit:
                users.popitem(last=False)
        users.move_to_end(user)
        return record

    def clear(self) -> None:
        """Forget all users."""
        self._users.clear()

    def forget_times(self) -> None:
        """Forget when things happened, for a log whose seconds count from elsewhere."""
        for record in self._users.values():
            record.submit = record.end = None

    def dump(self) -> str:
        """Return everything as JSON."""
        return json.dumps(
            [
                [user, [getattr(record, name) for name in UserRecord.__slots__]]
                for user, record in self._users.items()
            ]
        )

    def load(self, text: str) -> None:
        """Restore what :meth:`dump` returned."""
        self._users.clear()
        for user, values in json.loads(text):
            record = self._users[user] = UserRecord()
            for name, value in zip(UserRecord.__slots__, values, strict=True):
                setattr(record, name, tuple(value) if isinstance(value, list) else value)


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

    __slots__ = ("queued", "queued_cores", "running_cores", "started", "sum_started")

    def __init__(self) -> None:
        self.queued = self.queued_cores = self.running_cores = self.sum_started = 0
        self.started: dict[int, int] = {}

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


class Codes:
    """
    A number for each string, by first appearance.

    Parameters
    ----------
    limit
        Strings remembered; one that comes back after it was forgotten gets a new number.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._next = 0
        self._codes: OrderedDict[str, int] = OrderedDict()

    def get(self, text: str | None) -> int:
        """Return the number of a string; -1 where it has none."""
        return -1 if text is None else self._codes.get(text, -1)

    def add(self, text: str | None) -> None:
        """Give a string a number, unless it has one."""
        if text is None:
            return
        codes = self._codes
        if text not in codes:
            codes[text] = self._next
            self._next += 1
            if len(codes) > self._limit:
                codes.popitem(last=False)
        codes.move_to_end(text)

    def state(self) -> dict[str, Any]:
        """Return everything."""
        return {"next": self._next, "codes": json.dumps(list(self._codes.items()))}

    def restore(self, state: Any) -> None:
        """Restore what :meth:`state` returned."""
        self._next = int(state["next"])
        self._codes = OrderedDict((text, int(code)) for text, code in json.loads(state["codes"]))

    def clear(self) -> None:
        """Forget everything."""
        self._next = 0
        self._codes.clear()
