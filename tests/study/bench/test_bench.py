"""``cpsched bench`` on a small set: what it writes, twice the same, and checked."""

import json
import shutil
import sys

import numpy as np
import pytest

from cpsched.errors import RunError
from cpsched.logs import read as read_log
from cpsched.logs import write as write_log
from cpsched.study import load_run
from cpsched.study.bench import logset
from cpsched.study.bench.bench import Bench
from cpsched.study.bench.log_windows import content_sha256

pytestmark = pytest.mark.slow

SET = """\
title = "a small set"
seeds = 2
jitter = 5

[dispatchers]
"EASY" = "easy"
"FCFS" = "fifo"

[tracks.requested]
title = "requests"
predictors = { requested = "requested" }

[tracks.predicted]
title = "predictions"
predictors = { predicted = "last" }
logs = ["one", "two"]

[tracks.topology]
title = "nothing at hand"
predictors = { requested = "requested" }
logs = ["archive"]

[tracks.true]
title = "the truth"
predictors = { true = "actual" }
dispatchers = { "EASY" = "easy", "EASY by WSEPT" = "easy-wsept" }

[[logs]]
name = "one"
generator = "site"
options = { jobs = 1000, days = 2 }
rows = [1, 61]
system = "site-152"

[[logs]]
name = "two"
generator = "site"
options = { jobs = 1000, days = 2, seed = 2 }
rows = [1, 61]
system = "site-152"

[[logs]]
name = "three"
bundled = "eurora-sample.csv.gz"
rows = [100, 200]
system = "eurora"
tuned = true

[[logs]]
name = "archive"
file = "archive.parquet"
sha256 = "{sha}"
source = "https://example.org/archive"
rows = [20, 60]
system = "site-152"
"""

RAISES = """\
from cpsched import Dispatcher


class Mine(Dispatcher):
    name = "mine"

    def decide(self, view):
        return {}["nothing"]
"""

OWN = """\
from __future__ import annotations

from pathlib import Path

import numpy as np

from cpsched import Prediction, RuntimePredictor
from cpsched.dispatch.rules import Sjf
from cpsched.util.spec import File


class Mine(Sjf):
    name = "mine"

    def __init__(self, file: File) -> None:
        super().__init__()
        self.order = int(Path(file).read_text())


class Hour(RuntimePredictor):
    name = "hour"

    def predict(self, jobs, now):
        return Prediction.point(np.full(len(jobs), 3600))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the set, and its one log that is brought."""
    from cpsched.study.inputs import Generated

    folder = tmp_path_factory.mktemp("set")
    site = Generated(generator="site", options=(("days", 2), ("jobs", 1000), ("seed", 3)))
    log = site.load().take(np.arange(100))
    (folder / "logs").mkdir()
    write_log(log, folder / "logs" / "archive.parquet")
    sha = content_sha256(folder / "logs" / "archive.parquet")
    (folder / "v2.toml").write_text(SET.replace("{sha}", sha))
    return folder


@pytest.fixture
def small(made, monkeypatch):
    monkeypatch.setattr(logset, "_SETS", made)
    return made


@pytest.fixture
def bench(small, cpsched):
    """Run ``cpsched bench`` with the logs of the set."""
    return lambda *arguments: cpsched("bench", "--logs", str(small / "logs"), *arguments)


def contents(folder):
    """Return the files of a bench that are the same for equal benches."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in
            (".csv", ".tex")}  # fmt: skip


def test_what_is_in_a_set(small, bench, cpsched):
    code, out, err = bench()
    assert (code, err) == (0, "")
    assert "Set v2: 4 of 4 logs available" in out
    code, out, _ = cpsched("bench")
    assert "Set v2: 3 of 4 logs available" in out
    assert "https://example.org/archive" in out
    content = json.loads(bench("--json")[1])
    assert [log["at_hand"] for log in content["logs"]] == [True] * 4


def test_a_bench_is_one_table_and_twice_the_same(bench, tmp_path):
    code, out, _ = bench("--out", str(tmp_path / "a"), "-d", "easy-slowdown", "-p", "user-history")
    assert code == 0
    text = " ".join(out.split())
    assert "requested: requests" in text
    assert "No winner is named: 4 logs, and a ranking needs 6." in text
    assert "runtimes known" in text
    assert "lower bound" in text
    assert "EASY with user-history" in text
    assert "chosen on other jobs of three" in text
    first = contents(tmp_path / "a")
    assert set(first) == {f"{name}.{end}" for name in ("requested", "predicted", "true")
                          for end in ("csv", "tex")}  # fmt: skip
    # Killed on the way, it makes what is missing.
    runs = sorted((tmp_path / "a" / "tracks" / "requested" / "runs").iterdir())
    for run in runs[::3]:
        shutil.rmtree(run)
    (tmp_path / "a" / "requested.csv").unlink()
    assert bench("--out", str(tmp_path / "a"), "-d", "easy-slowdown", "-p", "user-history")[0] == 0
    assert contents(tmp_path / "a") == first
    kinds = {path.suffix for path in (tmp_path / "a").iterdir() if path.is_file()}
    assert kinds == {".csv", ".tex", ".json"}


def test_a_bench_grows(bench, cpsched, tmp_path):
    folder = tmp_path / "g"
    quick = ("--out", str(folder), "--quick")
    # Killed while windows were written.
    (folder / "inputs").mkdir(parents=True)
    assert bench(*quick, "--track", "requested", "-d", "sjf")[0] == 0
    # The logs that were brought are in the folder.
    code, out, _ = cpsched("bench", *quick, "--track", "true", "-d", "ljf", "--json")
    assert code == 0
    description = json.loads((folder / "bench.json").read_text())
    assert description["tracks"] == ["requested", "true"]
    assert [entry["label"] for entry in description["entries"]] == ["sjf", "ljf"]
    assert description["missing"] == []
    for track in json.loads(out)["tracks"]:
        assert {"sjf", "ljf"} <= {row["name"] for row in track["entries"]}
    assert bench(*quick, "--track", "true", "-d", "sjf")[0] == 0
    description = json.loads((folder / "bench.json").read_text())
    assert [entry["label"] for entry in description["entries"]] == ["ljf", "sjf"]


def test_runs_are_made_elsewhere(bench, tmp_path):
    pytest.importorskip("submitit")
    words = ("--track", "predicted", "--quick")
    assert bench("--out", str(tmp_path / "here"), *words)[0] == 0
    elsewhere = ("--executor", "slurm-arrays:cluster=local,mem=1")
    assert bench("--out", str(tmp_path / "there"), *words, *elsewhere)[0] == 0
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_who_raises_is_told_with_type_and_line(bench, tmp_path, monkeypatch):
    (tmp_path / "raising.py").write_text(RAISES)
    monkeypatch.syspath_prepend(tmp_path)
    words = ("--track", "predicted", "--quick", "-d", "raising:Mine")
    code, out, err = bench("--out", str(tmp_path / "r"), *words)
    assert code == 2
    assert f"KeyError: 'nothing' ({tmp_path / 'raising.py'}, line 8)" in out
    assert "4 runs failed. The same command repeats them." in err


def test_a_bench_is_checked(bench, cpsched, tmp_path):
    folder = tmp_path / "b"
    assert bench("--out", str(folder), "--track", "requested", "--quick", "-j", "2")[0] == 0
    code, out, err = cpsched("verify", str(folder))
    assert (code, err) == (0, "")
    assert out.endswith("16 schedules checked, 16 runs re-run, OK\n")
    description = json.loads((folder / "bench.json").read_text())
    description["versions"]["numpy"] = "1.0"
    (folder / "bench.json").write_text(json.dumps(description))
    table = folder / "requested.csv"
    table.write_text(table.read_text().replace("EASY,requested,one,1", "EASY,requested,one,0.9"))
    code, out, _ = cpsched("verify", str(folder), "--repeat", "1")
    assert code == 1
    assert "requested.csv: differs from the recomputed table" in out
    assert "8 runs re-run" in out
    assert f"note: numpy is {np.__version__}, the bench was run with 1.0" in out
    run, *_ = (folder / "tracks" / "requested" / "runs").iterdir()
    run.rename(folder / "tracks" / "requested" / run.name)
    code, out, err = cpsched("verify", str(folder))
    assert (code, out) == (2, "")
    assert err == (
        f"error: {folder}: unfinished, 15 of 16 runs. Repeat the cpsched bench command first.\n"
    )
    (folder / "inputs" / "archive.parquet").unlink()
    code, _, err = cpsched("verify", str(folder))
    assert code == 2
    assert "archive.parquet: is missing. Run cpsched bench again with --logs." in err


def test_a_quick_bench_continues_with_its_option(bench, tmp_path):
    folder = tmp_path / "q"
    assert bench("--out", str(folder), "--track", "requested", "--quick")[0] == 0
    full = logset.LogSet.load("v2").model_copy(update={"seeds": 5})
    message = "a bench of 2 repetitions, not 5. Add --quick to continue, or name another folder."
    with pytest.raises(RunError, match=message):
        Bench.prepare(folder, full, tracks=["requested"], folders=[], entries=[])


def test_a_window_is_the_log_s_own_rows(bench, tmp_path, small):
    assert bench("--out", str(tmp_path / "w"), "--track", "requested", "--quick")[0] == 0
    log = read_log(small / "logs" / "archive.parquet")
    window = read_log(tmp_path / "w" / "inputs" / "archive.parquet")
    assert window.job_id.tolist() == log.job_id[20:60].tolist()


def test_bad_input_is_one_line(bench, cpsched, small, tmp_path):
    other = tmp_path / "logs"
    other.mkdir()
    write_log(read_log(small / "logs" / "archive.parquet").take(np.arange(9)),
              other / "archive.parquet")  # fmt: skip
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "bench.json").write_text('{"format": "cpsched.bench/2"}')
    cases = [
        (("bench", "--out", str(tmp_path / "old")), "Make the bench again in a new folder."),
        (("verify", str(tmp_path / "old")), "bench.json: is not in the format cpsched.bench/3."),
        (("bench", "--out", str(tmp_path / "x"), "-d", "mine:Gone"), "mine:Gone"),
        (("bench", "--logs", str(other)), "is another file than archive of the set (SHA-256"),
        (("bench", "--logs", str(tmp_path / "no")), "--logs: cannot be read: No such file"),
        (("bench", "--out", str(tmp_path), "--track", "requested"), "something else than a bench"),
        (
            ("bench", "--out", str(tmp_path / "x"), "--track", "nothing"),
            "unknown track 'nothing'. Known: predicted",
        ),
        (
            ("bench", "--out", str(tmp_path / "y"), "--track", "topology"),
            "--logs: none of the logs of these tracks is there",
        ),
        (("bench", "--set", "v0"), "unknown set 'v0'. Known: v2"),
        (("verify", str(tmp_path / "no")), "no"),
        (("bench", "--out", str(tmp_path / "x"), "-d", "sjf", "-d", "sjf"), "'sjf' is the name of"),
        (("bench", "--out", str(tmp_path / "x"), "-d", "easy"), "'easy' is the name of another"),
    ]
    for words, message in cases:
        code, _, err = cpsched(*words)
        assert code in (1, 2), words
        assert message in err, err
        assert len(err.strip().splitlines()) == 1


def test_own_classes_enter_by_name(bench, cpsched, tmp_path, monkeypatch):
    """Files that a specification names are relative to the folder of the command."""
    (tmp_path / "bench_own.py").write_text(OWN)
    (tmp_path / "order.txt").write_text("-1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bench_own", raising=False)
    words = ("--track", "predicted", "--quick", "-d", "bench_own:Mine:file=order.txt")
    code, out, err = bench("--out", "own", *words, "-p", "bench_own:Hour", "--json")
    assert (code, err) == (0, "")
    [track] = json.loads(out)["tracks"]
    assert {"bench_own:Mine:file=order.txt", "EASY with bench_own:Hour"} <= {
        row["name"] for row in track["entries"]
    }
    description = json.loads((tmp_path / "own" / "bench.json").read_text())
    assert description["entries"] == [
        {
            "label": "bench_own:Mine:file=order.txt",
            "spec": f"bench_own:Mine:file={tmp_path / 'order.txt'}",
            "group": "dispatchers",
        },
        {"label": "bench_own:Hour", "spec": "bench_own:Hour", "group": "predictors"},
    ]
    code, out, err = cpsched("verify", "own", "--repeat", "1")
    assert (code, err) == (0, "")
    assert out.endswith("24 schedules checked, 12 runs re-run, OK\n")


def test_runs_lie_where_studies_have_them(bench, cpsched, tmp_path):
    assert bench("--out", str(tmp_path / "r"), "--track", "true", "--quick")[0] == 0
    assert cpsched("verify", str(tmp_path / "r" / "tracks" / "true"))[0] == 0
    run = next((tmp_path / "r" / "tracks" / "true" / "runs").iterdir())
    assert load_run(run).about["arguments"]["seed"] in (1, 2)
