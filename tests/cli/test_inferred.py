"""``cpsched compare LOG`` without a system: it is inferred, and said what is assumed."""

import json

import pytest
from small_studies import swf
from tiny import FOUR_CORES

from cpsched.study import load_run


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(swf(60) + "broken\n")
    return "log.swf"


def words_of(out):
    return " ".join(out.split())


def test_what_is_assumed_is_named_and_where_to_go_on(cpsched, log, tmp_path):
    code, out, err = cpsched("compare", log, "--out", "first")
    assert (code, err) == (0, "")
    assert out.startswith("inferred system of log.swf: ")
    assert "Excluded: 1 row of the whole log (bad line)" in out
    assert "\n30 runs: 30 simulated, 0 reused, 0 failed\n" in out
    assert "95 % intervals over 5 repetitions" in words_of(out)
    assert (tmp_path / "first" / "report.html").is_file()
    system = tmp_path / "first" / "inputs" / "inferred-log.toml"
    name = str(system.relative_to(tmp_path))
    assert f"\ninferred system of log.swf: {name} (edit it if a value is wrong)\n" in out
    assert out.endswith(
        f"\nNext:\n  cpsched what-if log.swf --skip-bad-lines --system {name} --change"
        " 'scale-load 1.1' --out what-if\n"
    )
    runs = [load_run(path) for path in sorted((tmp_path / "first" / "runs").iterdir())]
    assert {run.about["allocator"] for run in runs} <= {None, "first-fit"}
    # Each label is a specification that can be pasted.
    assert {run.about["arguments"]["dispatcher"] for run in runs} == {
        *("easy", "fifo", "easy:backfill=sjf", "conservative"),
        *("easy:estimate=requested,order=slowdown", "easy-wsept"),
    }
    # The file is a system file like any other, and the runs are those of this system.
    again = ("compare", log, "--skip-bad-lines", "--system", name, "--out", "first", "-d", "easy")
    code, out, err = cpsched(*again, "--repeat", "5", "--allocator", "first-fit", "--no-report")
    assert (code, err) == (0, "")
    assert "\n5 runs: 0 simulated, 5 reused, 0 failed\n" in f"\n{out}"
    assert "inferred system of" not in out


def test_what_is_given_counts(cpsched, log):
    words = ("-d", "sjf", "-d", "fifo", "--repeat", "2", "--no-report", "--out", "o", "--json")
    code, out, err = cpsched("compare", log, *words)
    assert (code, err) == (0, "")
    results = json.loads(out)
    assert len(results["runs"]) == 4
    assert {run["dispatcher"] for run in results["runs"]} == {"sjf", "fifo"}
    assert results["inferred_systems"][log][1] == "memory and queues are ignored"


def test_several_logs_have_systems_of_their_own(cpsched, log, tmp_path):
    (tmp_path / "more.swf").write_text(swf(50, gap=20))
    words = ("-d", "fifo", "--repeat", "1", "--no-report", "--out", "o")
    code, out, err = cpsched("compare", log, "more.swf", *words)
    assert (code, err) == (0, "")
    assert "\nlog on inferred-log\n" in out
    assert "\nmore on inferred-more\n" in out
    assert "Next:" not in out


SATURATED = "; MaxProcs: 4\n" + "\n".join(
    f"{n} 0 {n} 500 4 -1 -1 4 900 -1 1 1 1 1 1 -1 -1 -1" for n in range(1, 20)
)


def test_a_log_that_does_not_fit_is_named_once_below_the_finding(cpsched, tmp_path, monkeypatch):
    """Jobs of four cores that all started at once, on four."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(SATURATED)
    code, out, _ = cpsched("compare", "log.swf", "--out", "o")
    assert code == 0
    assert out.count("The log does not fit the system") == 1
    assert out.index(": mean bounded slowdown ") < out.index("The log does not fit the system")
    assert "does not fit" in (tmp_path / "o" / "report.html").read_text()
    code, out, _ = cpsched("compare", "log.swf", "--out", "o", "--ignore-recorded-waits")
    assert code == 0
    assert "0 simulated, 30 reused" in out
    assert "does not fit" not in out
    assert "does not fit" not in (tmp_path / "o" / "report.html").read_text()


def first_come_first_served():
    """Return a log of a site that runs first come first served: EASY would start jobs earlier."""
    jobs, running, now = [], [], 0
    for n in range(1, 200):
        # One waits for three of four cores behind another, and many for the fourth behind both.
        cores, runtime = (3, 900) if n % 8 < 2 else (1, 60)
        now = max(now, 250 * n)
        while sum(held for end, held in running if end > now) + cores > 4:
            now = min(end for end, _ in running if end > now)
        running.append((now + runtime, cores))
        jobs.append(f"{n} {250 * n} {now - 250 * n} {runtime} {cores} -1 -1 {cores} {runtime} -1 1"
                    " 1 1 1 1 -1 -1 -1")  # fmt: skip
    return "; MaxProcs: 4\n" + "\n".join(jobs)


def test_another_dispatcher_that_agrees_with_recorded_waits_is_named(
    cpsched, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(first_come_first_served())
    code, out, _ = cpsched("compare", "log.swf", "--no-report", "--out", "first")
    output = words_of(out)
    assert code == 0
    assert output.count("Agreement with recorded waits, easy: poor.") == 1
    assert output.index("mean bounded slowdown") < output.index(
        "Agreement with recorded waits, easy"
    )
    assert (
        "fifo agrees with the recorded waits, easy does not. Use fifo as the baseline if" in output
    )
    assert "-d fifo --change" in output
    assert "cpsched validate log.swf --system first/inputs/inferred-log.toml -d fifo" in output


def test_one_dispatcher_with_several_predictors_is_named(cpsched, tmp_path, monkeypatch):
    """A baseline that names only a predictor has no dispatcher; the statement has one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(first_come_first_served())
    (tmp_path / "study.toml").write_text(
        'systems = ["four.toml"]\n[dispatchers]\nEASY = "easy"\n[predictors]\nW = "requested"\n'
        'R = "actual"\n[[workloads]]\nfile = "log.swf"\n[baseline]\npredictor = "R"\n'
    )
    (tmp_path / "four.toml").write_text(FOUR_CORES)
    code, out, err = cpsched("compare", "study.toml", "--no-report", "--out", "o")
    assert (code, err) == (0, "")
    assert "None" not in out
    assert words_of(out).count("Agreement with recorded waits, EASY with R: poor.") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.swf"], "nothing.swf: no such file"),
        (["log.swf", "--system", "no-such"], "no-such"),
        (["log.swf", "-d", "esay"], "unknown dispatcher 'esay'"),
        (["log.swf", "--input-format", "sfw"], "unknown log format 'sfw'"),
    ],
)
def test_errors_are_one_line(cpsched, log, words, message):
    code, _, err = cpsched("compare", *words, "--out", "o")
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_a_folder_that_is_something_else_is_left_alone(cpsched, log, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    code, _, err = cpsched("compare", log, "--out", "full")
    assert (code, err.count("\n")) == (2, 1)
    assert "is not empty and is not a study folder" in err
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


def test_the_former_command_names_the_new_one(cpsched, log):
    code, _, err = cpsched("try", log)
    assert code == 2
    assert err == (
        "error: unknown command 'cpsched try'. Use cpsched compare LOG --out DIR, which infers"
        " the system.\n"
    )
