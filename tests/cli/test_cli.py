"""Every command as somebody types it: exit code, what is printed, one bad input each."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer

from cpsched.cli.main import build, main
from cpsched.util import registry

LOG = """\
; Computer: a tiny machine
; UnixStartTime: 1000000000
1 0 -1 4 3 -1 -1 3 4 -1 1 1 1 -1 1 -1 -1 -1
2 1 -1 4 2 -1 -1 2 4 -1 1 2 1 -1 1 -1 -1 -1
3 2 -1 2 1 -1 -1 1 2 -1 1 2 1 -1 1 -1 -1 -1
4 3 -1 -1 1 -1 -1 1 2 -1 5 2 1 -1 1 -1 -1 -1
5 4 -1 9 99 -1 -1 99 9 -1 1 2 1 -1 1 -1 -1 -1
"""


@pytest.fixture
def files(four_cores):
    """A folder with a log and a system in it, and we are there."""
    (four_cores / "log.swf").write_text(LOG)
    return four_cores


SIMULATE = ("simulate", "log.swf", "--system", "four.toml")


def test_simulate_prints_a_table_and_what_was_left_out(files, cpsched):
    """Rows of the log that are not jobs, and jobs that never fit, are said above the table."""
    code, out, err = cpsched(*SIMULATE, "-d", "fifo", "-d", "greedy")
    assert (code, err) == (0, "")
    assert "log: 4 jobs" in out
    assert "Excluded: 1 row of the whole log (never ran)" in out
    assert "Rejected: 1 job that can never run on this system, 25 % of the jobs with 98 %" in out
    assert "  1 job, 98 % of the core time: needs 99 tasks of 1 core" in out
    assert "(first: job 5) To run them: compare the nodes" in " ".join(out.split())
    assert out.index("Rejected: ") < out.index("mean bounded")
    assert "\nSystem" not in out
    # One table, the baseline's values first.
    first, second, *_ = (line for line in out.splitlines() if line.startswith(("fifo", "greedy")))
    assert first.startswith("fifo (baseline) ")
    assert all(0 < float(ratio) < 2 for ratio in second.split()[1:])
    _, out, _ = cpsched(*SIMULATE, "-d", "fifo", "-d", "greedy", "--all-tables")
    for title in (
        "Log on four: system",
        "Log on four: users",
        "Log on four: wait by size",
        "Log on four: queue length",
    ):
        assert title in out, title


def test_simulate_does_not_read_back_what_it_has_just_written(files, cpsched, monkeypatch):
    """Recorded waits are compared with the schedule in memory, with that of the files later."""
    (files / "log.swf").write_text(re.sub(r"(?m)^(\d+ \d+) -1 (\d)", r"\1 2 \2", LOG))
    command = (*SIMULATE, "-d", "fifo", "--all-tables", "--out", "out")
    with monkeypatch.context() as patch:
        patch.setattr("cpsched.study.record.load_run", None)
        code, first, err = cpsched(*command)
    assert (code, err) == (0, "")
    _, again, _ = cpsched(*command)
    assert again.startswith(first[: first.index("\nRuns:")])
    assert "recorded" in first


@pytest.mark.usefixtures("files")
def test_a_dispatcher_for_other_jobs_is_named(cpsched):
    """On a log of rigid jobs that cannot be restarted these do as those that they ask."""
    several = (*SIMULATE, "-d", "speculative:dispatcher=easy", "-d", "malleable")
    _, out, _ = cpsched(*several)
    assert "speculative:dispatcher=easy has no effect: log has no restartable jobs" in out
    assert "malleable has no effect: log has no malleable jobs" in out
    _, out, _ = cpsched(*several, "--restarts", "share=1", "--malleable", "share=1")
    assert "has no effect" not in out


def test_one_allocator_for_all_or_a_line_that_they_differ(files, cpsched):
    """On nodes; a pool has no allocator to speak of."""
    nodes = (
        (files / "four.toml").read_text().replace('processors = "pool"', 'processors = "packed"')
    )
    (files / "nodes.toml").write_text(nodes)
    several = ("simulate", "log.swf", "--system", "nodes.toml", "-d", "fifo", "-d", "lookahead")
    _, out, _ = cpsched(*several)
    assert "Allocators differ" not in out
    assert out.count("Allocator: first-fit.") == 1
    _, out, _ = cpsched(*several[:-1], "lookahead:allocator=pack")
    named = "first-fit (fifo), pack (lookahead:allocator=pack)"
    assert f"Allocators differ: {named}. Set one allocator" in " ".join(out.split())
    code, out, err = cpsched(*several, "--allocator", "best-fit", "--out", "out")
    assert (code, err) == (0, "")
    assert "Allocators differ" not in out
    assert out.count("Allocator: best-fit.") == 1
    specs = {json.loads(run.read_text())["dispatcher"] for run in files.glob("out/runs/*/run.json")}
    assert specs == {"fifo:allocator=best-fit", "lookahead:allocator=best-fit"}
    lines = [line.split()[0] for line in out.splitlines() if line.startswith(("fifo", "lookahead"))]
    assert set(lines) == {"fifo", "lookahead"}
    assert "allocator" not in cpsched(*SIMULATE, "-d", "fifo", "-d", "lookahead")[1]


def _only(folder):
    """Return the one run of a study."""
    (run_folder,) = (folder / "runs").iterdir()
    return run_folder


def test_out_is_a_study_of_one_run_too(files, cpsched):
    """As ``compare`` makes it: the layout is the same for one run and for many."""
    code, out, _ = cpsched(*SIMULATE, "-d", "fifo", "--out", "out")
    assert code == 0
    run = _only(files / "out")
    assert run.name.startswith("log-four-fifo-requested-s0-")
    assert out.endswith(f"Runs:\n  out/runs/{run.name}\n")
    starts = {
        row["job_id"]: row["start"] for row in pq.read_table(run / "jobs.parquet").to_pylist()
    }
    # The hand-worked FIFO of tests/dispatch: B waits for A, C behind it; 5 can never run.
    assert starts == {"1": 0, "2": 4, "3": 4, "5": None}
    description = json.loads((run / "run.json").read_text())
    assert description["dispatcher"] == "fifo"
    assert description["counts"]["set_aside"] == {"never ran": 1}
    assert description["arguments"]["source"]["path"] == str(files / "log.swf")
    assert (files / "out" / "study.json").is_file()


def test_who_may_change_size_is_kept_with_the_run(files, cpsched):
    """Jobs of 3, 2 and 1 processors of 4: as a setting, in the jobs, and as part of the identity."""
    for sizes in ((), ("--malleable", "least=0.5,most=2,kind=moldable")):
        assert cpsched(*SIMULATE, "-d", "fifo", *sizes, "--out", "out")[0] == 0
    by_setting = {
        json.loads(run.read_text())["settings"]["malleable"]: run.parent
        for run in files.glob("out/runs/*/run.json")
    }
    assert set(by_setting) == {"none", "least=0.5,most=2,kind=moldable"}
    table = pq.read_table(by_setting["least=0.5,most=2,kind=moldable"] / "workload.parquet")
    # The last job is larger than the machine, and rejected.
    assert table["job_type"].to_pylist() == 4 * ["moldable"]
    assert table["units_min"].to_pylist()[:3] == [2, 1, 1]
    assert table["units_max"].to_pylist()[:3] == [4, 4, 2]
    assert cpsched("verify", "out")[0] == 0
    code, _, err = cpsched(*SIMULATE, "--malleable", "kind=soft")
    assert (code, err.count("\n")) == (2, 1)
    assert "--malleable kind: is 'soft', must be one of: moldable, malleable, evolving" in err


def test_simulate_goes_on_with_what_is_there(files, cpsched):
    """With one dispatcher more, only that is run; verify and compare take them all."""
    assert cpsched(*SIMULATE, "-d", "fifo", "--out", "out")[0] == 0
    before = (_only(files / "out") / "timing.json").read_bytes()
    code, out, _ = cpsched(*SIMULATE, "-d", "fifo", "-d", "easy:backfill=sjf", "--out", "out")
    assert code == 0
    assert "Reused: 1 of 2 runs (--force repeats them)" in out
    names = sorted(path.name.rpartition("-")[0] for path in (files / "out" / "runs").iterdir())
    assert names == ["log-four-easy-backfill-sjf-requested-s0", "log-four-fifo-requested-s0"]
    code, out, _ = cpsched("verify", "out")
    assert code == 0
    assert out.count("4 jobs, OK") == 2
    again = ("compare", "log.swf", "--system", "four.toml", "-d", "easy:backfill=sjf", "-d", "fifo")
    _, out, _ = cpsched(*again, "-d", "ljf", "--no-report", "--out", "out")
    assert out.startswith("3 runs: 1 simulated, 2 reused, 0 failed\n")
    timings = [path.read_bytes() for path in (files / "out").glob("runs/*fifo*/timing.json")]
    assert timings == [before]


@pytest.mark.usefixtures("files")
def test_one_system(cpsched):
    """The last of two used to win; ``compare`` is for several."""
    code, out, err = cpsched(*SIMULATE, "--system", "eurora")
    assert (code, out) == (2, "")
    assert err.startswith("error: --system: is given 2 times. Give it once.")


def test_verify_fails_on_a_corrupted_schedule(files, cpsched):
    """Exit code 1; the file that was changed is named."""
    import pyarrow as pa

    cpsched(*SIMULATE, "-d", "fifo", "--out", "run")
    path = _only(files / "run") / "jobs.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[1]["start"] = 0
    pq.write_table(pa.Table.from_pylist(rows), path)
    code, out, err = cpsched("verify", "run")
    assert code == 1
    assert " problem" in out
    assert err == ("error: files of 1 run are missing or were modified: jobs.parquet\n")


def _edited(path):
    content = json.loads(path.read_text())
    content["outcomes"]["completed"]["jobs"] += 1
    path.write_text(json.dumps(content))


def _truncated(path):
    path.write_bytes(path.read_bytes()[:60])


_NAMES = (
    *("run.json", "metrics.json", "system.json", "jobs.parquet", "workload.parquet"),
    *("allocations.parquet", "queue.parquet", "timing.json"),
)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("damage", [_truncated, Path.unlink])
def test_verify_names_each_file_that_is_damaged(files, cpsched, name, damage):
    """Not a schedule that contradicts its inputs, and no other file."""
    cpsched(*SIMULATE, "-d", "fifo", "-d", "easy", "--out", "run")
    first_run, _ = sorted((files / "run" / "runs").iterdir())
    damage(first_run / name)
    code, out, err = cpsched("verify", "run")
    assert code == 1
    assert err == (f"error: files of 1 run are missing or were modified: {name}\n")
    assert out.count(", OK") == 1
    (finding,) = [line for line in out.splitlines() if line.startswith("  files: ")]
    assert finding.startswith(f"  files: {name} is ")


def test_verify_names_what_differs_in_edited_metrics(files, cpsched):
    cpsched(*SIMULATE, "-d", "fifo", "--out", "run")
    _edited(_only(files / "run") / "metrics.json")
    code, out, err = cpsched("verify", "run")
    assert (code, err.rpartition(": ")[2]) == (1, "metrics.json\n")
    assert "metrics.json is damaged: it was changed after it was written" in out
    assert "  files: metrics.json: outcomes does not follow from the schedule" in out


def test_part_of_a_log(files, cpsched):
    """--first counts jobs; --from and --to take seconds or dates."""
    _, out, _ = cpsched(*SIMULATE, "--first", "2", "--json")
    assert json.loads(out)["runs"][0]["summary"]["counts"]["simulated"] == 2
    _, out, _ = cpsched(*SIMULATE, "--from", "1", "--to", "2001-09-09T01:46:42", "--json")
    assert json.loads(out)["runs"][0]["summary"]["counts"]["simulated"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("simulate", "none.swf", "--system", "four.toml"),
            "none.swf: no such file",
        ),
        (("simulate", "log.swf", "--system", "eurorra"), "Did you mean 'eurora'?"),
        (("simulate", "log.swf", "--system", "no.toml"), "no.toml: no such file"),
        ((*SIMULATE, "-d", "easi"), "unknown dispatcher 'easi'"),
        ((*SIMULATE, "--allocator", "frist-fit"), "Did you mean 'first-fit'?"),
        ((*SIMULATE, "-d", "easy:backfil=sjf"), "Did you mean 'backfill'?"),
        ((*SIMULATE, "-d", "easy:backfill"), "'backfill' is not an option. Write key=value."),
        ((*SIMULATE, "-d", "conservative:depth=many"), "'many' is not a whole number"),
        (
            (*SIMULATE, "-d", "conservative:depth=-1"),
            "conservative:depth=-1: depth is -1, must be 0 or more",
        ),
        ((*SIMULATE, "-p", "oracle"), "unknown predictor 'oracle'"),
        ((*SIMULATE, "-p", "actual:factor=0"), "factor is 0, must be above 0 and at most 1000"),
        ((*SIMULATE, "--on-infeasible", "error"), "job 5 can never run on this system"),
        ((*SIMULATE, "--from", "yesterday"), "'yesterday' is not a time. Give seconds or a date"),
        ((*SIMULATE, "--from", "99999"), "--first, --from and --to select 0 of"),
        ((*SIMULATE, "--input-format", "excel"), "unknown log format 'excel'"),
        ((*SIMULATE, "--export", "slurm"), "--export: slurm needs a folder. Add --out"),
        ((*SIMULATE, "--slurm-policy", "gone.toml"), "gone.toml: no such file"),
        (
            (*SIMULATE, "--slurm-policy", "p.toml", "-d", "easy:backfill=sjf"),
            "error: --slurm-policy: needs the dispatcher slurm. Remove --dispatcher"
            " easy:backfill=sjf.",
        ),
        (
            (*SIMULATE, "--slurm-policy", "p.toml", "-d", "slurm", "-d", "easy"),
            "--slurm-policy: needs the dispatcher slurm. Use --dispatcher slurm:policy=p.toml.",
        ),
        (
            (
                "explain",
                *SIMULATE[1:],
                "--slurm-policy",
                "p.toml",
                "-d",
                "easy",
                "--job",
                "1",
                "--at",
                "1",
            ),
            "--slurm-policy: needs the dispatcher slurm. Remove --dispatcher easy.",
        ),
        (("verify", "."), "is not a folder of runs"),
        (("log", "convert", "log.swf", "four.toml"), "the file exists"),
        (
            ("log", "convert", "log.swf", "log.xyz"),
            "log.xyz: the ending names no writable format. End the name in .csv,"
            " .parquet,"
            " .sacct, .swf (text also .gz), or give the format (log convert --to-format)",
        ),
        (("simulate", "\x1b[31m.swf", "--system", "four.toml"), "\\x1b[31m.swf: no such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(files, cpsched, arguments, message):
    """What, where, and what would be accepted; no traceback."""
    code, out, err = cpsched(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "dispatcher", ["greedy", "cph-0", "cp-nodes", "speculative:dispatcher=greedy"]
)
def test_a_machine_without_expected_waits_is_bad_input(files, cpsched, dispatcher):
    """A dispatcher that needs them is refused before the first run, whichever it is."""
    system = (files / "four.toml").read_text()
    (files / "none.toml").write_text(system.replace("default_expected_wait = 3600\n", ""))
    arguments = ("simulate", "log.swf", "--system", "none.toml", "-d", "fifo", "-d", dispatcher)
    code, out, err = cpsched(*arguments, "--out", "runs")
    assert (code, out) == (2, "")
    assert "expected wait" in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not (files / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SIMULATE, "--overrun", "forgive"), "'forgive' is not one of 'kill', 'extend'"),
        ((*SIMULATE, "--first", "0"), "'--first'"),
        ((*SIMULATE, "--first", "x"), "'--first'"),
        ((*SIMULATE, "--nope"), "No such option: --nope"),
        (("list", "things"), "unknown kind 'things'."),
        (
            ("explain", "log.swf", "--estimate-correction", "halve"),
            "not one of 'requested', 'double'",
        ),
    ],
)
def test_wrong_options_are_named_with_exit_code_2(files, cpsched, arguments, message):
    """The command line's own complaints: the option, the value and what is accepted."""
    code, out, err = cpsched(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_without_arguments_it_says_where_to_begin(cpsched):
    """Four commands, and not the whole help."""
    code, out, err = cpsched()
    assert (code, err) == (0, "")
    assert out.count("\n") == 7
    for begin in (
        "cpsched compare demo --out demo-out",
        "cpsched compare LOG --out DIR",
        "cpsched list",
        "cpsched --help",
    ):
        assert f"  {begin} " in out


@pytest.mark.parametrize("command", ["simulate", "compare", "what-if"])
def test_help_has_panels_and_cuts_no_word_off(cpsched, monkeypatch, command):
    """At 80 columns, in the same order everywhere."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = cpsched(command, "--help")
    assert code == 0
    assert "…" not in out
    panels = ("The log", "The system", "Dispatchers and predictors", "Rules", "Running and output")
    places = [out.index(f"─ {panel}") for panel in panels]
    assert places == sorted(places)
    assert places[0] < out.index("│ --first ") < places[1] < out.index("│ --system ") < places[2]
    _, out, _ = cpsched("--help")
    assert "…" not in out
    assert "─ Your Slurm ─" in out
    assert "─ Commands ─" not in out
    assert {"accasim", "batsim"} <= set(out.split())


@pytest.mark.parametrize(
    ("command", "rare"),
    [
        (("compare",), ("--restarts", "--outages", "--runtime-model")),
        (("simulate",), ("--checkpoint", "--observe", "--dispatch-interval")),
    ],
)
def test_rare_options_are_shown_on_demand(cpsched, command, rare):
    """Without them the help says how to see them."""
    for flag, listed in (("--help", False), ("--help-all", True)):
        code, out, _ = cpsched(*command, flag)
        assert code == 0
        assert all((option in out) == listed for option in rare)
        assert (
            out.rstrip().endswith("--help-all lists rare options and commands as well.") != listed
        )
    if "compare" in command:
        assert "--skip-bad-lines" in out
        text = " ".join(out.replace("│", " ").split())
        assert "--no-enforce-time-limits Accept jobs above" in text
        assert "[easy, six without --system]" in text


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("cpsched simu", ["simulate"]),
        ("cpsched log generate eu", ["eurora"]),
        ("cpsched simulate --overrun ", ["kill", "extend"]),
        ("cpsched simulate --system eu", ["eurora"]),
        ("cpsched compare -d fif", ["fifo"]),
    ],
)
def test_the_shell_completes_commands_options_and_values(words, completed):
    """``--install-completion`` installs a script that asks the command itself like this."""
    environment = {
        **os.environ,
        "_CPSCHED_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    program = [sys.executable, "-c", "from cpsched.cli.main import main; main()"]
    answer = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == completed


def test_a_bad_line_is_named_and_can_be_set_aside(files, cpsched):
    """File, line, field and value; --skip-bad-lines counts it in the summary."""
    with (files / "log.swf").open("a") as log:
        log.write("6 5 -1 ten 1 -1 -1 1 2 -1 5 2 1 -1 1 -1 -1 -1\n")
    code, _, err = cpsched(*SIMULATE)
    assert code == 2
    assert "log.swf:8: " in err
    assert "'ten'" in err
    code, out, _ = cpsched(*SIMULATE, "--skip-bad-lines")
    assert code == 0
    assert "Excluded: 1 row of the whole log (bad line)" in out


def test_debug_shows_a_traceback(files):
    with pytest.raises(ValueError, match="easi"):
        main(["simulate", "log.swf", "--system", "four.toml", "-d", "easi", "--debug"])


@pytest.mark.parametrize(
    "kind", ["dispatchers", "predictors", "allocators", "priorities", "log_formats", "systems"]
)
def test_list_names_everything(cpsched, kind):
    """Each with a line on what it is."""
    from cpsched import systems
    from cpsched.util import registry

    code, out, _ = cpsched("list", kind, "--all")
    names = systems.names() if kind == "systems" else registry.names(kind)
    assert code == 0
    for name in names:
        (line,) = (line for line in out.splitlines() if line.startswith(f"{name} "))
        assert len(line.split()) > 2


def test_workload_info_and_convert(files, cpsched):
    """Through Parquet and back nothing is lost."""
    code, out, _ = cpsched("log", "info", "log.swf")
    assert code == 0
    assert "jobs                 4" in out
    assert "excluded: never ran  1" in out
    assert cpsched("log", "convert", "log.swf", "log.parquet")[0] == 0
    assert cpsched("log", "info", "log.parquet")[1] == out


def test_what_a_format_cannot_hold_is_said(files, cpsched):
    """SWF has no place for GPUs; the file is written all the same."""
    code, out, err = cpsched("log", "generate", "esp", "--out", "g.swf")
    assert (code, out) == (0, "g.swf: 458 jobs\n")
    assert "note: g.swf: requests for gpu are not written\n" in err
    code, _, err = cpsched("log", "generate", "esp", "--out", "g.csv.gz")
    assert (code, err) == (0, "")
    code, _, err = cpsched("log", "convert", "g.csv.gz", "h.swf")
    assert "note: h.swf: requests for gpu are not written" in err


def test_workload_generate_takes_the_generators_options(files, cpsched):
    code, out, _ = cpsched(
        "log", "generate", "eurora", "--jobs", "1000", "--seed", "3", "--out", "g.csv.gz"
    )
    assert (code, out) == (0, "g.csv.gz: 1,000 jobs\n")
    code, _, err = cpsched("log", "generate", "eurora", "--jobs", "0", "--out", "h.csv.gz")
    assert code == 2
    assert err.startswith("error: ")
    assert not (files / "h.csv.gz").exists()


def test_what_a_log_says_cannot_steer_the_terminal(files, cpsched):
    """File names, titles and labels are printed with their control characters escaped."""
    name = "\x1b[2Jlog.swf"
    (files / "log.swf").rename(files / name)
    for arguments in (
        ("log", "info", name),
        ("log", "convert", name, "\x07new.csv"),
        ("simulate", name, "--system", "four.toml", "-d", "fifo", "--out", "\x9brun"),
        ("verify", "\x9brun"),
    ):
        code, out, err = cpsched(*arguments)
        assert (code, err) == (0, "")
        assert out.replace("\n", "").isprintable()
    assert "\\x9brun/runs/" in out
    assert "4 jobs, OK" in out


def test_recorded_waits_are_printed_beside_simulated_ones(files, cpsched):
    """Of a log that says when jobs started, and only of such."""
    assert "recorded waits" not in cpsched(*SIMULATE, "-d", "fifo")[1]
    recorded = LOG.replace("1 0 -1 4", "1 0 60 4").replace("2 1 -1 4", "2 1 180 4")
    (files / "log.swf").write_text(recorded)
    out = cpsched(*SIMULATE, "-d", "fifo")[1]
    assert "recorded waits (from submit to first start): mean 2 min, longest 3 min\ncpsched" in out


def test_one_is_not_many(files, cpsched):
    """1 job, not 1 jobs."""
    (files / "log.swf").write_text(LOG.split("\n2 ")[0] + "\n")
    _, out, _ = cpsched(*SIMULATE, "-d", "fifo", "--out", "run")
    assert "log: 1 job submitted over 0.0 days" in out
    assert "1 job simulated." in out
    assert cpsched("verify", "run")[1].endswith(": 1 job, OK\n")
    assert "busiest day      1 job\n" in cpsched("log", "info", "log.swf")[1]
    assert cpsched("log", "convert", "log.swf", "one.csv")[1] == "one.csv: 1 job\n"


def test_a_log_is_described_in_units_for_people(files, cpsched):
    """Time spans in two units and memory in GB; plain numbers where there is no unit."""
    out = cpsched("log", "info", "log.swf")[1]
    assert re.search(r"^runtime +median 4 s, mean 4\.8 s, max 9 s$", out, re.MULTILINE)
    assert "[s]" not in out


def _plug_in(folder, monkeypatch, group, source):
    """Install a distribution with one entry point."""
    info = folder / "plug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[cpsched.{group}]\nnew = plug:new\n")
    (folder / "plug.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "plug", raising=False)
    registry.entries.cache_clear()


@pytest.fixture
def _forget_plug_ins():
    yield
    registry.entries.cache_clear()


@pytest.mark.usefixtures("_forget_plug_ins")
@pytest.mark.parametrize(
    "source", ["import no_such_module", "raise SystemExit(1)", "raise ValueError('a\\n\\x1b[31mb')"]
)
def test_a_broken_plug_in_is_listed_as_broken(files, cpsched, monkeypatch, source):
    """One used to take the whole list with it."""
    _plug_in(files, monkeypatch, "dispatchers", source)
    code, out, _ = cpsched("list", "dispatchers", "--all")
    assert code == 0
    (line,) = (line for line in out.splitlines() if line.startswith("new "))
    assert "broken: 'new' (plug:new, from plug) cannot be loaded:" in line
    assert line.isprintable()
    assert any(line.startswith("easy ") for line in out.splitlines())


def test_simulate_imports_nothing_it_does_not_need(files):
    """What is left out takes longer to import than a small log takes to simulate."""
    code = (
        "import sys; from cpsched.cli.main import main\n"
        f"try: main([*{SIMULATE!r}, '-d', 'fifo', '--out', 'run'])\n"
        "except SystemExit: pass\n"
        "names = ('pandas', 'sklearn', 'ortools', 'matplotlib', 'bokeh', 'jinja2')\n"
        "print([name for name in names if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stdout.splitlines()[-1] == "[]", process.stderr


def test_help_needs_none_of_the_heavy_libraries():
    """--help answers fast because it imports nothing that is slow."""
    code = (
        "import sys; from cpsched.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.splitlines()[-1] == "[]"


def test_a_killed_simulation_goes_on_from_its_checkpoint(files):
    """kill -9 half way; the same command then gives the run an undisturbed one gives."""
    command = [
        *SIMULATE,
        "-d",
        "easy",
        "--out",
        "run",
        "--checkpoint",
        "state",
        "--checkpoint-interval",
        "0",
    ]
    script = (
        "import os, signal\n"
        "from cpsched.simulation.simulator import Simulator\n"
        "advance = Simulator.advance\n"
        "def killed(self, **options):\n"
        "    if self.now >= 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return advance(self, **options)\n"
        "Simulator.advance = killed\n"
        "from cpsched.cli.main import main\n"
        f"main({command!r})\n"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert process.returncode == -9
    assert (files / "state").exists()
    for rest in (command, [*SIMULATE, "-d", "easy", "--out", "whole"]):
        with pytest.raises(SystemExit) as stop:
            main(list(rest))
        assert not stop.value.code
    assert not (files / "state").exists()
    for name in (
        "jobs.parquet",
        "allocations.parquet",
        "queue.parquet",
        "metrics.json",
        "run.json",
    ):
        run_folder, whole_folder = (_only(files / folder) / name for folder in ("run", "whole"))
        assert run_folder.read_bytes() == whole_folder.read_bytes()


def test_a_command_line_leaves_nothing_to_the_next(monkeypatch):
    """The same commands are made for each: what is added for one is not there for the next."""
    made, make = [], typer.main.get_command_from_info

    def counted(*args, **options):
        made.append(args)
        return make(*args, **options)

    monkeypatch.setattr(typer.main, "get_command_from_info", counted)
    numbers = []
    for _ in range(3):
        build(["generate"])
        numbers.append(len(made))
        made.clear()
    assert numbers[0] == numbers[1] == numbers[2] > 20
