"""Negotiations as files: written, read back and replayed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from negotiations import transactions

from cpsched.errors import ConfigError, TraceError
from cpsched_papers.dn_dbes.messages import Machine, Queue, RunningJob, WaitingJob
from cpsched_papers.dn_dbes.negotiation import Negotiation
from cpsched_papers.dn_dbes.record import Writer, read, replay
from cpsched_papers.dn_dbes.settings import NegotiationSettings

MACHINE = Machine(0, 12, 4, (RunningJob(0, 8, 2, 8, preferred=8, end=100),), offers=True)
QUEUE = Queue(0, (WaitingJob(1, 9, 4, 4, 4, 50), WaitingJob(2, 8, 3, 3, 3, 50)))
NAMES = ["a", "b", "c\x1b"]


def written(path, machine=MACHINE, queue=QUEUE, settings=None):
    """Write a negotiation to a file, from its begin to its end."""
    negotiation = Negotiation(settings or NegotiationSettings(attempts=4))
    with path.open("w") as file:
        negotiation.listener = Writer(file, NAMES)
        negotiation.transact(machine, queue)
        negotiation.close("done")
    return path


@pytest.fixture
def file(tmp_path):
    """A file with one transaction."""
    return written(tmp_path / "log.jsonl")


@given(transactions())
def test_every_negotiation_is_read_as_written_and_replays(tmp_path_factory, drawn):
    """Each side answers each message as it did."""
    settings, machine, queue = drawn
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    sent = []
    negotiation = Negotiation(settings)
    with path.open("w") as file:
        writer = Writer(file, NAMES)
        negotiation.listener = lambda one: (sent.append(one), writer(one))
        negotiation.transact(machine, queue)
    record = read(path)
    assert [one for _, one in record.lines] == sent
    assert list(replay(record)) == []


def test_what_a_side_does_not_say_is_found(file):
    """A message that was changed, one that was left out, and what follows from them."""
    lines = file.read_text().splitlines()
    numbers = [number for number, line in enumerate(lines) if '"Offer"' in line]
    offer = json.loads(lines[numbers[1]])
    offer["message"]["idle"] = 3
    file.write_text("\n".join([*lines[: numbers[1]], json.dumps(offer), *lines[numbers[1] + 1 :]]))
    found = list(replay(read(file)))
    assert (found[0].line, found[0].party) == (numbers[1] + 1, "runtime")
    assert (found[0].recorded.idle, found[0].sent.idle) == (3, 0)
    # The file ends before the runtime side's last word.
    report = next(number for number, line in enumerate(lines) if '"StatusReport"' in line)
    file.write_text("\n".join(lines[:report]))
    (missing,) = replay(read(file))
    assert missing.recorded is None
    assert type(missing.sent).__name__ == "StatusReport"


def test_a_message_that_nobody_caused(file):
    """Said out of turn."""
    lines = file.read_text().splitlines()
    offer = next(line for line in lines if '"Offer"' in line)
    file.write_text("\n".join([*lines[:3], offer]))
    unasked, unanswered = replay(read(file))
    assert unasked.sent is None
    assert unanswered.recorded is None


def test_a_message_that_a_side_refuses_is_an_error_of_one_line(file):
    """With the place, whatever else is right."""
    lines = file.read_text().splitlines()
    number = next(number for number, line in enumerate(lines) if '"OfferResponse"' in line)
    answer = json.loads(lines[number])
    answer["message"]["attempt"] = 7
    file.write_text("\n".join([*lines[:number], json.dumps(answer)]))
    with pytest.raises(TraceError, match=rf"log.jsonl:{number + 1}: .*offer 7 was answered"):
        list(replay(read(file)))
    file.write_text("\n".join([lines[0], *lines[3:]]))
    with pytest.raises(TraceError, match=r"log.jsonl:2: .*the negotiation has not begun"):
        list(replay(read(file)))


@pytest.mark.parametrize(
    ("line", "change", "reason"),
    [
        (1, {"format": "other"}, "field format = 'other': must be 'cpsched negotiations'"),
        (1, {"version": 99}, "field version = 99: must be 1"),
        (1, {"jobs": "a"}, "field jobs = 'a': must be a list"),
        (2, {"type": "Order"}, "field type = 'Order': must be one of Machine, "),
        (2, {"sender": ["batch"]}, r"field sender = \['batch'\]: must be one of machine, batch, "),
        (2, {"second": -1}, "field second = -1: must be from 0 to "),
        (2, {"second": True}, "field second = True: must be a value of type int"),
        (2, {"attempt": None}, "field attempt: must be a value of type int"),
        (2, {"message": []}, r"field message = \[\]: must be an object"),
        (2, {"message": {}}, "field message.attempts: is missing"),
        (4, ("running", 0, "units", 9), r"field message.running\[0\].units_max = 8: must be 9 or"),
        (4, ("running", 0, "slots", 0), r"field message.running\[0\].slots = 0: must be 1 or more"),
        (4, ("running", 0, "blocks", "x"), r".*blocks = 'x': must be a value of type int"),
        (4, ("running", 0, "serial", 10**7), ".*serial = 10000000: must be from 0 to 1000000"),
        (5, ("jobs", 1, "units_min", 4), r".*jobs\[1\].units_max = 3: must be 4 or more"),
        (5, ("jobs", 1, None), r"field message.jobs\[1\]: must be an object"),
    ],
)
def test_bad_lines(file, line, change, reason):
    """One line: file, line, field, value, and what would be right."""
    lines = file.read_text().splitlines()
    content = json.loads(lines[line - 1])
    if isinstance(change, dict):
        content |= change
    else:
        *path, last, value = ("message", *change)
        inner = content
        for step in path:
            inner = inner[step]
        inner[last] = value
    lines[line - 1] = json.dumps(content)
    file.write_text("\n".join(lines))
    with pytest.raises(TraceError, match=rf"log.jsonl:{line}: {reason}") as caught:
        read(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "log.jsonl:1: is not valid JSON"),
        ("[]", "log.jsonl:1: must be a JSON object"),
        ("\x00\xff", "log.jsonl:1: is not valid JSON"),
        ("[" * 100_000, "log.jsonl:1: is not valid JSON: it is nested too deeply"),
    ],
)
def test_files_that_are_something_else(tmp_path, text, reason):
    """Whatever is in them."""
    path = tmp_path / "log.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(TraceError, match=reason):
        read(path)


def test_a_transaction_that_is_not_there(file):
    """The message says which there are."""
    record = read(file)
    assert len(record.transaction(1)) > 5
    with pytest.raises(ConfigError, match="has no transaction 2; they are 0 to 1"):
        record.transaction(2)
