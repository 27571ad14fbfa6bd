"""Messages as text, and sets of hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched.batsim.messages import Event, Message, hosts_of, intervals, read, written
from cpsched.errors import DispatchError


@given(st.sets(st.integers(0, 60), min_size=1))
def test_a_set_of_hosts_is_read_as_it_is_written(hosts):
    assert set(hosts_of(intervals(sorted(hosts)), 61).tolist()) == hosts


def test_neighbours_are_written_as_intervals():
    assert intervals([0, 1, 2, 4, 7, 8]) == "0-2 4 7-8"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no host"),
        ("1 1", "or one twice"),
        ("0-2 2", "or one twice"),
        ("8", "the hosts are 0 to 7"),
        ("2-1", "the hosts are"),
        ("0-999999999999999999", "the hosts are"),
        ("1,2", "is not a set of hosts"),
        ("-1", "is not a set of hosts"),
        ("0-", "is not a set of hosts"),
        ("٣", "is not a set of hosts"),
        ("9" * 99, "is not a set of hosts"),
    ],
)
def test_what_is_no_set_of_hosts_is_refused(text, problem):
    with pytest.raises(DispatchError, match=problem):
        hosts_of(text, 8)


def test_a_message_is_read_as_it_is_written():
    events = [Event(3.0, "NOTIFY", {"type": "x"}), Event(4.5, "REQUESTED_CALL", {})]
    assert read(written(5.0, events).encode(), "it", 3) == Message(5.0, events)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "which is not JSON"),
        (b"\xff", "which is not JSON"),
        (b"[" * 100_000, "which is not JSON"),
        (b"[]", "without the keys now and events"),
        (b'{"now": 9}', "without the keys now and events"),
        (b'{"now": "9", "events": []}', "now is '9'"),
        (b'{"now": true, "events": []}', "now is 'True'"),
        (b'{"now": Infinity, "events": []}', "now is 'inf'"),
        (b'{"events": []}', "now is missing"),
        (b'{"now": 1, "events": []}', "sends now=1, which is before second 5"),
        (b'{"now": 9, "events": [7]}', "an event without a type"),
        (b'{"now": 9, "events": [{"type": "A"}]}', "timestamp of 'A' is missing"),
        (
            b'{"now": 9, "events": [{"type": "A", "timestamp": 4}]}',
            "A of second 4, which is before",
        ),
        (b'{"now": 9, "events": [{"type": "A", "timestamp": 10}]}', "now=9, which is before"),
        (b'{"now": 9, "events": [{"type": "A", "timestamp": 9, "data": 1}]}', "not an object"),
    ],
)
def test_what_is_no_message_is_refused(text, problem):
    with pytest.raises(DispatchError, match=problem) as refused:
        read(text, "it", 5)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [None, 3, True])
def test_fields_are_of_their_kind(value):
    with pytest.raises(DispatchError, match="alloc of EXECUTE_JOB is .*must be text"):
        Event(0.0, "EXECUTE_JOB", {"alloc": value}).value("alloc", str)
