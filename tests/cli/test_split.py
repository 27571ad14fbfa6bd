"""``log convert --split``: one log for each value of a column."""

import json

import pytest

from cpsched.logs import read

HEADER = "job_id,submit,runtime,requested_time,status,cores,queue,user,dependency\n"
#: Jobs ``(id, queue, user, dependency)``.
JOBS = (
    ("a", "batch", "ann", ""),
    ("b", "gpu", "bob", "a"),
    ("c", "", "ann", ""),
    ("d", "batch", "", "a"),
    ("e", "gpu", "ann", ""),
)


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return written(tmp_path, JOBS)


def written(folder, jobs):
    """Write a log in which the n-th job is submitted at second n."""
    rows = [
        f"{job},{second},5,10,completed,2,{queue},{user},{needed}\n"
        for second, (job, queue, user, needed) in enumerate(jobs)
    ]
    (folder / "log.csv").write_text(HEADER + "".join(rows))
    return folder


def ids(path):
    return read(path).job_id.tolist()


def test_each_job_is_in_the_file_of_its_value(log, cpsched):
    """Jobs without a value have a file of their own; the table names value, file and jobs."""
    code, out, _ = cpsched("log", "convert", "log.csv", "part.v1.csv.gz", "--split", "queue")
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["batch", "part.v1-batch.csv.gz", "2"],
        ["gpu", "part.v1-gpu.csv.gz", "2"],
        ["(no", "value)", "part.v1-unknown.csv.gz", "1"],
    ]
    assert ids(log / "part.v1-batch.csv.gz") == ["a", "d"]
    assert ids(log / "part.v1-gpu.csv.gz") == ["b", "e"]
    assert ids(log / "part.v1-unknown.csv.gz") == ["c"]
    assert read(log / "part.v1-gpu.csv.gz").title == "part.v1-gpu"
    assert not (log / "part.v1.csv.gz").exists()


def test_a_part_is_what_the_log_says_of_its_jobs(log, cpsched):
    """Nothing but the dependency on a job of another file is lost, and a note counts these."""
    code, _, err = cpsched("log", "convert", "log.csv", "part.parquet", "--split", "queue")
    assert code == 0
    assert err == "note: log.csv: 1 job depends on a job of another file, which is not written\n"
    jobs = read("log.csv")
    for name, rows in (("batch", [0, 3]), ("gpu", [1, 4]), ("unknown", [2])):
        assert read(f"part-{name}.parquet").digest() == jobs.take(rows).digest()


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["../../etc/passwd", "/abs", "a/b"], ["etc-passwd", "abs", "a-b"]),
        ([".", "..", "..."], ["unnamed", "unnamed-2", "unnamed-3"]),
        (["a.b", "a_b", "A b", "a-b-2"], ["a-b-3", "a-b-4", "a-b", "a-b-2"]),
        (["\x1b[31mred", "bell\x07", "=1+1"], ["31mred", "bell", "1+1"]),
        (["unknown", "", "UNKNOWN"], ["unknown-3", "unknown", "unknown-2"]),
        (["x" * 300, "x" * 301], ["x" * 90, "x" * 90 + "-2"]),
        (["9" * 5000], ["9" * 90]),
    ],
)
def test_no_value_leads_out_of_the_folder_or_hides_another(values, names, tmp_path, cpsched):
    """A log's text is no path, however it is written, and equal names get a number."""
    folder = tmp_path / "in" / "here"
    folder.mkdir(parents=True)
    written(folder, [(str(at), value, "u", "") for at, value in enumerate(values)])
    code, out, _ = cpsched(
        *("log", "convert", str(folder / "log.csv"), str(folder / "o.csv")),
        *("--split", "queue", "--json"),
    )
    assert code == 0
    files = {part["value"]: part["file"] for part in json.loads(out)["files"]}
    assert files == {
        value or None: str(folder / f"o-{name}.csv")
        for value, name in zip(values, names, strict=True)
    }
    for at, name in enumerate(names):
        assert ids(folder / f"o-{name}.csv") == [str(at)]
    everything = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert everything == {"log.csv", *(f"o-{name}.csv" for name in names)}


def test_the_table_cannot_steer_the_terminal(tmp_path, cpsched):
    written(tmp_path, [("a", "\x1b[2Jred", "u", "")])
    code, out, _ = cpsched(
        *("log", "convert", str(tmp_path / "log.csv"), str(tmp_path / "o.csv")),
        *("--split", "queue"),
    )
    assert code == 0
    assert out.replace("\n", "").isprintable()
    assert "\\x1b[2Jred" in out


def test_files_that_exist_are_kept_unless_they_may_be_replaced(log, cpsched):
    """All are checked before any is written."""
    (log / "part-gpu.csv").write_text("mine")
    asked = ("log", "convert", "log.csv", "part.csv", "--split", "queue")
    code, out, err = cpsched(*asked)
    assert (code, out) == (2, "")
    assert err.startswith("error: part-gpu.csv: the file exists")
    assert (log / "part-gpu.csv").read_text() == "mine"
    assert not (log / "part-batch.csv").exists()
    assert cpsched(*asked, "--force")[0] == 0
    assert ids(log / "part-gpu.csv") == ["b", "e"]


@pytest.mark.parametrize("column", ["cluster", "partition", "submit", "__class__"])
def test_a_column_without_values_is_refused_with_those_that_have_some(column, log, cpsched):
    code, out, err = cpsched("log", "convert", "log.csv", "part.csv", "--split", column)
    assert (code, out) == (2, "")
    assert err == (
        f"error: --split: the column '{column}' is empty or unknown."
        " Columns with values: queue, user.\n"
    )
    assert [path.name for path in log.iterdir()] == ["log.csv"]


def test_excluded_rows_are_in_no_part_and_are_counted(log, cpsched):
    """Each part would count all of them otherwise."""
    with (log / "log.csv").open("a") as file:
        file.write("f,9,x,10,completed,2,gpu,ann,\n")
    code, out, err = cpsched(
        *("log", "convert", "log.csv", "part.csv", "--split", "queue"),
        *("--skip-bad-lines", "--json"),
    )
    assert code == 0
    assert "note: log.csv: 1 excluded row of the log in no file: 1 bad line\n" in err
    assert json.loads(out)["lost"] == [
        line.removeprefix("note: ") for line in err.splitlines() if line.startswith("note: ")
    ]
    for name in ("batch", "gpu", "unknown"):
        assert read(f"part-{name}.csv").set_aside == ()


def test_a_part_of_the_log_is_split_too_in_the_format_that_is_asked_for(log, cpsched):
    """``--first`` and ``--to-format`` hold, and what the format cannot hold is named by file."""
    code, _, err = cpsched(
        *("log", "convert", "log.csv", "part", "--split", "user"),
        *("--to-format", "swf", "--first", "2"),
    )
    assert code == 0
    assert sorted(path.name for path in log.iterdir()) == ["log.csv", "part-ann", "part-bob"]
    assert "note: part-bob: users are numbered in order of appearance\n" in err
    assert len(read("part-bob", format="swf")) == 1
