"""``cpsched simulate --observe negotiation`` and ``cpsched show negotiation``."""

import json

import pytest

LOG = """\
; Computer: a tiny machine
1 0 -1 40 3 -1 -1 3 40 -1 1 1 1 -1 1 -1 -1 -1
2 1 -1 40 2 -1 -1 2 40 -1 1 2 1 -1 1 -1 -1 -1
3 2 -1 20 1 -1 -1 1 20 -1 1 2 1 -1 1 -1 -1 -1
4 9 -1 20 9 -1 -1 9 20 -1 1 2 1 -1 1 -1 -1 -1
5 9 -1 20 4 -1 -1 4 20 -1 1 2 1 -1 1 -1 -1 -1
"""
SIMULATE = ("simulate", "log.swf", "--system", "four.toml", "--malleable", "least=0.5,most=2")


@pytest.fixture
def files(four_cores):
    """A folder with a log and a system in it, and we are there."""
    (four_cores / "log.swf").write_text(LOG)
    return four_cores


def logged(cpsched, *more):
    return cpsched(*SIMULATE, "-d", "dn-dbes", "--observe", "negotiation:file=n.jsonl", *more)


@pytest.mark.parametrize("out", [(), ("--out", "runs")])
def test_a_log_is_written_shown_and_replayed(files, cpsched, out):
    """With and without a folder for the run."""
    code, _, err = logged(cpsched, *out)
    assert (code, err) == (0, "")
    first, *lines = [json.loads(line) for line in (files / "n.jsonl").read_text().splitlines()]
    assert first["settings"]["attempts"] == 6
    # Job 4 can never run here, and is no part of it.
    jobs = [
        job["job"] for line in lines if line["type"] == "Queue" for job in line["message"]["jobs"]
    ]
    assert sorted(set(jobs)) == ["1", "2", "3", "5"]
    assert {"second", "transaction", "sender", "receiver"} < set(lines[0])

    code, shown, _ = cpsched("show", "negotiation", "n.jsonl")
    numbers = [line.split()[0] for line in shown.splitlines()[3:]]
    assert code == 0
    assert numbers == [str(number + 1) for number in range(len(numbers))]

    code, shown, _ = cpsched("show", "negotiation", "n.jsonl", "--transaction", "1")
    assert code == 0
    assert shown.startswith("Transaction 1, at 0 s\n\n")
    lines_shown = shown.splitlines()[2:]
    assert lines_shown[0].startswith("machine -> runtime  Machine {")
    assert lines_shown[-1].startswith("runtime -> batch    StatusReport {")
    assert '"jobs": [{"job": "1", "state": "started"' in lines_shown[-1]
    # It is the same one every time.
    before = (files / "n.jsonl").read_bytes()
    assert logged(cpsched, *out, "--force")[0] == 0
    assert (files / "n.jsonl").read_bytes() == before


def test_it_is_of_a_dispatcher_inside_another_too(files, cpsched):
    """As long as one of them negotiates."""
    code, _, err = cpsched(
        *SIMULATE, "-d", "speculative:dispatcher=dn-dbes", "--observe", "negotiation:file=n.jsonl"
    )
    assert (code, err) == (0, "")
    assert cpsched("show", "negotiation", "n.jsonl")[0] == 0


def test_transactions_and_messages_as_data(files, cpsched):
    """Messages are as the file has them."""
    logged(cpsched)
    lines = [json.loads(line) for line in (files / "n.jsonl").read_text().splitlines()]
    _, out, _ = cpsched("show", "negotiation", "n.jsonl", "--json")
    output = json.loads(out)
    assert output["schema"] == "cpsched.negotiation/1"
    numbers = sorted({line["transaction"] for line in lines[1:]})
    assert [row["transaction"] for row in output["transactions"]] == numbers
    _, out, _ = cpsched("show", "negotiation", "n.jsonl", "--transaction", "1", "--json")
    assert json.loads(out)["messages"] == [line for line in lines[1:] if line["transaction"] == 1]
    code, _, err = cpsched("show", "negotiation", "n.jsonl", "--transaction", "99")
    assert code == 2
    assert (
        f"n.jsonl: the file has no transaction 99. Its transactions are 1 to {max(numbers)}" in err
    )


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("-d", "easy"), "--observe: observes one run, but there are 2"),
        (("--checkpoint", "c"), "--observe: cannot be combined with --checkpoint"),
    ],
)
def test_what_cannot_be_logged(files, cpsched, more, reason):
    """It is said before anything is simulated."""
    code, out, err = logged(cpsched, *more)
    assert (code, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1
    assert not (files / "n.jsonl").exists()


def test_dispatchers_that_do_not_negotiate(files, cpsched):
    """EASY says nothing to anybody."""
    code, _, err = cpsched(*SIMULATE, "-d", "easy", "--observe", "negotiation:file=n.jsonl")
    assert code == 2
    assert "negotiation: easy does not negotiate. Use dn-dbes." in err


def test_a_log_is_not_overwritten_unasked(files, cpsched):
    """Nor is one written of a run that is there already."""
    logged(cpsched, "--out", "runs")
    code, _, err = logged(cpsched)
    assert code == 2
    assert "n.jsonl: negotiation: the file exists" in err
    (files / "n.jsonl").unlink()
    code, _, err = logged(cpsched, "--out", "runs")
    assert code == 2
    assert "the run exists already and was not repeated. Add --force." in err
    assert not (files / "n.jsonl").exists()
    assert logged(cpsched, "--out", "runs", "--force")[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LOG, "log.swf:1: is not valid JSON"),
        ("[]", "log.swf:1: is not the first line of a file of negotiations"),
        ('{"format": "cpsched negotiations", "version": 1}', "log.swf:1: has version 1, must be 2"),
        # A version is blamed only if it is another one.
        ('{"format": "cpsched studies", "version": 2}', "log.swf:1: is not the first line of"),
        ('{"format": "cpsched negotiations", "version": 2}\n{}', "log.swf:2: is not a message of"),
        ("", "log.swf:1: is empty"),
    ],
)
def test_files_that_cannot_be_read(files, cpsched, text, message):
    """One line, with the place."""
    (files / "log.swf").write_text(text)
    code, _, err = cpsched("show", "negotiation", "log.swf")
    assert code == 2
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1
