"""``cpsched compare`` as somebody types it."""

import json
import re
from pathlib import Path

import pytest

from cpsched.cli.options import default_folder

STUDY = """\
systems = ["four.toml"]
dispatchers = ["fifo", "easy"]

[[workloads]]
file = "log.swf"
"""


@pytest.fixture
def files(four_cores):
    """A folder with a log, a system and a study in it, and we are there."""
    lines = ["; UnixStartTime: 1000000000"]
    lines += [
        f"{job} {20 * job} -1 60 {1 + job % 4} -1 -1 {1 + job % 4} 90 -1 1 1 1 -1 1 -1 -1 -1"
        for job in range(1, 31)
    ]
    (four_cores / "log.swf").write_text("\n".join(lines) + "\n")
    (four_cores / "study.toml").write_text(STUDY)
    return four_cores


QUICK = ("compare", "log.swf", "--no-report", "--system", "four.toml", "--out", "out")


def test_a_study_is_carried_out_and_tables_written(files, cpsched):
    """Again, nothing is run; the tables are the same."""
    code, out, err = cpsched("compare", "study.toml", "--out", "out")
    assert (code, err) == (0, "")
    assert out.startswith("2 runs: 2 simulated, 0 reused, 0 failed\n\nlog on four\n")
    printed, _, files_made = out.partition("\nTables: out/tables\n")
    sentences = " ".join(printed.split())
    assert (
        " against EASY: mean bounded slowdown " in sentences
        or "mean bounded slowdown -" in sentences
    )
    assert ", longest wait " in sentences
    assert " One run each cannot tell a difference from chance. Use " in sentences
    assert files_made == "Report: out/report.html\n"
    assert (files / "out" / "report.html").stat().st_size > 10_000
    results = (files / "out" / "tables" / "results.csv").read_bytes()
    code, out, _ = cpsched("compare", "study.toml", "--out", "out", "--no-report")
    assert out.endswith("Report: write it with cpsched report out\n")
    assert out.startswith("2 runs: 0 simulated, 2 reused, 0 failed\n")
    assert (files / "out" / "tables" / "results.csv").read_bytes() == results
    code, out, _ = cpsched("verify", "out/runs")
    assert code == 0
    assert out.count("30 jobs, OK") == 2


def test_a_preset_is_the_run_of_its_long_form(files, cpsched):
    """Found again whichever is written, and called by its name in tables."""
    for name, done in (("easy-wsept", 0), ("easy:order=wsept,estimate=requested", 2)):
        code, out, _ = cpsched(*QUICK, "-d", "easy", "-d", name, "--baseline", name)
        assert code == 0
        assert out.startswith(f"2 runs: {2 - done} simulated, {done} reused, 0 failed\n")
        assert "easy-wsept" in out
        assert "priority" not in out


def test_what_holds_over_several_logs_leads(files, cpsched):
    """Each log on the system at its place; in the report and as JSON, too."""
    lines = (files / "log.swf").read_text().splitlines()
    (files / "more.swf").write_text("\n".join(lines[:20]) + "\n")
    (files / "two.toml").write_text((files / "four.toml").read_text())
    logs = ("compare", "log.swf", "more.swf", "--system", "four.toml", "--out", "out")
    both = (*logs, "--system", "two.toml", "-d", "easy", "-d", "fifo")
    code, out, _ = cpsched(*both)
    assert code == 0
    grid, _, rest = out.partition("\nlog on four\n")
    _, _, rows = grid.partition("Mean bounded slowdown: ratio to the baseline on each log\n\n")
    assert [line.split()[0] for line in rows.splitlines()[:4]] == [
        "log", "log", "more", "geometric",
    ]  # fmt: skip
    assert "\nmore on two\n" in rest
    assert "\nGeometric mean over 2 logs: fifo against easy: mean bounded slowdown " in grid
    page = (files / "out" / "report.html").read_text()
    assert page.index("Geometric mean over ") < page.index('aria-label="leading metrics"')
    code, out, _ = cpsched(*both, "--json", "--no-report")
    (fifo,) = json.loads(out)["across_logs"]
    assert set(fifo["wait_mean_s"]["ratio"]) == {"log", "more"}
    code, _, err = cpsched(
        "compare", "log.swf", "study.toml", "--system", "four.toml", "--out", "o"
    )
    assert code == 2
    assert "a study file cannot be combined with other files. Name one study, or job logs." in err


def test_a_log_needs_no_study(files, cpsched):
    """Seeds are counted from 1 and jitter submits by 5 s."""
    options = (
        "-d",
        "easy",
        "-d",
        "greedy",
        "-p",
        "actual",
        "--repeat",
        "2",
        "--baseline",
        "greedy",
    )
    code, out, err = cpsched(*QUICK, *options, "--overrun", "extend", "--first", "20")
    assert (code, err) == (0, "")
    assert out.startswith("4 runs: 4 simulated")
    assert "Ratios to greedy, with 95 % intervals over 2 repetitions of these jobs alone." in out
    assert "1.00 to 1.00" in out or " to 0." in out or " to 1." in out
    names = sorted(path.name.rpartition("-")[0] for path in (files / "out" / "runs").iterdir())
    assert names == [f"log-four-{d}-actual-s{s}" for d in ("easy", "greedy") for s in (1, 2)]


def test_a_part_of_a_study(files, cpsched):
    """--first, --from and --to cut every workload."""
    cpsched("compare", "study.toml", "--no-report", "--out", "a", "--first", "7")
    assert ",simulated,jobs,7," in (files / "a" / "tables" / "results.csv").read_text()
    cut = ("--no-report", "--out", "b", "--to", "2001-09-09T01:50:00")
    code, _, _ = cpsched("compare", "study.toml", *cut)
    assert code == 0
    assert ",simulated,jobs,9," in (files / "b" / "tables" / "results.csv").read_text()


def test_without_a_folder_results_are_named_after_the_study(files, cpsched):
    code, out, _ = cpsched("compare", "study.toml", "--no-report", "--first", "3")
    assert code == 0
    assert (Path("study-compare") / "tables").is_dir()
    assert "Tables: study-compare/tables" in out


@pytest.mark.parametrize(
    ("named", "folder"),
    [
        ("demo", "demo-compare"),
        ("a/study.toml", "study-compare"),
        ("a/KTH-SP2-1996-2.1-cln.swf.gz", "KTH-SP2-1996-2.1-cln-compare"),
    ],
)
def test_a_default_folder_keeps_the_name_of_the_log(named, folder):
    assert default_folder(named, "compare") == Path(folder)


def test_failed_runs_are_said_and_the_exit_code_tells(files, cpsched):
    """Once for each error; the tables are of the others."""
    (files / "bad.swf").write_text(
        "; UnixStartTime: 0\n1 0 -1 x 1 -1 -1 1 4 -1 1 1 1 -1 1 -1 -1 -1\n"
    )
    (files / "study.toml").write_text(STUDY + '[[workloads]]\nfile = "bad.swf"\n')
    code, out, err = cpsched("compare", "study.toml", "--out", "out")
    assert code == 1
    assert err.count("\n") == 1
    assert err.startswith("error: 2 runs failed: ")
    assert "out/failed/bad-four-fifo-requested-s0-" in err
    assert "4 runs: 2 simulated, 0 reused, 2 failed" in out
    (files / "study.toml").write_text(STUDY.replace("log.swf", "bad.swf"))
    code, out, err = cpsched("compare", "study.toml", "--out", "out2", "--no-report")
    assert (code, out) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("compare", "remdiani", "--out", "o"),
            "unknown study or file 'remdiani'. Did you mean 'remediani'? Known: ",
        ),
        (
            ("compare", "none.swf", "--out", "o"),
            "none.swf: no such file",
        ),
        (("compare", "none.toml", "--out", "o"), "none.toml: no such file"),
        ((*QUICK, "-d", "esay"), "unknown dispatcher 'esay'"),
        (
            (*QUICK, "--allocator", "x"),
            "allocator: unknown allocator 'x'. All names: cpsched list allocators",
        ),
        (
            ("compare", "study.toml", "--out", "o", "--allocator", "spare-scarce"),
            "--allocator: applies to job logs",
        ),
        (
            (*QUICK, "--baseline", "greedy"),
            "--baseline: is 'greedy', must be one of: easy",
        ),
        ((*QUICK, "--jitter", "3"), "jitter: is 3, but one repetition moves no job"),
        ((*QUICK, "--from", "monday"), "--from: 'monday' is not a time. Give seconds or a date"),
        (
            ("compare", "study.toml", "--out", "o", "-d", "fifo"),
            "--dispatcher: applies to job logs",
        ),
        (
            ("compare", "study.toml", "--out", "o", "--skip-bad-lines"),
            "--skip-bad-lines: applies to",
        ),
        (("compare", "study.toml", "--out", "log.swf"), "log.swf is a file. Name a folder"),
    ],
)
def test_bad_input_is_one_line(files, cpsched, arguments, message):
    """Exit code 2, nothing on stdout."""
    code, out, err = cpsched(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_systems_are_compared_with_one_of_them(files, cpsched):
    """Ten cores against four: the same dispatcher, another machine."""
    four = (files / "four.toml").read_text()
    assert "count = 4" in four
    (files / "ten.toml").write_text(four.replace("count = 4", "count = 10"))
    code, out, err = cpsched(
        "compare", "log.swf", "--system", "four.toml", "--system", "ten.toml",
        "--baseline-system", "four.toml", "--no-report", "--out", "out",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "Ratios to easy on four. One run each cannot tell a difference from chance." in out
    ten = out.partition("\nlog on ten\n")[2]
    assert re.search(r"^easy, log on four \(baseline\) .*\neasy ", ten, re.MULTILINE)
    code, _, err = cpsched(
        "compare", "log.swf", "--system", "four.toml", "--baseline-system", "ten.toml",
        "--out", "other",
    )  # fmt: skip
    assert code
    assert "--baseline-system: is 'ten', must be one of: four" in err
