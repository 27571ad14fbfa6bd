"""``cpsched try``: one command from a log to what may be said of it."""

import json

import pytest
from small_studies import swf

from cpsched.study import load_run


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(swf(60) + "broken\n")
    return "log.swf"


def test_it_says_what_is_assumed_what_is_gained_and_where_to_go_on(cpsched, log, tmp_path):
    code, out, err = cpsched("try", log, "--out", "first", "--workers", "1")
    assert (code, err) == (0, "")
    assert out.startswith("log: 60 jobs submitted over ")
    assert "excluded: 1 row of the log (bad line)" in out
    assert "machine: " in out
    said = " ".join(out.split())
    for part in ("EASY", "FCFS", "EASY-SJF", "conservative", "by slowdown", "by WSEPT"):
        assert part in said
    assert "means of 5 repetitions" in said
    machine = tmp_path / "first" / "inputs" / "assumed-machine.toml"
    assert f"--system {machine.relative_to(tmp_path)} " in out
    assert "what-if log.swf --skip-bad-lines --system" in out
    code, out, err = cpsched("simulate", log, "--skip-bad-lines", "--system", str(machine))
    assert (code, err) == (0, "")
    runs = [load_run(path) for path in sorted((tmp_path / "first" / "runs").iterdir())]
    assert len(runs) == 30
    assert {run.about["allocator"] for run in runs} <= {None, "first-fit"}


def test_what_the_machine_cannot_have_run_is_not_praised(cpsched, tmp_path, monkeypatch):
    """Jobs of four cores that all started at once, on four."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{n} 0 {n} 500 4 -1 -1 4 900 -1 1 1 1 1 1 -1 -1 -1" for n in range(1, 20)]
    (tmp_path / "log.swf").write_text("; MaxProcs: 4\n" + "\n".join(lines))
    code, out, _ = cpsched("try", "log.swf", "--workers", "1", "--html", "page.html")
    assert code == 0
    assert "the log and the system do not fit" in out
    assert "lowers the mean" not in out
    assert "wait less" not in out
    assert "do not fit" in (tmp_path / "page.html").read_text()


def test_another_policy_that_reproduces_the_record_is_named(cpsched, tmp_path, monkeypatch):
    """A site that runs first come first served: EASY does not show what happened there, FCFS does."""
    monkeypatch.chdir(tmp_path)
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
    (tmp_path / "log.swf").write_text("; MaxProcs: 4\n" + "\n".join(jobs))
    code, out, _ = cpsched("try", "log.swf", "--workers", "1", "--out", "first")
    said = " ".join(out.split())
    assert code == 0
    assert "EASY does not reproduce the recorded waits" in said
    assert "FCFS reproduces the recorded waits, EASY does not: if that is what runs there" in said
    assert "-d fifo -d easy-wsept" in said
    assert "-d fifo --change" in said


def test_as_data(cpsched, log):
    _, out, _ = cpsched("try", log, "--json", "--workers", "1", "--html", "page.html")
    found = json.loads(out)
    assert found["schema"] == "cpsched.try/1"
    assert found["fits"] is True
    assert len(found["runs"]) == 30


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.swf"], "cannot be read: No such file"),
        (["log.swf", "--system", "no-such"], "no-such"),
        (["log.swf", "--html", "no/such/folder.html"], "cannot be written"),
    ],
)
def test_errors_are_one_line(cpsched, log, words, message):
    code, _, err = cpsched("try", *words)
    assert code != 0
    assert message in err
    assert len(err.splitlines()) == 1
