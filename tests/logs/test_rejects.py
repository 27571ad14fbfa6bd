"""Rows that cannot be read: every reader counts them, writes them, and reads the others as ever."""

import csv
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cpsched
from cpsched import logs
from cpsched.errors import TraceError

SWF = "1 0 5 60 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1"


def with_lines(text, lines, last=None):
    """Return a text with wrong lines behind its third last one, or the given one."""
    rows = text.splitlines()
    at = len(rows) - 2 if last is None else last
    return "\n".join([*rows[:at], *lines, *rows[at:]]) + "\n"


def swf(folder, small_logs):
    clean = (small_logs / "small.swf").read_text()
    lines = [SWF.replace("60", "fast"), SWF[:-3], SWF.replace("1 0", "1 -7")]
    broken = folder / "small.swf"
    broken.write_text(with_lines(clean, lines))
    at = clean.count("\n") - 1
    return broken, small_logs / "small.swf", [
        (at, "4 (run time)", "fast", "is not a whole number", lines[0]),
        (at + 1, "", "", "the line has 17 fields, must have 18", lines[1]),
        (at + 2, "2 (submit time)", "-7", "must be from 0 to", lines[2]),
    ]  # fmt: skip


def table(folder, small_logs):
    clean = folder / "clean.csv"
    logs.write(logs.read(small_logs / "small.swf"), clean)
    text = clean.read_text()
    row = text.splitlines()[-1].split(",")
    lines = [",".join(["x", *row[1:-1]]), ",".join(["y", "soon", *row[2:]]), '"z"z' + "," * 9]
    lines.append(",".join(['"a ""b"""', "1", "-5", *row[3:]]))
    broken = folder / "broken.csv"
    broken.write_text(with_lines(text, lines))
    at = text.count("\n") - 1
    return broken, clean, [
        (at, "", "", f"the row has {len(row) - 1} columns, and the header has {len(row)}", lines[0]),
        (at + 1, "submit", "soon", "is not a whole number", lines[1]),
        (at + 2, "", "", "is not a row of CSV: ',' expected after '\"'", lines[2]),
        (at + 3, "runtime", "-5", "must be from 0 to", lines[3]),
    ]  # fmt: skip


def parquet(folder, small_logs):
    clean = folder / "clean.parquet"
    logs.write(logs.read(small_logs / "small.swf"), clean)
    rows = pq.read_table(clean)
    wrong = rows.slice(0, 2).to_pylist()
    wrong[0] |= {"job_id": "x", "units": 0}
    wrong[1] |= {"job_id": wrong[0]["job_id"] * 200}
    wrong = pa.Table.from_pylist(wrong, rows.schema)
    broken = folder / "broken.parquet"
    pq.write_table(pa.concat_tables([rows.slice(0, 2), wrong, rows.slice(2)]), broken)
    text = ",".join("" if cell is None else str(cell) for cell in wrong.to_pylist()[0].values())
    return broken, clean, [
        (3, "units", "0", "must be from 1 to", text.replace("None", "")),
        (4, "job_id", "x" * 200, "must have at most 128 characters (row 4)", None),
    ]  # fmt: skip


def sacct(folder, small_logs):
    clean = small_logs / "slurm-22.sacct"
    text = clean.read_text()
    good = next(line for line in text.splitlines() if "|COMPLETED|" in line).split("|")
    names = text.splitlines()[0].split("|")
    wrong = dict(zip(names, good, strict=True)) | {"JobID": "900", "ReqTRES": "cpu=four"}
    lines = ["|".join(wrong.values()), "|".join(["9x", *good[1:]])]
    lines.append("|".join(({**wrong, "JobID": "902", "Submit": "noon"}).values()))
    broken = folder / "slurm-22.sacct"
    broken.write_text(with_lines(text, lines, last=1))
    return broken, clean, [
        (2, "ReqTRES cpu", "four", "", lines[0]),
        (3, "JobID", "9x", "is not the id of a job, such as 123 or 123_4", lines[1]),
        (4, "Submit", "noon", "", lines[2]),
    ]  # fmt: skip


def sacct_json(folder, small_logs):
    clean = small_logs / "slurm-22.05.8.json"
    content = json.loads(clean.read_text())
    job = next(job for job in content["jobs"] if job["state"]["current"] == "COMPLETED")
    wrong = [
        {**job, "job_id": 900, "time": None},
        {**job, "job_id": 901, "state": {"current": "the best"}},
    ]
    content["jobs"][1:1] = wrong
    broken = folder / clean.name
    broken.write_text(json.dumps(content))
    return broken, clean, [
        (2, "", "", "has no time", json.dumps(wrong[0])),
        (3, "State", "the best", "is not a state of a Slurm job (jobs[2])", json.dumps(wrong[1])),
    ]  # fmt: skip


def pbs(folder, small_logs):
    clean = small_logs / "pbspro.acct"
    text = clean.read_text()
    record = next(line for line in text.splitlines() if ";E;" in line)
    lines = ["03/31/2014;E;1.node129", record.replace("start=1396256142", "start=noon")]
    lines[1] = lines[1].replace("498503", "900")
    broken = folder / "pbspro.acct"
    broken.write_text(with_lines(text, lines))
    at = text.count("\n") - 1
    return broken, clean, [
        (at, "", "", "is not an accounting record", lines[0]),
        (at + 1, "start", "noon", "is not a whole number", lines[1]),
    ]  # fmt: skip


BROKEN = {maker.__name__: maker for maker in (swf, table, parquet, sacct, sacct_json, pbs)}


@pytest.fixture(params=BROKEN)
def broken_log(request, tmp_path, small_logs):
    """A log with wrong rows, the same log without them, and what is to be said of these rows."""
    return BROKEN[request.param](tmp_path, small_logs)


def rejected_rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rejected_rows_are_written_and_the_others_are_read(broken_log, tmp_path):
    log, clean_log, expected = broken_log
    file = tmp_path / "rejected.csv"
    workload, clean = logs.read(log, skip_bad_lines=True, rejects=file), logs.read(clean_log)
    rows = rejected_rows(file)
    assert len(rows) == len(expected)
    for row, (line, field, value, reason, text) in zip(rows, expected, strict=True):
        assert (row["line"], row["field"], row["value"]) == (str(line), field, value)
        assert reason in row["reason"]
        assert text is None or row["text"].lstrip("'") == text
    # A PBS record that cannot be read has a reason of its own.
    unreadable = dict(workload.set_aside).get("unreadable record", 0)
    assert dict(workload.set_aside)["bad line"] + unreadable == len(rows)
    assert replace(workload, set_aside=clean.set_aside).digest() == clean.digest()


def test_the_first_rejected_row_ends_the_reading(broken_log, tmp_path):
    """And the file has all of them."""
    log, _, expected = broken_log
    number = sum(row[1] != "start" for row in expected)
    way = "it" if number == 1 else f"the {number} bad lines"
    with pytest.raises(TraceError) as raised:
        logs.read(log, rejects=tmp_path / "rejected.csv")
    line, field, value, reason, _ = expected[0]
    assert raised.value.line in (line, None)
    assert reason in str(raised.value)
    assert (raised.value.field or "", str(raised.value.value or value)) == (field, value)
    assert str(raised.value).endswith(f". --skip-bad-lines skips {way}.")
    assert "\n" not in str(raised.value)
    assert len(rejected_rows(tmp_path / "rejected.csv")) == len(expected)


def test_rows_are_counted_alike_whether_they_are_written_or_not(broken_log, tmp_path):
    log, _, _ = broken_log
    counted = logs.read(log, skip_bad_lines=True)
    written = cpsched.read_log(log, skip_bad_lines=True, rejects=tmp_path / "rejected.csv")
    assert counted.set_aside == written.set_aside
    assert counted.digest() == written.digest()


def test_a_log_without_wrong_rows_has_none_to_write(small_logs, tmp_path):
    logs.read(small_logs / "small.swf", rejects=tmp_path / "rejected.csv")
    assert (tmp_path / "rejected.csv").read_text() == "line,field,value,reason,text\n"


def test_rows_on_several_lines_are_written_as_they_are(log, tmp_path):
    header = "job_id,submit,runtime,units,requested_time,name"
    path = log("a.csv", f'{header}\nx,0,1,1,9,a\ny,0,-1,1,9,"b\n""c"""\nz,0,1,1,9,"d\n')
    assert logs.read(path, skip_bad_lines=True, rejects=tmp_path / "r.csv").num_jobs == 1
    rows = rejected_rows(tmp_path / "r.csv")
    assert [row["line"] for row in rows] == ["3", "5"]
    assert [row["text"] for row in rows] == ['y,0,-1,1,9,"b\n""c"""', 'z,0,1,1,9,"d']
    header = "JobID|JobName|State|Submit|Start|Elapsed|ReqTRES|NNodes|SubmitLine"
    when = "2024-03-01T10:00:00|2024-03-01T10:01:00|00:02:00"
    wrong = f"2|a|COMPLETED|{when}|cpu=x|1|sbatch\n  job.sh"
    path = log("a.sacct", f"{header}\n1|a|COMPLETED|{when}|cpu=4|1|sbatch\n{wrong}\n")
    assert logs.read(path, skip_bad_lines=True, rejects=tmp_path / "r.csv").num_jobs == 1
    assert [row["text"] for row in rejected_rows(tmp_path / "r.csv")] == [wrong]


def test_a_text_that_may_be_a_formula_is_marked(log, tmp_path):
    path = log("a.swf", f"{SWF}\n=cmd()\n")
    logs.read(path, skip_bad_lines=True, rejects=tmp_path / "r.csv")
    assert [row["text"] for row in rejected_rows(tmp_path / "r.csv")] == ["'=cmd()"]


def test_the_log_itself_is_not_overwritten(log):
    path = log("a.swf", f"{SWF}\nx\n")
    with pytest.raises(TraceError, match="is the log itself"):
        logs.read(path, rejects=path)
    assert path.read_text() == f"{SWF}\nx\n"


@pytest.mark.parametrize("command", [("info",), ("convert", "--to-format", "swf")])
def test_commands_write_the_rejected_rows(log, tmp_path, cpsched, command):
    path, file = log("a.swf", f"{SWF}\nx\n"), tmp_path / "rejected.csv"
    name, *more = command
    target = [str(tmp_path / "b.swf")] if name == "convert" else []
    code, _, err = cpsched("log", name, str(path), *target, *more, "--rejects", str(file))
    assert code == 2
    assert f"{path}:2: the line has 1 fields, must have 18" in err
    assert rejected_rows(file)[0]["text"] == "x"
    file.unlink()
    code, _, err = cpsched(
        "log", name, str(path), *target, *more, "--skip-bad-lines", "--rejects", str(file)
    )
    assert (code, err) == (0, "") or "note" in err
    assert rejected_rows(file)[0]["text"] == "x"
