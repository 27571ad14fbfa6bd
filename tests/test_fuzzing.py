"""Changed valid inputs are read or refused by one line, by every reader; more: benchmarks/fuzz.py."""

import gzip
import json
import warnings

import fuzzing
import pytest

from cpsched import logs
from cpsched.errors import ConfigError, CpschedError, TraceError, UnknownNameError
from cpsched.papers.dn_dbes.record import read as read_negotiations

#: How many inputs; those of slow readers are fewer.
NUMBER = {"run folder": 6, "scontrol output": 10, "slurm.conf and tables": 15, "study": 15}
NUMBER |= {"command line": 8, "specification": 100, "checkpoint": 15, "CSV log": 30}
#: Training takes seconds; benchmarks/fuzz.py reads them, and tests/predictors damaged ones.
LEFT_OUT = ("model",)
#: A changed checkpoint has another digest; commands answer, or end with one line.
OUTCOMES = {"checkpoint": {"refused"}, "command line": {"read"}}


@pytest.mark.parametrize(
    "reader",
    [reader for reader in fuzzing.READERS if reader.name not in LEFT_OUT],
    ids=lambda reader: reader.name,
)
def test_a_changed_input_is_read_or_refused(reader, tmp_path):
    """Some are read, and some refused: changes are neither all harmless nor all noticed at once."""
    outcomes = set()

    def read(files):
        outcomes.add(reader.outcome(files, tmp_path / "input"))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fuzzing.try_inputs(reader, NUMBER.get(reader.name, 30), 1, read)
    assert outcomes == OUTCOMES.get(reader.name, {"read", "refused"})


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\x0b"])
def test_an_error_is_one_line_whatever_it_quotes(end):
    name = f"a{end}b"
    for error in (
        ConfigError(f"has {name}"), TraceError(name), UnknownNameError("thing", name, ["c"]),
        CpschedError(name),
    ):  # fmt: skip
        assert len(str(error).splitlines()) == 1
        assert "a b" in str(error)


MESSAGE = {
    "second": 0,
    "transaction": 1,
    "sender": "a",
    "receiver": "b",
    "type": "T",
    "message": {},
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"transaction": None},
        {"transaction": ""},
        {"sender": []},
        {"second": "x"},
        {"message": 1},
        {"type": "StatusReport"},
        {"type": "StatusReport", "message": {"jobs": [{}]}},
    ],
)
def test_a_message_of_other_types_is_refused(tmp_path, wrong):
    first = {"format": "cpsched negotiations", "version": 2}
    path = tmp_path / "n.jsonl"
    path.write_text(f"{json.dumps(first)}\n{json.dumps(MESSAGE)}\n")
    assert list(read_negotiations(path)) == [1]
    path.write_text(f"{json.dumps(first)}\n{json.dumps(MESSAGE | wrong)}\n")
    with pytest.raises(TraceError, match=r"n.jsonl:2: is not a message of a negotiation"):
        read_negotiations(path)


@pytest.mark.parametrize(("form", "start"), [("swf", b""), ("sacct", b'{"jobs": [')])
def test_a_packed_file_that_fills_the_memory_is_refused(tmp_path, form, start, monkeypatch):
    for module in ("cpsched.logs.text", "cpsched.logs.sacct.as_json"):
        monkeypatch.setattr(f"{module}.SMALL_UNPACKED", 2**20)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(start + b"\n" * 2**23))
    with pytest.raises(TraceError, match="more than 1048576 bytes"):
        logs.read(path, format=form)
