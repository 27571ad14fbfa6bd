"""``--json``: one object, which says what it is, of every command that prints a result."""

import json

import pytest

from cpsched.cli.main import build

LOG = """\
; UnixStartTime: 1000000000
1 0 -1 4 3 -1 -1 3 4 -1 1 1 1 -1 1 -1 -1 -1
2 1 -1 4 2 -1 -1 2 4 -1 1 2 1 -1 1 -1 -1 -1
3 2 -1 2 1 -1 -1 1 2 -1 1 2 1 -1 1 -1 -1 -1
"""
ON = ("log.swf", "--system", "four.toml")
#: Commands without a result, and why.
WITHOUT = {
    "batsim serve": "answers Batsim until its simulation ends",
}


def _commands(group, *before):
    """Yield every command of a group with its name in words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, *before, name)
        else:
            yield " ".join((*before, name)), command


def test_every_command_prints_json_if_asked():
    """All but those that have nothing to print."""
    commands = dict(_commands(build(["generate"])))
    assert len(commands) > 25
    without = {
        name
        for name, command in commands.items()
        if not any("--json" in option.opts for option in command.params)
    }
    assert without == set(WITHOUT)


@pytest.fixture
def answer(four_cores, cpsched):
    """Return what a command prints, as data."""
    (four_cores / "log.swf").write_text(LOG)

    def asked(*words):
        code, out, _ = cpsched(*words, "--json")
        assert code == 0
        return json.loads(out)

    return asked


def test_results_are_the_same_from_simulate_and_compare(answer):
    both = ("-d", "fifo", "-d", "easy")
    simulated = answer("simulate", *ON, *both)
    compared = answer("compare", *ON, *both, "-o", "out", "--no-report")
    changed = answer("what-if", *ON, "-c", "scale-load 2", "-o", "if", "--no-report")
    for output in (simulated, compared, changed):
        assert output["schema"] == "cpsched.results/2"
        assert len(output["runs"]) == 2
        assert len({row["dispatcher"] for row in output["results"]}) == 2
    assert simulated["results"] == compared["results"]
    assert simulated["finding"] == compared["finding"]
    assert simulated["runs"][0]["summary"] == compared["runs"][0]["summary"]
    waits = [
        row["value"]
        for row in simulated["results"]
        if (row["metric"], row["jobs"]) == ("wait_mean_s", "all")
    ]
    assert waits[0] == pytest.approx((0 + 3 + 2) / 3)
    assert compared["report"] is None


def test_each_command_says_what_to_add_for_repetitions(answer, cpsched):
    """As it is typed there; programs are told no option."""
    both = ("-d", "fifo", "-d", "easy")
    output = answer("compare", *ON, *both, "-o", "out", "--no-report")
    assert any("Use several repetitions." in line for line in output["finding"])
    _, out, _ = cpsched("compare", *ON, *both, "-o", "out", "--no-report")
    assert "Use --repeat 5." in " ".join(out.split())
    _, out, _ = cpsched("simulate", *ON, *both)
    assert "Use cpsched compare --repeat 5." in " ".join(out.split())


def test_verify_names_what_it_is_of(answer):
    answer("simulate", *ON, "-d", "fifo", "-o", "out")
    output = answer("verify", "out")
    assert (output["schema"], output["wrong"]) == ("cpsched.verify/1", 0)
    assert [(run["jobs"], run["findings"]) for run in output["runs"]] == [(3, [])]


def test_lists_and_logs(answer):
    output = answer("list")
    assert output["schema"] == "cpsched.list/1"
    assert "easy" in output["kinds"]["dispatchers"]
    (easy,) = answer("show", "dispatchers", "easy")["names"]
    assert easy["summary"].startswith("EASY backfilling: ")
    output = answer("log", "info", "log.swf")
    assert (output["schema"], output["jobs"]) == ("cpsched.log/1", 3)
    assert output["runtime_s"]["max"] == 4


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("explain", ("explain", *ON, "--job", "2", "--at", "2", "-d", "easy")),
        (
            "forecast",
            ("forecast", *ON, "--at", "2", "-d", "easy", "--scenarios", "2", "--judged", "0"),
        ),
        ("evaluate", ("evaluate", *ON, "-p", "requested")),
        ("log", ("log", "convert", "log.swf", "log.csv")),
        ("log", ("log", "generate", "esp", "--cores", "16", "--out", "esp.csv")),
    ],
)
def test_every_answer_says_what_it_is(answer, kind, words):
    assert answer(*words)["schema"] == f"cpsched.{kind}/1"


def test_a_written_log_is_described_and_what_is_lost_is_named(four_cores, cpsched):
    """The object alone is on stdout; what the format cannot hold is on stderr too."""
    (four_cores / "log.csv").write_text(
        "job_id,submit,runtime,requested_time,status,cores\n"
        "a,0,10,20,completed,2\nb,5,10,20,timeout,1\n"
    )
    code, out, err = cpsched("log", "convert", "log.csv", "new.swf", "--json")
    assert code == 0
    output = json.loads(out)
    assert (output["file"], output["jobs"]) == ("new.swf", 2)
    assert output["lost"]
    assert err == "".join(f"note: new.swf: {line}\n" for line in output["lost"])


def test_what_is_imported_of_a_slurm(answer, data, tmp_path):
    """Where the files are, what is in them, and what of the site is not simulated."""
    site = data / "slurm" / "university"
    options = ("--conf", str(site / "slurm.conf"), "--assoc", str(site / "assoc.txt"))
    output = answer("slurm", "import", *options, "--out", str(tmp_path / "site"))
    assert (output["schema"], output["nodes"]) == ("cpsched.slurm.import/1", 61)
    assert len(output["node_groups"]) == 7
    assert [path.rpartition(".")[2] for path in output["files"]][:2] == ["toml", "toml"]
    assert output["total"]["gpu"] > 0
    assert output["log"] is None
    assert {"name", "instead", "jobs", "core_seconds", "gpu_seconds"} == set(
        output["not_modelled"][0]
    )
    assert output["not_modelled"][0]["jobs"] is None
    # With a log: a job for every line of it.
    (tmp_path / "sacct.txt").write_text(
        "JobID|State|Submit|Start|End|ElapsedRaw|AllocCPUS|Partition|NNodes\n"
        "1|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:01:00|60|2|batch|1\n"
    )
    log = ("--log", str(tmp_path / "sacct.txt"), "--force")
    output = answer("slurm", "import", *options, "--out", str(tmp_path / "site"), *log)
    assert output["log"] == {"lines": 1, "core_seconds": 120, "gpu_seconds": 0, "unreadable": 0}


def test_what_there_is_to_list_and_where_to_begin(four_cores, cpsched):
    code, out, _ = cpsched("list")
    assert code == 0
    assert "cpsched list dispatchers" in out
    assert "To begin on your own log" in out
    _, out, _ = cpsched("show", "dispatchers", "easy")
    assert "estimate=predicted  The runtimes used for the reservation: predicted," in out
    assert ":class:" not in out
    code, _, err = cpsched("show", "dispatchers", "eazy")
    assert code == 2
    assert "Did you mean 'easy'?" in err
