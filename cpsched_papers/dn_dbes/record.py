"""
Negotiations as a file: a line of JSON for every message, written, read back and repeated.

The first line says what the file is, what the settings are and what the jobs are called; every
other one is a message with its second, transaction, sender and receiver. What the machine tells the
sides is among them, so that a transaction can be repeated from its lines alone.
"""

from __future__ import annotations

import json
import types
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from cpsched.api.errors import ConfigError, TraceError
from cpsched.api.model import MILLION
from cpsched.api.simulation import RunObserver
from cpsched.api.tools import check_new_file, read_json, replacing
from cpsched_papers.dn_dbes import messages
from cpsched_papers.dn_dbes.messages import FromBatch, Machine, Message, Queue
from cpsched_papers.dn_dbes.negotiation import Negotiation
from cpsched_papers.dn_dbes.settings import NegotiationSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TextIO

    from cpsched.api.dispatchers import Dispatcher

_FORMAT = {"format": "cpsched negotiations", "version": 2}
#: Numbers beyond this are not believed.
_LARGEST = 10**15


# --- written -------------------------------------------------------------------------------------


class NegotiationLog(RunObserver):
    """
    Writes the messages between the two sides of dn-dbes, as JSON lines.

    Parameters
    ----------
    file
        The file to write.
    """

    name = "negotiation"

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self._names: Sequence[str] = ()
        self._open: TextIO | None = None

    @contextmanager
    def opened(
        self, dispatcher: Dispatcher, job_ids: Sequence[str], *, overwrite: bool
    ) -> Iterator[None]:
        """Hold the file open, which replaces another only when it is whole."""
        if _negotiation_of(dispatcher) is None:
            raise ConfigError(f"{dispatcher.name} does not negotiate; dn-dbes does", key=self.name)
        check_new_file(self._path, overwrite=overwrite, key=self.name)
        self._names = job_ids
        with replacing(self._path) as partial, partial.open("w", encoding="utf-8") as self._open:
            yield

    def on_begin(self, dispatcher: Dispatcher) -> None:
        """Listen from now on."""
        negotiation = _negotiation_of(dispatcher)
        if negotiation is not None and self._open is not None:
            listen(negotiation, self._open, self._names)


def _negotiation_of(dispatcher: Dispatcher) -> Negotiation | None:
    """Return what a dispatcher, or the one it wraps, negotiates with; None if it does not."""
    while (inner := getattr(dispatcher, "inner", None)) is not None:
        dispatcher = inner
    found: Negotiation | None = getattr(dispatcher, "negotiation", None)
    return found


def listen(negotiation: Negotiation, file: TextIO, names: Sequence[str]) -> None:
    """Write all that a negotiation says from now on to an open file; ``names`` are the jobs'."""

    def write(line: Mapping[str, Any]) -> None:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def told(second: int, transaction: int, said: Sequence[Message]) -> None:
        for message in said:
            write({"second": second, "transaction": transaction, **as_data(message)})

    write({**_FORMAT, "settings": asdict(negotiation.settings), "jobs": list(names)})
    negotiation.listener = told


def as_data(message: Message) -> dict[str, Any]:
    """Return a message, who sends it and who gets it, as plain JSON types."""
    from_batch = isinstance(message, FromBatch)
    from_machine = isinstance(message, Machine | Queue)
    return {
        "sender": "machine" if from_machine else "batch" if from_batch else "runtime",
        "receiver": "runtime" if from_batch or isinstance(message, Machine) else "batch",
        "type": type(message).__name__,
        "message": _plain(message),
    }


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(one) for name, one in value._asdict().items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


# --- read ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Record:
    """
    A file of negotiations.

    Attributes
    ----------
    names
        What jobs are called, by number.
    lines
        The messages as the file has them, from its second line on.
    """

    file: Path
    settings: NegotiationSettings
    names: tuple[str, ...]
    lines: tuple[dict[str, Any], ...]

    def name_of(self, job: int) -> str:
        """Return what a job is called."""
        return self.names[job] if job < len(self.names) else f"#{job}"

    def transactions(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Yield the number and the messages of each transaction."""
        for number, lines in groupby(self.lines, key=lambda line: int(line["transaction"])):
            yield number, list(lines)

    def transaction(self, number: int) -> list[dict[str, Any]]:
        """
        Return the messages of one transaction.

        Raises
        ------
        ConfigError
            If there is none of this number.
        """
        found = dict(self.transactions())
        if number not in found:
            there = f"they are {min(found)} to {max(found)}" if found else "there is none"
            raise ConfigError(f"the file has no transaction {number}; {there}", where=self.file)
        return found[number]


def read(file: Path) -> Record:
    """
    Read a file of negotiations.

    Raises
    ------
    TraceError
        If it is not one; names line, field and value.
    """
    with file.open("rb") as opened:
        texts = list(opened) or [b""]
    first, *lines = (_Line(file, number, text) for number, text in enumerate(texts, start=1))
    for key, right in _FORMAT.items():
        if first.content.get(key) != right:
            raise first.error(key, first.content.get(key), f"must be {right!r}")
    given: dict[str, Any] = first.value(dict, first.content.get("settings"), "settings")
    try:
        settings = NegotiationSettings(**given)
    except (ConfigError, TypeError) as error:
        raise first.error("settings", given, str(error)) from None
    names = first.value(tuple[str, ...], first.content.get("jobs"), "jobs")
    for line in lines:
        for key, kind in (("transaction", int), ("second", int), ("type", str), ("message", dict)):
            line.value(kind, line.content.get(key), key)
    return Record(file, settings, names, tuple(line.content for line in lines))


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

    def value(self, hint: Any, found: Any, field: str) -> Any:
        """Return what is found as what is expected: a type, or one of messages and their parts."""
        if get_origin(hint) in (Union, types.UnionType):
            return None if found is None else self.value(get_args(hint)[0], found, field)
        if get_origin(hint) is tuple:
            items = enumerate(self.value(list, found, field))
            inner = get_args(hint)[0]
            return tuple(self.value(inner, one, f"{field}[{index}]") for index, one in items)
        if hasattr(hint, "_fields"):
            return self._object(hint, self.value(dict, found, field), field)
        if type(found) is not hint:
            raise self.error(field, found, f"must be a value of type {hint.__name__}")
        if hint is int and not 0 <= found <= _LARGEST:
            raise self.error(field, found, f"must be from 0 to {_LARGEST}")
        return found

    def _object(self, kind: Any, found: dict[str, Any], field: str) -> Any:
        hints = get_type_hints(kind, vars(messages))
        made = kind(
            *(self.value(hints[name], found.get(name), f"{field}.{name}") for name in kind._fields)
        )
        if "slots" in kind._fields and "units_min" in kind._fields:
            # What the sides rely on.
            units = getattr(made, "units", made.units_min)
            bounds = {
                "slots": (1, _LARGEST),
                "preferred": (1, _LARGEST),
                "units_min": (1, units),
                "units_max": (units, _LARGEST),
                "serial": (0, MILLION),
            }
            for name, (low, high) in bounds.items():
                if not low <= getattr(made, name) <= high:
                    found_there = getattr(made, name)
                    raise self.error(
                        f"{field}.{name}", found_there, f"must be from {low} to {high}"
                    )
        return made


# --- once more -----------------------------------------------------------------------------------


class Difference(NamedTuple):
    """
    Where a transaction goes another way than recorded.

    Attributes
    ----------
    line
        Of the file.
    recorded, sent
        What is there, and what the sides say; None: nothing.
    """

    line: int
    transaction: int
    recorded: dict[str, Any] | None
    sent: dict[str, Any] | None


def replay(record: Record) -> Iterator[Difference]:
    """
    Repeat each recorded transaction, and yield the first message of each that is different.

    Raises
    ------
    TraceError
        If what the machine told the sides is not there, or makes no sense.
    """
    begin = 2
    for transaction, lines in record.transactions():
        told = []
        for at, kind in enumerate((Machine, Queue)):
            line = _Line(
                record.file, begin + at, json.dumps(lines[min(at, len(lines) - 1)]).encode()
            )
            if line.content["type"] != kind.__name__:
                raise line.error("type", line.content["type"], f"must be {kind.__name__}")
            told.append(line.value(kind, line.content["message"], "message"))
        said = map(as_data, Negotiation(record.settings).transact(*told))
        about = {key: lines[0][key] for key in ("second", "transaction")}
        for at, (recorded, sent) in enumerate(zip_longest(lines, said)):
            if recorded != (None if sent is None else {**about, **sent}):
                yield Difference(begin + at, transaction, recorded, sent)
                break
        begin += len(lines)
