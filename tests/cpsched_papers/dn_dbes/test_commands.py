"""``cpsched simulate --observe negotiation`` and ``cpsched negotiation``."""

from __future__ import annotations

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
    # Job 4 can never run here, and is no part of it.
    assert first["jobs"] == ["1", "2", "3", "5"]
    assert {"second", "transaction", "sender", "receiver"} < set(lines[0])

    code, shown, _ = cpsched("negotiation", "show", "n.jsonl")
    numbers = [line.split()[0] for line in shown.splitlines()[6:]]
    assert code == 0
    assert numbers == [str(number + 1) for number in range(len(numbers))]

    code, shown, _ = cpsched("negotiation", "show", "n.jsonl", "--transaction", "1")
    assert code == 0
    assert shown.startswith("Transaction 1, at 0 s\n\n")
    lines_shown = shown.splitlines()[2:]
    assert lines_shown[0].startswith("machine -> runtime  Machine {")
    assert lines_shown[-1].startswith("runtime -> batch    StatusReport {")
    assert '"jobs": [{"job": "1", "state": "started"' in lines_shown[-1]

    code, shown, _ = cpsched("negotiation", "replay", "n.jsonl")
    assert code == 0
    assert shown == (
        f"{len(lines)} messages in {len(numbers)} transactions: both sides give the recorded"
        " answers\n"
    )


def test_it_is_of_a_dispatcher_inside_another_too(files, cpsched):
    """As long as one of them negotiates."""
    code, _, err = cpsched(
        *SIMULATE, "-d", "try:dispatcher=dn-dbes", "--observe", "negotiation:file=n.jsonl"
    )
    assert (code, err) == (0, "")
    assert cpsched("negotiation", "replay", "n.jsonl")[0] == 0


def test_different_answers_are_shown(files, cpsched):
    """With their place; the exit code says that something is wrong."""
    logged(cpsched)
    lines = (files / "n.jsonl").read_text().splitlines()
    number = next(number for number, line in enumerate(lines) if '"StatusReport"' in line)
    content = json.loads(lines[number])
    content["message"]["idle"] = 3
    lines[number] = json.dumps(content)
    (files / "n.jsonl").write_text("\n".join(lines))
    code, shown, err = cpsched("negotiation", "replay", "n.jsonl")
    assert code == 1
    assert shown.startswith(f"n.jsonl:{number + 1}: transaction 1: the answer is StatusReport")
    assert "1 transaction different" in err
    code, answer, _ = cpsched("negotiation", "replay", "n.jsonl", "--json")
    assert code == 1
    found = json.loads(answer)
    assert (found["schema"], found["different"]) == ("cpsched.negotiation.replay/1", 1)
    assert found["first"] == shown.splitlines()


def test_transactions_and_messages_as_data(files, cpsched):
    """Messages are as the file has them."""
    logged(cpsched)
    lines = [json.loads(line) for line in (files / "n.jsonl").read_text().splitlines()]
    _, out, _ = cpsched("negotiation", "show", "n.jsonl", "--json")
    found = json.loads(out)
    assert found["schema"] == "cpsched.negotiation/1"
    numbers = sorted({line["transaction"] for line in lines[1:]})
    assert [row["transaction"] for row in found["transactions"]] == numbers
    _, out, _ = cpsched("negotiation", "show", "n.jsonl", "--transaction", "1", "--json")
    assert json.loads(out)["messages"] == [line for line in lines[1:] if line["transaction"] == 1]
    _, out, _ = cpsched("negotiation", "replay", "n.jsonl", "--json")
    found = json.loads(out)
    assert (found["messages"], found["different"]) == (len(lines) - 1, 0)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("-d", "easy"), "--observe: it is for one run, but these are 2"),
        (("--checkpoint", "c"), "--observe: it cannot continue from a checkpoint"),
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
    assert "negotiation: easy does not negotiate; dn-dbes does" in err


def test_a_log_is_not_overwritten_unasked(files, cpsched):
    """Nor is one written of a run that is there already."""
    logged(cpsched, "--out", "runs")
    code, _, err = logged(cpsched)
    assert code == 2
    assert "n.jsonl: negotiation: the file exists" in err
    (files / "n.jsonl").unlink()
    code, _, err = logged(cpsched, "--out", "runs")
    assert code == 2
    assert "the run exists already and was not repeated: add --overwrite" in err
    assert not (files / "n.jsonl").exists()
    assert logged(cpsched, "--out", "runs", "--overwrite")[0] == 0


def test_files_that_cannot_be_read(files, cpsched):
    """One line, with the place."""
    code, _, err = cpsched("negotiation", "replay", "log.swf")
    assert code == 2
    assert err.startswith("cpsched: log.swf:1: is not valid JSON")
    assert err.count("\n") == 1
