"""Negotiations as files: written, read back and repeated."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from negotiations import transactions

from cpsched.errors import ConfigError, TraceError
from cpsched_papers.dn_dbes.messages import Machine, Queue, RunningJob, WaitingJob
from cpsched_papers.dn_dbes.negotiation import Negotiation
from cpsched_papers.dn_dbes.record import as_data, listen, read, replay
from cpsched_papers.dn_dbes.settings import NegotiationSettings

MACHINE = Machine(0, 12, 4, (RunningJob(0, 8, 2, 8, preferred=8, end=100),), offers=True)
QUEUE = Queue((WaitingJob(1, 9, 4, 4, 4, 50), WaitingJob(2, 8, 3, 3, 3, 50)))
NAMES = ["a", "b", "c\x1b"]


def written(path, machine=MACHINE, queue=QUEUE, settings=None):
    """Write a transaction to a file, and return its messages."""
    negotiation = Negotiation(settings or NegotiationSettings(attempts=4))
    with path.open("w") as file:
        listen(negotiation, file, NAMES)
        return negotiation.transact(machine, queue)


@pytest.fixture
def file(tmp_path):
    """A file with one transaction."""
    written(tmp_path / "log.jsonl")
    return tmp_path / "log.jsonl"


def changed(file, line, change):
    """Change a line of a file, ``(..., key, value)``."""
    lines = file.read_text().splitlines()
    content = json.loads(lines[line - 1])
    *path, last, value = change
    inner = content
    for step in path:
        inner = inner[step]
    inner[last] = value
    lines[line - 1] = json.dumps(content)
    file.write_text("\n".join(lines))


@given(transactions())
def test_every_negotiation_is_read_as_written_and_goes_the_same_way(tmp_path_factory, drawn):
    """From what the machine said alone."""
    settings, machine, queue = drawn
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    sent = written(path, machine, queue, settings)
    record = read(path)
    about = {"second": machine.now, "transaction": 1}
    assert record.settings == settings
    assert list(record.lines) == [{**about, **as_data(one)} for one in sent]
    assert list(replay(record)) == []


def test_what_is_recorded_differently_is_found(file):
    """A message that was changed, and one that was left out; the first of a transaction."""
    lines = file.read_text().splitlines()
    number = [number for number, line in enumerate(lines, 1) if '"Offer"' in line][1]
    changed(file, number, ("message", "idle", 3))
    (found,) = replay(read(file))
    assert (found.line, found.transaction) == (number, 1)
    assert (found.recorded["message"]["idle"], found.sent["message"]["idle"]) == (3, 0)
    file.write_text("\n".join(lines[:-1]))
    (missing,) = replay(read(file))
    assert missing.recorded is None
    assert missing.sent["type"] == "StatusReport"


@pytest.mark.parametrize(
    ("line", "change", "reason"),
    [
        (1, ("format", "other"), "field format = 'other': must be 'cpsched negotiations'"),
        (1, ("version", 99), "field version = 99: must be 2"),
        (
            1,
            ("settings", {"attempts": 0}),
            r"field settings = .*: attempts is 0, must be 1 or more",
        ),
        (1, ("jobs", "a"), "field jobs = 'a': must be a value of type list"),
        (2, ("type", "Order"), "field type = 'Order': must be Machine"),
        (2, ("second", -1), "field second = -1: must be from 0 to "),
        (2, ("second", True), "field second = True: must be a value of type int"),
        (2, ("message", []), r"field message = \[\]: must be a value of type dict"),
        (2, ("message", {}), "field message.now: must be a value of type int"),
        (2, ("message", "running", 0, "units", 9), r".*running\[0\].units_max = 8: must be from 9"),
        (2, ("message", "running", 0, "slots", 0), r".*running\[0\].slots = 0: must be from 1 to"),
        (2, ("message", "running", 0, "blocks", "x"), r".*blocks = 'x': must be a value of type"),
        (2, ("message", "running", 0, "serial", 10**7), ".*serial = 10000000: must be from 0 to"),
        (3, ("message", "jobs", 1, "units_min", 4), r".*jobs\[1\].units_max = 3: must be from 4"),
        (3, ("message", "jobs", 1, None), r"field message.jobs\[1\]: must be a value of type dict"),
    ],
)
def test_bad_lines(file, line, change, reason):
    """One line: file, line, field, value, and what would be right."""
    changed(file, line, change)
    with pytest.raises(TraceError, match=rf"log.jsonl:{line}: {reason}") as caught:
        list(replay(read(file)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "log.jsonl:1: is not valid JSON"),
        ("[]", "log.jsonl:1: must be a JSON object"),
        ("[" * 100_000, "log.jsonl:1: is not valid JSON: it is nested too deeply"),
    ],
)
def test_files_that_are_something_else(tmp_path, text, reason):
    """Whatever is in them."""
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(TraceError, match=reason):
        read(path)


def test_a_transaction_that_is_not_there(file):
    """The message says which there are."""
    record = read(file)
    assert len(record.transaction(1)) > 5
    with pytest.raises(ConfigError, match="has no transaction 2; they are 1 to 1"):
        record.transaction(2)
