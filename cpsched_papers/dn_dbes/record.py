"""
Negotiations as a file: a line of JSON for every message, written, read back and replayed.

The first line says what the file is and what the jobs are called; every other one is a message with
its second, transaction, attempt, sender and receiver. What the machine tells the sides is among
them, so that a transaction can be repeated from its lines alone.
"""

from __future__ import annotations

import json
import types
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from cpsched.api.errors import ConfigError, DispatchError, TraceError
from cpsched.api.model import MILLION
from cpsched.api.tools import read_json
from cpsched_papers.dn_dbes import messages
from cpsched_papers.dn_dbes.batch import BatchSide
from cpsched_papers.dn_dbes.messages import (
    Machine,
    Message,
    NegotiationEnd,
    NegotiationStart,
    Queue,
    RunningJob,
    WaitingJob,
)
from cpsched_papers.dn_dbes.negotiation import Party, Sent
from cpsched_papers.dn_dbes.runtime import RuntimeSide
from cpsched_papers.dn_dbes.settings import VERSION, NegotiationSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import TextIO

_FORMAT = "cpsched negotiations"
#: By the name of its class.
_MESSAGES: dict[str, Any] = {kind.__name__: kind for kind in get_args(Message)}
#: Numbers beyond this are not believed.
_LARGEST = 10**15


class Writer:
    """
    Writes messages to an open file.

    Parameters
    ----------
    names
        What jobs are called, by number.
    """

    def __init__(self, file: TextIO, names: Sequence[str]) -> None:
        self._file = file
        self._write({"format": _FORMAT, "version": VERSION, "jobs": list(names)})

    def __call__(self, sent: Sent) -> None:
        """Write one message."""
        self._write(as_data(sent))

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")


def as_data(sent: Sent) -> dict[str, Any]:
    """Return a message as the file's lines have it, as plain JSON types."""
    about = sent._asdict()
    message = about.pop("message")
    return {**about, "type": type(message).__name__, "message": _plain(message)}


def _plain(value: Any) -> Any:
    """Return a message as JSON has it: objects and lists."""
    if hasattr(value, "_asdict"):
        return {name: _plain(one) for name, one in value._asdict().items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Record:
    """
    A file of negotiations.

    Attributes
    ----------
    names
        What jobs are called, by number.
    lines
        The messages, and the line of the file that each is on.
    """

    file: Path
    names: tuple[str, ...]
    lines: tuple[tuple[int, Sent], ...]

    def name_of(self, job: int) -> str:
        """Return what a job is called."""
        return self.names[job] if job < len(self.names) else f"#{job}"

    def transaction(self, number: int) -> list[Sent]:
        """
        Return the messages of one transaction.

        Raises
        ------
        ConfigError
            If there is none of this number.
        """
        found = [sent for _, sent in self.lines if sent.transaction == number]
        if not found:
            numbers = [sent.transaction for _, sent in self.lines]
            there = f"they are {min(numbers)} to {max(numbers)}" if numbers else "there is none"
            raise ConfigError(f"the file has no transaction {number}; {there}", where=self.file)
        return found


def read(file: Path) -> Record:
    """
    Read a file of negotiations.

    Raises
    ------
    TraceError
        If it is not one; names line, field and value.
    """
    with file.open("rb") as opened:
        lines = enumerate(opened, start=1)
        names = _names(file, next(lines, (1, b""))[1])
        return Record(
            file, names, tuple((number, _Line(file, number, text).sent()) for number, text in lines)
        )


def _names(file: Path, text: bytes) -> tuple[str, ...]:
    line = _Line(file, 1, text)
    found = line.content.get("format")
    if found != _FORMAT:
        raise line.error("format", found, f"must be '{_FORMAT}'")
    version = line.content.get("version")
    if version != VERSION:
        raise line.error("version", version, f"must be {VERSION}")
    names: tuple[str, ...] = line.value(tuple[str, ...], line.content.get("jobs"), "jobs")
    return names


class _Line:
    """One line of a file, and what is wrong with it."""

    def __init__(self, file: Path, number: int, text: bytes) -> None:
        self._file, self._number = file, number
        try:
            content = read_json(text)
        except ValueError as error:
            raise TraceError(str(error), file=file, line=number) from None
        if not isinstance(content, dict):
            raise TraceError("must be a JSON object", file=file, line=number)
        self.content: dict[str, Any] = content

    def error(self, field: str, value: object, message: str) -> TraceError:
        """Return the error of a field."""
        return TraceError(message, file=self._file, line=self._number, field=field, value=value)

    def sent(self) -> Sent:
        """Return the message."""
        content = dict(self.content)
        name = content.pop("type", None)
        kind = _MESSAGES.get(name) if isinstance(name, str) else None
        if kind is None:
            raise self.error("type", name, f"must be one of {', '.join(sorted(_MESSAGES))}")
        message = self.value(kind, content.get("message"), "message")
        parties = {}
        for field in ("sender", "receiver"):
            found = content.get(field)
            if not isinstance(found, str) or found not in [*Party]:
                raise self.error(field, found, f"must be one of {', '.join(Party)}")
            parties[field] = Party(found)
        second, transaction, attempt = (
            self.value(int, content.get(field), field)
            for field in ("second", "transaction", "attempt")
        )
        return Sent(second, transaction, attempt, **parties, message=message)

    def value(self, hint: Any, found: Any, field: str) -> Any:
        """Return what is found as what is expected."""
        if get_origin(hint) in (Union, types.UnionType):
            return None if found is None else self.value(get_args(hint)[0], found, field)
        if get_origin(hint) is tuple:
            return self._items(get_args(hint), found, field)
        if hasattr(hint, "_fields"):
            return self._object(hint, found, field)
        if hint is float and type(found) is int:
            return float(found)
        if type(found) is not hint:
            raise self.error(field, found, f"must be a value of type {hint.__name__}")
        if hint is int and not 0 <= found <= _LARGEST:
            raise self.error(field, found, f"must be from 0 to {_LARGEST}")
        return found

    def _items(self, hints: tuple[Any, ...], found: Any, field: str) -> tuple[Any, ...]:
        if not isinstance(found, list):
            raise self.error(field, found, "must be a list")
        if hints[-1] is Ellipsis:
            hints = hints[:1] * len(found)
        if len(hints) != len(found):
            raise self.error(field, found, f"must have {len(hints)} values")
        return tuple(
            self.value(hint, one, f"{field}[{index}]")
            for index, (hint, one) in enumerate(zip(hints, found, strict=True))
        )

    def _object(self, kind: Any, found: Any, field: str) -> NamedTuple:
        if not isinstance(found, dict):
            raise self.error(field, found, "must be an object")
        for name in kind._fields:
            if name not in found:
                raise self.error(f"{field}.{name}", None, "is missing")
        hints = _hints(kind)
        made: NamedTuple = kind(
            *(self.value(hints[name], found[name], f"{field}.{name}") for name in kind._fields)
        )
        if isinstance(made, WaitingJob | RunningJob):
            self._check_job(made, field)
        return made

    def _check_job(self, job: WaitingJob | RunningJob, field: str) -> None:
        """Check what the sides rely on."""
        for name in ("slots", "preferred", "units_min"):
            if getattr(job, name) < 1:
                raise self.error(f"{field}.{name}", getattr(job, name), "must be 1 or more")
        if job.serial > MILLION:
            raise self.error(f"{field}.serial", job.serial, f"must be from 0 to {MILLION}")
        units = job.units if isinstance(job, RunningJob) else job.units_min
        if not job.units_min <= units <= job.units_max:
            wanted = (
                f"must be {units} or more" if units > job.units_max else f"must be {units} or less"
            )
            name = "units_max" if units > job.units_max else "units_min"
            raise self.error(f"{field}.{name}", getattr(job, name), wanted)


_known_hints: dict[Any, dict[str, Any]] = {}


def _hints(kind: Any) -> dict[str, Any]:
    if kind not in _known_hints:
        _known_hints[kind] = get_type_hints(kind, vars(messages))
    return _known_hints[kind]


# --- once more -----------------------------------------------------------------------------------


class Difference(NamedTuple):
    """
    A recorded message that a side does not send, or one that it sends and is not recorded.

    Attributes
    ----------
    line
        Of the file.
    recorded, sent
        What is there, and what the side says; None: nothing.
    """

    line: int
    transaction: int
    party: Party
    recorded: Message | None
    sent: Message | None


def replay(record: Record) -> Iterator[Difference]:
    """
    Give each recorded message to the side that got it, and yield what it answers differently.

    Raises
    ------
    TraceError
        If a message is invalid for a side.
    """
    sides: dict[Party, Any] = {}
    due: deque[tuple[Party, Message]] = deque()
    number = transaction = 0
    for number, sent in record.lines:
        message = sent.message
        if isinstance(message, Machine):
            yield from _missing(number, sent.transaction, due)
        elif due and sent.sender is not Party.MACHINE:
            party, expected = due.popleft()
            if (party, expected) != (sent.sender, message):
                yield Difference(number, sent.transaction, party, message, expected)
        elif not isinstance(message, Queue | NegotiationStart | NegotiationEnd):
            yield Difference(number, sent.transaction, sent.sender, message, None)
        try:
            if isinstance(message, NegotiationStart):
                sides = _sides(message)
            if sent.receiver not in sides:
                raise DispatchError("the negotiation has not begun: no NegotiationStart yet")
            answers = sides[sent.receiver].step(message)
        except (ConfigError, DispatchError) as error:
            raise TraceError(
                f"the {sent.receiver} side refuses it: {error}",
                file=record.file,
                line=number,
                field="message",
                value=type(message).__name__,
            ) from None
        due.extend((sent.receiver, answer) for answer in answers)
        transaction = sent.transaction
    yield from _missing(number, transaction, due)


def _sides(start: NegotiationStart) -> dict[Party, Any]:
    settings = NegotiationSettings(
        attempts=start.attempts,
        depth=start.depth,
        mapped_share=start.mapped_share,
        urgent=start.urgent,
    )
    return {Party.BATCH: BatchSide(settings), Party.RUNTIME: RuntimeSide()}


def _missing(
    line: int, transaction: int, due: deque[tuple[Party, Message]]
) -> Iterator[Difference]:
    """Yield the answers that are not recorded."""
    while due:
        party, message = due.popleft()
        yield Difference(line, transaction, party, None, message)
