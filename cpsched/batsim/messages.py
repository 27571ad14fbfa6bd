"""
Messages of Batsim's protocol, versions 3 and 4: JSON text, events, sets of hosts.

A message is a moment and events of that moment, in order of time. Batsim asks and the scheduler
answers; hosts are numbered, and a set of them is written as ``0-3 7``.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched.errors import DispatchError
from cpsched.util.words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cpsched.util.types import IntArray


class Event(NamedTuple):
    """
    One event of a message.

    Attributes
    ----------
    timestamp
        Second of the simulation.
    type
        As ``EXECUTE_JOB``.
    data
        What belongs to it.
    """

    timestamp: float
    type: str
    data: Mapping[str, Any]

    def value(self, key: str, kind: Any) -> Any:
        """
        Return a field.

        Raises
        ------
        DispatchError
            If it is missing or of another kind.
        """
        value = self.data.get(key)
        # True and False are whole numbers to Python, and to nobody else.
        if isinstance(value, bool) or not isinstance(value, float | int if kind is float else kind):
            actual = "missing" if value is None else quoted(str(value))
            raise DispatchError(f"batsim: {key} of {self.type} is {actual}, must be {_KINDS[kind]}")
        return value


_KINDS = {str: "text", float: "a number", dict: "an object", list: "a list"}


class Message(NamedTuple):
    """
    What one side says.

    Attributes
    ----------
    now
        Second up to which the sender has come.
    events
        In order of time.
    """

    now: float
    events: Sequence[Event]


def written(now: float, events: Iterable[Event]) -> str:
    """Return a message as JSON text."""
    entries = [{"timestamp": at, "type": kind, "data": data} for at, kind, data in events]
    return json.dumps({"now": now, "events": entries})


def read(
    text: bytes,
    sender: str,
    since: float = 0.0,
    translated: Callable[[Any], Any] = lambda event: event,
) -> Message:
    """
    Read a message.

    Parameters
    ----------
    sender
        Who sent it, in errors.
    since
        The second before which nothing may happen any more.
    translated
        Makes an event of this version out of one of another.

    Raises
    ------
    DispatchError
        If it is no message, or one whose times are not in order.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        shown = quoted(text[:80].decode("utf-8", "replace"))
        raise DispatchError(f"batsim: {sender} sends {shown}, which is not JSON") from None
    if not (isinstance(message, dict) and isinstance(message.get("events"), list)):
        raise DispatchError(f"batsim: {sender} sends JSON without the keys now and events")
    now = _second(message.get("now"), "now", sender)
    events = [_event(translated(entry), sender) for entry in message["events"]]
    last = since
    for event in events:
        if event.timestamp < last:
            raise DispatchError(
                f"batsim: {sender} sends {event.type} of second {event.timestamp:g},"
                f" which is before second {last:g}"
            )
        last = event.timestamp
    if now < last:
        raise DispatchError(f"batsim: {sender} sends now={now:g}, which is before second {last:g}")
    return Message(now, events)


def _event(entry: Any, sender: str) -> Event:
    if not (isinstance(entry, dict) and isinstance(entry.get("type"), str)):
        raise DispatchError(f"batsim: {sender} sends an event without a type")
    data = entry.get("data") or {}
    if not isinstance(data, dict):
        raise DispatchError(
            f"batsim: {sender} sends {quoted(entry['type'])} with data that is not an object"
        )
    timestamp = _second(entry.get("timestamp"), f"timestamp of {quoted(entry['type'])}", sender)
    return Event(timestamp, entry["type"], data)


def _second(value: Any, what: str, sender: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        actual = "missing" if value is None else quoted(str(value))
        raise DispatchError(f"batsim: {sender} sends a message in which {what} is {actual}")
    return float(value)


def hosts_of(text: str, count: int) -> IntArray:
    """
    Read a set of hosts.

    Parameters
    ----------
    count
        How many hosts there are.

    Returns
    -------
    IntArray
        Their numbers, increasing.

    Raises
    ------
    DispatchError
        If it is no set of hosts, or has one that does not exist or is named twice.
    """
    parts = []
    for part in text.split():
        first, dash, last = part.partition("-")
        if not (_is_number(first) and (not dash or _is_number(last))):
            raise DispatchError(f"batsim: {quoted(text)} is not a set of hosts, such as '0-3 7'")
        begin, end = int(first), int(last if dash else first)
        if begin > end or end >= count:
            raise DispatchError(f"batsim: {quoted(part)}: the hosts are 0 to {count - 1}")
        parts.append(np.arange(begin, end + 1, dtype=np.int64))
    if len(parts) == 1:
        return parts[0]
    hosts = np.sort(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
    if not len(hosts) or (hosts[1:] == hosts[:-1]).any():
        raise DispatchError(f"batsim: {quoted(text)} has no host, or one twice")
    return hosts


def _is_number(text: str) -> bool:
    # More digits than a host could have are not worth reading.
    return text.isascii() and text.isdigit() and len(text) < 19


def intervals(hosts: Iterable[int]) -> str:
    """Write a set of hosts, given in increasing order."""
    runs: list[list[int]] = []
    for host in hosts:
        if runs and host == runs[-1][1] + 1:
            runs[-1][1] = host
        else:
            runs.append([host, host])
    return " ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in runs)
