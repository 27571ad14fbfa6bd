"""``cpsched bench`` on a small set: what it writes, twice the same, and checked."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cpsched.logs import read as read_log
from cpsched.logs import write as write_log
from cpsched.study import load_run
from cpsched.study.bench import logset
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
    assert "Set v2: 4 of 4 logs at hand" in out
    code, out, _ = cpsched("bench")
    assert "Set v2: 3 of 4 logs at hand" in out
    assert "https://example.org/archive" in out
    content = json.loads(bench("--json")[1])
    assert [log["at_hand"] for log in content["logs"]] == [True] * 4


def test_a_bench_is_one_table_and_twice_the_same(bench, tmp_path):
    code, out, _ = bench("--out", str(tmp_path / "a"), "-d", "easy-slowdown", "-p", "user-history")
    assert code == 0
    text = " ".join(out.split())
    assert "requested: requests" in text
    assert "4 logs are too few to say who is ahead; 6 are needed." in text
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
    assert [entry["name"] for entry in description["entries"]] == ["sjf", "ljf"]
    assert description["missing"] == []
    for track in json.loads(out)["tracks"]:
        assert {"sjf", "ljf"} <= {row["name"] for row in track["entries"]}
    assert bench(*quick, "--track", "true", "-d", "sjf")[0] == 0
    description = json.loads((folder / "bench.json").read_text())
    assert [entry["name"] for entry in description["entries"]] == ["ljf", "sjf"]


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
    assert "4 runs failed; the same command tries again" in err


def test_a_bench_is_checked(bench, cpsched, tmp_path):
    folder = tmp_path / "b"
    assert bench("--out", str(folder), "--track", "requested", "--quick", "-j", "2")[0] == 0
    code, out, err = cpsched("verify", str(folder))
    assert (code, err) == (0, "")
    assert "16 schedules checked, 16 runs re-run, 0 windows tested for look-ahead" in out
    assert out.endswith(", OK\n")
    table = folder / "requested.csv"
    table.write_text(table.read_text().replace("EASY,requested,one,1", "EASY,requested,one,0.9"))
    code, out, _ = cpsched("verify", str(folder), "--repeat", "1")
    assert code == 1
    assert "requested.csv: is not what the runs say" in out
    assert "8 runs re-run" in out


def test_a_window_is_the_log_s_own_rows_and_what_is_before_is_kept_apart(bench, tmp_path, small):
    assert bench("--out", str(tmp_path / "w"), "--track", "requested", "--quick")[0] == 0
    log = read_log(small / "logs" / "archive.parquet")
    window = read_log(tmp_path / "w" / "inputs" / "archive.parquet")
    before = read_log(tmp_path / "w" / "inputs" / "archive-before.parquet")
    assert window.job_id.tolist() == log.job_id[20:60].tolist()
    assert before.job_id.tolist() == log.job_id[:20].tolist()
    assert before.submit.max() <= window.submit.min()


def test_bad_input_is_one_line(bench, cpsched, small, tmp_path):
    other = tmp_path / "logs"
    other.mkdir()
    write_log(read_log(small / "logs" / "archive.parquet").take(np.arange(9)),
              other / "archive.parquet")  # fmt: skip
    cases = [
        (("bench", "--logs", str(other)), "is another file than archive of the set (SHA-256"),
        (("bench", "--logs", str(tmp_path / "no")), "--logs: cannot be read: No such file"),
        (("bench", "--out", str(tmp_path), "--track", "requested"), "something else than a bench"),
        (
            ("bench", "--out", str(tmp_path / "x"), "--track", "nothing"),
            "no track is called 'nothing'; there are: predicted",
        ),
        (
            ("bench", "--out", str(tmp_path / "y"), "--track", "topology"),
            "--logs: none of the logs of these tracks is there",
        ),
        (("bench", "--set", "v0"), "no set is called 'v0'; there are: v2"),
        (("verify", str(tmp_path / "no")), "no"),
        (("bench", "--out", str(tmp_path / "x"), "-d", "sjf", "-d", "sjf"), "'sjf' is the name of"),
        (("bench", "--out", str(tmp_path / "x"), "-d", "fcfs"), "'fcfs' is the name of another"),
    ]
    for words, message in cases:
        code, _, err = cpsched(*words)
        assert code in (1, 2), words
        assert message in err, err
        assert len(err.strip().splitlines()) == 1


def test_a_folder_enters_with_what_it_learns_before_each_window(bench, cpsched, tmp_path):
    code = tmp_path / "entry"
    shutil.copytree(Path(__file__).with_name("leaky"), code)
    (code / "entry.toml").write_text(
        'name = "learns"\ndispatcher = "leaky:Learnt:model={model}"\n'
        'train = ["python", "train.py", "{before}", "{model}"]\n'
    )
    assert _error(bench, code, tmp_path) == ""
    folder = tmp_path / "made"
    assert (folder / "entries" / "learns" / "leaky.py").exists()
    # Checked where the entry's folder is gone, with what it has learnt.
    # Another command learns anew, and its runs are others.
    [old] = (folder / "models" / "learns").glob("archive-*.model")
    text = (code / "train.py").read_text()
    (code / "train.py").write_text(text.replace(".tolist()", "[::-1].tolist()"))
    assert _error(bench, code, tmp_path) == ""
    [new] = {*(folder / "models" / "learns").glob("archive-*.model")} - {old}
    assert old.read_text() != new.read_text()
    moved = code.rename(tmp_path / "elsewhere")
    about = json.loads((folder / "bench.json").read_text())
    about["versions"]["numpy"] = "1.0"
    (folder / "bench.json").write_text(json.dumps(about))
    code_, out, err = cpsched("verify", str(folder), "--repeat", "1")
    assert err == "", out
    assert f"note: numpy is {np.__version__}, the bench was run with 1.0" in out
    assert (code_, out.endswith(", OK\n")) == (0, True), out
    code = moved
    text = (code / "entry.toml").read_text()
    for bad, message in (
        ('name = "x"\n', "dispatcher: is missing; give a dispatcher, a predictor or both"),
        (text.replace("={model}", "=m"), "train: goes with {model}"),
        (text + "more = 1\n", "more"),
        (text.replace("leaky:Learnt", "leaky:Gone"), "cannot be loaded"),
    ):
        (code / "entry.toml").write_text(bad)
        assert message in _error(bench, code, tmp_path / "bad")


def test_two_entries_with_different_modules_of_one_name_are_refused(bench, tmp_path):
    """One of them used to be run with the code of the other."""
    entries = []
    for name, order in (("one", "sjf"), ("two", "ljf")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mine_too.py").write_text(
            f"from cpsched.dispatch.rules import {order.title()}\nclass Own({order.title()}): pass\n"
        )
        (folder / "train.py").write_text(f"# {name}")
        (folder / "entry.toml").write_text(f'name = "{name}"\ndispatcher = "mine_too:Own"\n')
        entries += ["--entry", str(folder)]
    (tmp_path / "two" / "train.py").unlink()
    words = ("--out", str(tmp_path / "made"), "--track", "requested", "--quick", *entries)
    code, _, err = bench(*words)
    assert code == 2
    assert "'one' and 'two' both have a module 'mine_too'; rename it in one of them" in err


def _error(bench, entry, out):
    return bench("--out", str(out / "made"), "--track", "topology", "--quick", "--entry",
                 str(entry))[2]  # fmt: skip


def test_runs_lie_where_studies_have_them(bench, cpsched, tmp_path):
    assert bench("--out", str(tmp_path / "r"), "--track", "true", "--quick")[0] == 0
    assert cpsched("verify", str(tmp_path / "r" / "tracks" / "true"))[0] == 0
    run = next((tmp_path / "r" / "tracks" / "true" / "runs").iterdir())
    assert load_run(run).about["arguments"]["seed"] in (1, 2)
