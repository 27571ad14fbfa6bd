"""Small files that would take all memory or time are refused, with one line."""

import gzip
import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.logs.text import MAX_COMMENTS, MAX_ID, MAX_KINDS, SMALL_ROWS

HEADER = "job_id,submit,runtime,requested_time,cores"
SWF = "{} 0 5 60 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1\n"
SACCT = "JobID|State|Submit|Start|End|Elapsed|ReqTRES|NNodes|ReqGRES\n"
SACCT_ROW = (
    "{}|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:01:00|2024-03-01T10:03:00|00:02:00|cpu=4|1|{}\n"
)


def test_one_long_id_does_not_make_every_id_as_long(log):
    """Ids are an array of fixed width: 100 kB in one of 20,000 rows took 8 GB."""
    rows = [
        f"{HEADER}\n",
        *(f"{number},0,1,1,1\n" for number in range(3)),
        f"{'x' * 100_000},0,1,1,1\n",
    ]
    path = log("a.csv", "".join(rows))
    message = rf"a\.csv:5: field job_id = 'x.*': must have at most {MAX_ID} characters\."
    with pytest.raises(TraceError, match=message):
        logs.read(path)
    workload = logs.read(path, skip_bad_lines=True)
    assert workload.job_id.tolist() == ["0", "1", "2"]
    assert workload.job_id.dtype.itemsize <= 4 * MAX_ID
    assert dict(workload.set_aside) == {"bad line": 1}
    path = log("a.sacct", SACCT + SACCT_ROW.format("1" * 200, "") + SACCT_ROW.format("7", ""))
    with pytest.raises(TraceError, match=r"a\.sacct:2: field job id = '1.*must have at most"):
        logs.read(path)
    assert logs.read(path, skip_bad_lines=True).job_id.tolist() == ["7"]


def test_a_new_resource_in_every_job_is_refused(log):
    """Amounts are a table of jobs and kinds: 20,000 kinds in 20,000 jobs took 5 GB."""
    rows = [SACCT_ROW.format(number, f"kind{number}:1") for number in range(100)]
    path = log("a.sacct", SACCT + "".join(rows))
    # core is one of the kinds; the first line is the header.
    message = (
        rf"a\.sacct:{MAX_KINDS + 1}: field resource = 'kind.*at most {MAX_KINDS} resource types"
    )
    with pytest.raises(TraceError, match=message):
        logs.read(path)
    workload = logs.read(path, skip_bad_lines=True)
    assert len(workload.resources) == MAX_KINDS
    assert dict(workload.set_aside) == {"bad line": 100 - (MAX_KINDS - 1)}
    kinds = "".join(f",request.kind{number}" for number in range(100))
    path = log("b.csv", f"{HEADER.replace('cores', 'units')}{kinds}\n1,0,1,1,1{',1' * 100}\n")
    with pytest.raises(TraceError, match=rf"resources: must be .*at most {MAX_KINDS}"):
        logs.read(path)


def test_parquet_of_too_many_rows_is_refused_before_it_is_read(tmp_path):
    """Rows that are all alike take a byte in thousands; unpacked they took all memory."""
    path = tmp_path / "a.parquet"
    schema = pa.schema([("job_id", pa.string()), ("submit", pa.int64())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        table = pa.table({"job_id": pa.repeat("a", 10**7), "submit": pa.repeat(0, 10**7)})
        for _ in range(SMALL_ROWS // 10**7 + 1):
            writer.write_table(table)
    assert path.stat().st_size < 10**6
    begin = time.perf_counter()
    with pytest.raises(TraceError, match=rf"a\.parquet: holds more than {SMALL_ROWS} jobs. Cut it"):
        logs.read(path)
    assert time.perf_counter() - begin < 5


def test_a_text_repeated_in_parquet_is_kept_once(tmp_path):
    """A megabyte in each of 100,000 rows is one value, where it is a label, and no number."""
    path = tmp_path / "a.parquet"
    num_rows, long = 100_000, "x" * 2**20
    columns = {
        "job_id": [str(number) for number in range(num_rows)],
        **dict.fromkeys(("submit", "runtime", "requested_time", "cores"), [1] * num_rows),
        "user": pa.DictionaryArray.from_arrays(pa.array([0] * num_rows, pa.int32()), [long]),
    }
    pq.write_table(pa.table(columns), path)
    assert path.stat().st_size < 3 * 2**20
    workload = logs.read(path)
    assert workload.user.values == (long,)
    columns["submit"] = columns["user"]
    pq.write_table(pa.table(columns), path)
    with pytest.raises(TraceError, match=r"field submit = 'x+\.\.\.': is not a whole number"):
        logs.read(path)


@pytest.mark.parametrize(
    ("name", "header"), [("a.csv", ","), ("a.sacct", "|")], ids=["table", "sacct"]
)
def test_forty_thousand_columns_are_refused_at_once(log, name, header):
    """Looking for each name among all others took minutes."""
    names = ["job_id" if header == "," else "JobID", *(f"c{number}" for number in range(40_000))]
    path = log(name, header.join(names) + "\n")
    begin = time.perf_counter()
    with pytest.raises(TraceError, match="the header has 40001 columns, must have at most 1000"):
        logs.read(path, format="table" if header == "," else "sacct")
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize(
    ("name", "comment", "job"),
    [("a.swf.gz", ";", SWF.format(1)), ("a.csv.gz", "#", f"{HEADER}\n1,0,1,1,1\n")],
)
def test_packed_comments_without_end_are_refused(tmp_path, name, comment, job):
    """A thousandth of their size packed, and all of them were kept."""
    line = f"{comment}{' x' * 500}\n".encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(line * (MAX_COMMENTS // len(line) + 99) + job.encode(), 1))
    assert path.stat().st_size < MAX_COMMENTS / 50
    with pytest.raises(TraceError, match=f"holds more than {MAX_COMMENTS} bytes of comments"):
        logs.read(path, skip_bad_lines=True)


def test_more_jobs_than_fit_are_refused_though_bad_lines_are_skipped(log, monkeypatch):
    """A log cut off silently would be another log."""
    monkeypatch.setattr("cpsched.logs.text.MAX_ROWS", 3)
    jobs = range(1, 5)
    swf = "".join(SWF.format(number) for number in jobs)
    table = f"{HEADER}\n" + "".join(f"{number},0,1,1,1\n" for number in jobs)
    sacct = SACCT + "".join(SACCT_ROW.format(number, "") for number in jobs)
    for name, text in (("a.swf", swf), ("a.csv", table), ("a.sacct", sacct)):
        with pytest.raises(TraceError, match="holds more than 3 jobs. Cut it into parts."):
            logs.read(log(name, text), skip_bad_lines=True)


def test_a_quote_that_ends_too_late_costs_its_own_line_alone(log, monkeypatch):
    """Else all of a long log behind it would be one row."""
    monkeypatch.setattr("cpsched.logs.tables.files.MAX_LINE", 1000)
    jobs = "".join(f"{number},0,1,1,1\n" for number in range(200))
    path = log("a.csv", f'{HEADER}\n"x,0,1,1,1\n{jobs}"y,0,1,1,1\n1000,0,1,1,1\n')
    with pytest.raises(TraceError, match=r"a\.csv:2: is not a row of CSV"):
        logs.read(path)
    workload = logs.read(path, skip_bad_lines=True)
    assert len(workload) == 200
    assert dict(workload.set_aside) == {"bad line": 2}


def test_a_long_name_without_quotes_takes_linear_time(log):
    """Each word was appended to all before it."""
    record = (
        "03/01/2024 10:00:00;E;7.s;user=ann ctime=100 start=200 end=250 Resource_List.ncpus=1"
        " jobname=a" + " b" * 400_000
    )
    begin = time.perf_counter()
    (name,) = logs.read(log("a.pbs", record)).name.values
    assert len(name) == 800_001
    assert time.perf_counter() - begin < 5


def test_a_name_that_is_not_utf_8_becomes_a_title_that_is(tmp_path):
    """The file system takes any bytes; reports and tables do not."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/l\xffg.swf"))
    path.write_text(SWF.format(1))
    workload = logs.read(path)
    assert workload.title == "l\N{REPLACEMENT CHARACTER}g"
    logs.write(workload, tmp_path / "a.parquet")
    assert logs.read(tmp_path / "a.parquet").title == workload.title
