"""``cpsched what-if`` as somebody types it."""

import json

import pytest

LOG = "log.swf"


@pytest.fixture
def files(four_cores):
    """A folder with a log and a system in it, and we are there."""
    lines = ["; UnixStartTime: 1000000000"]
    lines += [
        f"{job} {20 * job} -1 60 {1 + job % 4} -1 -1 {1 + job % 4} 90 -1 1 {1 + job % 3} 1 -1 1 -1"
        " -1 -1"
        for job in range(1, 31)
    ]
    (four_cores / LOG).write_text("\n".join(lines) + "\n")
    return four_cores


QUICK = ("what-if", LOG, "--system", "four.toml", "--out", "out", "--no-report")


def test_every_change_is_a_scenario(files, cpsched):
    code, out, err = cpsched(
        *QUICK, "-c", "scale-load 0.5", "-c", "drop user=1", "-c", "set backfill=sjf",
        "-c", "both: cap-request 0:01:20; dispatcher fifo",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert out.startswith("5 runs: 5 simulated")
    for name in ("baseline", "scale-load 0.5", "drop user=1", "set backfill=sjf", "both"):
        assert f"\n{name} " in out
    assert "who gains and who loses" not in out
    assert ",share_that_waits_longer," in (files / "out" / "tables" / "results.csv").read_text()
    # Again, nothing is run.
    code, again, _ = cpsched(*QUICK, "-c", "scale-load 0.5", "-c", "drop user=1", "--all-tables")
    assert again.startswith("3 runs: 0 simulated, 3 reused")
    assert "Log on four: groups of jobs under drop user=1" in again


def test_one_table_and_a_sentence_each_fit_a_terminal(files, cpsched, monkeypatch):
    """Of 80 columns, with names that are longer than their column."""
    monkeypatch.setattr("cpsched.cli.results.width", lambda: 80)
    changes = "cap-request 0:01:20; dispatcher easy:backfill=sjf"
    code, out, _ = cpsched(
        *QUICK, "-c", "scale-load 2", "-c", "drop user=1",
        "-c", f"all of it at once, with another dispatcher: {changes}",
    )  # fmt: skip
    assert code == 0
    table, _, sentences = out.partition("One run each cannot tell a difference from chance.")
    assert max(map(len, table.splitlines())) <= 80
    assert len(table.splitlines()) < 20
    names = {"scale-load 2", "drop user=1", "all of it at once, with another dispatcher"}
    lines = sentences.partition("\n\n")[2].splitlines()
    assert {name for line in lines for name in names if line.startswith(f"{name}: ")} == names


def test_together_they_are_one(files, cpsched):
    code, out, _ = cpsched(*QUICK, "-c", "scale-load 0.5; drop user=1")
    assert code == 0
    assert out.startswith("2 runs")
    description = json.loads((files / "out" / "study.json").read_text())
    assert description["study"]["workloads"][1]["changes"] == [
        "scale-load:factor=0.5",
        "drop:user=1",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--change: is missing"),
        (("-c", "drop user=9"), "no job of the log has the user '9'"),
        (("-c", "set backfil=sjf"), "has no option '"),
        (("-c", "add-nodes group=gpu,count=1"), "unknown node group 'gpu'"),
        (("--add-nodes", "group=gpu,count=1"), "No such option: --add-nodes"),
        (("-c", "outage nodes=node9,start=0,end=5"), "unknown node 'node9'"),
    ],
)
def test_what_makes_no_sense_is_one_line(files, cpsched, options, message):
    code, _, err = cpsched(*QUICK, *options)
    assert code
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", ["drop", "keep"])
def test_jobs_that_are_not_there_are_missed_before_anything_runs(files, cpsched, verb):
    code, out, err = cpsched(*QUICK, "-c", "scale-load 0.5", "-c", f"{verb} user=9")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {verb}:user=9: ")
    assert not (files / "out").exists()
