"""``cpsched evaluate`` as somebody types it."""

import json

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

#: One user repeats a job of 4 s, then one of 40; the last line is no job.
LOG = """\
; UnixStartTime: 1000000000
1 0 0 4 1 -1 -1 1 100 -1 1 1 1 5 1 -1 -1 -1
2 10 0 4 1 -1 -1 1 100 -1 1 1 1 5 1 -1 -1 -1
3 20 0 40 1 -1 -1 1 100 -1 1 1 1 5 1 -1 -1 -1
4 70 5 40 1 -1 -1 1 100 -1 1 1 1 5 1 -1 -1 -1
5 80 0 0 1 -1 -1 1 100 -1 0 2 1 6 1 -1 -1 -1
6 90 0 -1 1 -1 -1 1 100 -1 5 2 1 6 1 -1 -1 -1
"""


@pytest.fixture
def files(four_cores):
    """A folder with a log and a system in it, and we are there."""
    (four_cores / "log.swf").write_text(LOG)
    return four_cores


EVALUATE = ("evaluate", "log.swf", "--warmup", "0")


def test_prints_tables(files, cpsched):
    """What was left out, the errors, the errors by runtime, the rules used."""
    code, out, err = cpsched(*EVALUATE, "-p", "requested", "-p", "user-history")
    assert (code, err) == (0, "")
    assert "log: 5 jobs" in out
    assert "Excluded: 1 row of the whole log (never ran)" in out
    assert "Starts: as recorded" in out
    assert "Runtime 0: 1 job, " in out
    lines = [line.split() for line in out.splitlines()]
    # Predicted 100, 4, 4, 40 and 100 for 4, 4, 40, 40 and 0: errors 96, 0, 36, 0, 100 = 232 s.
    row = next(line for line in lines if line[:1] == ["user-history"] and len(line) > 4)
    assert row[1:3] == ["5", f"{232 / 5 / 60:.1f}"]
    assert ["rule", "1:", "full", "profile", "3", "60.0", "%"] in lines
    assert ["rule", "6:", "requested", "time", "2", "40.0", "%"] in lines


def test_a_slurm_log_with_cancelled_jobs_is_evaluated(files, cpsched):
    """They are left out, and said to be."""
    names = "JobID|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES"
    day, tres = "2024-03-01T10:", "cpu=1,node=1"
    ran = f"1|COMPLETED|{day}00:00|{day}00:00|{day}00:00|{day}01:00|60|5|{tres}|{tres}"
    gone = f"2|CANCELLED|{day}00:30|{day}00:30|None|{day}09:00|0|5|{tres}|"
    (files / "log.sacct").write_text(f"{names}\n{ran}\n{gone}\n")
    code, out, err = cpsched("evaluate", "log.sacct", "--warmup", "0", "-p", "requested")
    assert (code, err) == (0, "")
    assert "log: 1 job" in out
    assert "Excluded: 1 row of the whole log (cancelled before the start)" in out


def test_json_has_everything(files, cpsched):
    """Exact figures."""
    code, out, _ = cpsched(*EVALUATE, "-p", "user-history:prefix=none", "--json")
    output = json.loads(out)
    assert code == 0
    assert output["starts"] == {"simulated": None, "assumed": 0}
    [item] = output["predictors"]
    assert item["predictor"] == "user-history:prefix=none"
    assert item["overall"]["mean_error_s"] == 232 / 5
    assert item["by_class"]["long"]["jobs"] == 0
    assert item["stats"]["rule 1: full profile"] == 3


def test_short_jobs_can_be_left_out(files, cpsched):
    """As if they had never been submitted."""
    _, out, _ = cpsched(*EVALUATE, "--min-runtime", "1", "--json")
    assert [item["overall"]["jobs"] for item in json.loads(out)["predictors"]] == [4] * 4
    code, _, err = cpsched(*EVALUATE, "--min-runtime", "41")
    message = "all jobs are shorter than 41 seconds. Give a lower --min-runtime."
    assert (code, err) == (2, f"error: --min-runtime: {message}\n")


@pytest.mark.parametrize("name", ["all.csv", "all.csv.gz", "all.parquet"])
def test_writes_all_predictions(files, cpsched, name):
    """One row a job and predictor; nothing half-written stays, nothing is replaced unasked."""
    arguments = (*EVALUATE, "-p", "last", "-p", "requested", "--out", name)
    code, out, _ = cpsched(*arguments)
    assert code == 0
    assert f"{name}: all predictions" in out
    table = pq.read_table(name) if name.endswith("parquet") else pc.read_csv(name)
    assert table.num_rows == 10
    assert table["runtime_estimate"].to_pylist()[:5] == [100, 4, 4, 40, 100]
    assert sorted(path.name for path in files.iterdir()) == sorted([name, "four.toml", "log.swf"])
    code, _, err = cpsched(*arguments)
    assert code == 2
    assert "the file exists. Choose another name, or add --force" in err
    assert cpsched(*arguments, "--force")[0] == 0


def test_starts_can_be_simulated(files, cpsched):
    """On a system, with any dispatcher; the heading says so."""
    code, out, _ = cpsched(*EVALUATE, "--system", "four.toml", "-d", "fifo")
    assert code == 0
    assert "Starts: simulated with fifo and requested times" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-p", "oracle"), "unknown predictor 'oracle'"),
        (("-p", "last:days=3"), "last has no option 'days'. Options: count, limit"),
        (("-d", "fifo"), "--dispatcher: needs a system to simulate on. Add --system."),
        (("--system", "four.toml", "-d", "lifo"), "unknown dispatcher 'lifo'"),
        (("--out", "all.xls"), "must end in .csv, .csv.gz, .parquet"),
        (("--out", "nowhere/all.csv"), "the folder does not exist"),
        (("--out", "log.swf"), "must end in"),
        (("--warmup", "1"), "warmup is 1.0, must be at least 0 and below 1"),
    ],
)
def test_bad_input_is_one_line(files, cpsched, arguments, message):
    """Exit code 2, before any work is done."""
    code, out, err = cpsched("evaluate", "log.swf", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
