"""
Negotiations as a file: a line of JSON for every message.

The first line says what the file is and what the settings are; every other one is a message with
its second, transaction, sender and receiver, and jobs by their names. What the machine tells the
sides is among them.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, TraceError
from cpsched.papers.dn_dbes.messages import FromBatch, Machine, Message, Queue
from cpsched.simulation.observers import RunObserver
from cpsched.util.atomic_files import check_new_file, replacing
from cpsched.util.documents import json_text, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TextIO

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.papers.dn_dbes.negotiation import Negotiation

_FORMAT = {"format": "cpsched negotiations", "version": 2}
_KEYS = {
    **dict.fromkeys(("second", "transaction"), int),
    **dict.fromkeys(("sender", "receiver", "type"), str),
    "message": dict,
}
#: Types of messages whose jobs have states.
REPORTS = ("StatusReport", "UrgentJobResponse")


class NegotiationLog(RunObserver):
    """
    Record of the messages between the two schedulers of dn-dbes, as JSON lines.

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
        """Open the file. An existing file is replaced only when the new one is complete."""
        if _negotiation_of(dispatcher) is None:
            raise ConfigError(f"{dispatcher.name} does not negotiate. Use dn-dbes.", key=self.name)
        check_new_file(self._path, overwrite=overwrite, key=self.name)
        self._names = job_ids
        with replacing(self._path) as partial, partial.open("w", encoding="utf-8") as self._open:
            yield

    def on_begin(self, dispatcher: Dispatcher) -> None:
        """Start to record the messages of the dispatcher's two schedulers."""
        negotiation = _negotiation_of(dispatcher)
        if negotiation is not None and self._open is not None:
            listen(negotiation, self._open, self._names)


def _negotiation_of(dispatcher: Dispatcher) -> Negotiation | None:
    """Return what a dispatcher, or the one it wraps, negotiates with; None if it does not."""
    while (inner := getattr(dispatcher, "inner", None)) is not None:
        dispatcher = inner
    negotiation: Negotiation | None = getattr(dispatcher, "negotiation", None)
    return negotiation


def listen(negotiation: Negotiation, file: TextIO, names: Sequence[str]) -> None:
    """Write all that a negotiation says from now on to an open file; ``names`` are the jobs'."""

    def write(line: Mapping[str, Any]) -> None:
        file.write(json_text(line, separators=(",", ":")) + "\n")

    def listener(second: int, transaction: int, messages: Sequence[Message]) -> None:
        for message in messages:
            from_batch = isinstance(message, FromBatch)
            from_machine = isinstance(message, Machine | Queue)
            to_runtime = from_batch or isinstance(message, Machine)
            write({
                "second": second,
                "transaction": transaction,
                "sender": "machine" if from_machine else "batch" if from_batch else "runtime",
                "receiver": "runtime" if to_runtime else "batch",
                "type": type(message).__name__,
                "message": _plain(message, names),
            })  # fmt: skip

    write({**_FORMAT, "settings": asdict(negotiation.settings)})
    negotiation.listener = listener


def _plain(value: Any, names: Sequence[str], field: str = "") -> Any:
    """Return a message, or what a field of it has, as JSON has it: objects and lists."""
    if field in ("job", "blocks") and isinstance(value, int):
        return names[value]
    if field == "planned":
        return [[names[job], start] for job, start in value]
    if field == "dependencies":
        return [[names[running], names[job]] for running, job in value]
    if hasattr(value, "_asdict"):
        return {key: _plain(item, names, key) for key, item in value._asdict().items()}
    return [_plain(item, names) for item in value] if isinstance(value, tuple) else value


def read(file: Path) -> dict[int, list[dict[str, Any]]]:
    """
    Read a file of negotiations: the messages of each transaction, by its number.

    Raises
    ------
    TraceError
        If it is not one; names the line.
    """
    lines: list[dict[str, Any]] = []
    with file.open("rb") as opened:
        for number, text in enumerate(opened, start=1):
            try:
                line = read_json(text)
            except ValueError as error:
                raise TraceError(str(error), file=file, line=number) from None
            about = line if isinstance(line, dict) else {}
            if wrong := _complaint(about, first=not lines):
                raise TraceError(wrong, file=file, line=number)
            lines.append(about)
    if not lines:
        raise TraceError("is empty", file=file, line=1)
    by_number = groupby(lines[1:], key=lambda line: int(line["transaction"]))
    return {number: list(messages) for number, messages in by_number}


def _complaint(line: Mapping[str, Any], *, first: bool) -> str:
    """Return what is wrong with a line of a file of negotiations, '' if nothing is."""
    if not first:
        return "" if _is_message(line) else "is not a message of a negotiation"
    if line.get("format") != _FORMAT["format"]:
        return "is not the first line of a file of negotiations"
    version = line.get("version")
    ours = _FORMAT["version"]
    return "" if version == ours else f"has version {version}, must be {ours}"


def _is_message(line: Mapping[str, Any]) -> bool:
    if line.keys() != _KEYS.keys() or any(type(line[key]) is not _KEYS[key] for key in _KEYS):
        return False
    jobs = line["message"].get("jobs") if line["type"] in REPORTS else []
    return isinstance(jobs, list) and all(isinstance(job, dict) and "state" in job for job in jobs)
