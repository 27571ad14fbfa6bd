"""A dispatcher decides on a private Slurm, and on no other cluster."""

import json
import threading

import pytest

from cpsched.errors import ConfigError, RunError
from cpsched.slurm.live.mirror import JobStart
from cpsched.slurm.live.plan import system_of
from cpsched.slurm.live.scontrol import Scontrol
from cpsched.slurm.sandbox import commands
from cpsched.slurm.sandbox import loop as loops
from cpsched.slurm.sandbox.follower import Follower
from cpsched.slurm.sandbox.loop import SandboxLoop
from cpsched.slurm.sandbox.private import PrivateSlurm
from cpsched.slurm.sandbox.stream import SITE, SandboxJob, bundled, in_file

pytestmark = pytest.mark.slow
live = pytest.mark.slurm_live
#: A job of a node of node001 to node009, by its cores and seconds.
ONE = ("--time=2", "-p", "R", "-C", "mic")


def job(cores, seconds, *more, at=0.0):
    return SandboxJob(at, [*ONE, f"-n{cores}", f"--wrap=exec sleep {seconds}", *more])


def looped(slurm, dispatcher, jobs, lines=None):
    """Run a dispatcher on a private Slurm; return results by job name, and what was said."""
    lines = [] if lines is None else lines
    system = system_of(Scontrol(slurm.environment))
    loop = SandboxLoop(slurm, Follower(system, dispatcher), jobs, lines.append)
    loop.run(threading.Event())
    first = min(int(result.job.partition("_")[0]) for result in loop.results)
    names = {int(result.job.partition("_")[0]) - first: result for result in loop.results}
    return names, lines


@live
def test_jobs_start_in_the_order_of_the_dispatcher_on_the_nodes_decided(private_slurm):
    """
    The first job has nine nodes; behind it the shortest goes first under sjf, all on one node.

    Nodes are those of the last order, as Slurm itself has recorded.
    """
    wide = job(9 * 16, 3, "-N9", "--exclusive")
    limits = (4, 3, 2)
    others = [job(9 * 16, 1, "-N9", "--exclusive", f"--time={limit}", at=0.5) for limit in limits]
    results, lines = looped(private_slurm, "sjf", [wide, *others])
    starts = [results[at].start for at in range(4)]
    assert starts[0] < starts[3] < starts[2] < starts[1]
    assert {result.state for result in results.values()} == {"COMPLETED"}
    assert len([line for line in lines if " runs on node001," in line]) == 4


@live
def test_a_job_runs_where_it_was_placed_and_not_where_slurm_would(private_slurm, monkeypatch):
    """The emptiest node is not the first; what is not modelled is cancelled, with a reason."""
    decided, lines, begin = {}, [], commands.begin

    def noted(slurm, starts):
        decided.update(dict(starts))
        return begin(slurm, starts)

    monkeypatch.setattr(commands, "begin", noted)
    stream = [job(4, 5), job(4, 1, at=1), job(2, 1, "-N2", "-w", "node001"), job(1, 1, "-a1-2")]
    results, lines = looped(private_slurm, "easy:allocator=balanced", stream)
    ran = {result.job: result.nodes for result in results.values() if result.start is not None}
    assert all(decided[key] == nodes for key, nodes in ran.items())
    assert (results[0].nodes, results[1].nodes) == (("node001",), ("node002",))
    assert results[2].state == "CANCELLED"
    assert any("requires 1 of its nodes, which is not modelled" in line for line in lines)


@live
def test_a_job_waits_for_the_one_that_it_depends_on(private_slurm):
    """A job that Slurm does not take is an error with its line."""
    system = system_of(Scontrol(private_slurm.environment))
    first = commands.submit(private_slurm, job(1, 2))
    stream = [
        job(1, 1, f"--dependency=afterok:{first}"),
        SandboxJob(0, ["-p", "nowhere", "--wrap=true"], "jobs.txt, line 2"),
    ]
    loop = SandboxLoop(private_slurm, Follower(system, "fifo"), stream)
    with pytest.raises(ConfigError, match="^jobs.txt, line 2: sbatch: .*nowhere"):
        loop.run(threading.Event())
    loop.run(threading.Event())
    before, after = loop.results
    assert (before.job, before.end <= after.start) == (first, True)


@live
def test_no_command_reaches_a_cluster_that_was_not_started_here(private_slurm, short_path):
    """Neither one whose slurm.conf is in its place, nor one of an object that started none."""
    waiting = commands.submit(private_slurm, job(1, 60))
    chosen = [JobStart(waiting, ("node001",))]
    foreign = PrivateSlurm(short_path / "slurm", SITE)
    with foreign:
        foreign.check_identity()
        own = foreign.conf.read_text()
        foreign.conf.write_text(private_slurm.conf.read_text())
        for command in (
            lambda: commands.begin(foreign, chosen),
            lambda: commands.submit(foreign, job(1, 60)),
            lambda: commands.cancel(foreign, waiting),
        ):
            with pytest.raises(
                ConfigError, match="another cluster answers: ClusterName is sandbox"
            ):
                command()
        foreign.conf.write_text(own)
    with pytest.raises(ConfigError, match="slurmctld of this sandbox has ended"):
        commands.begin(foreign, chosen)
    assert private_slurm.run("squeue", "-h", "-o", "%A %t %r") == f"{waiting} PD JobHeldUser\n"


@live
def test_a_start_that_slurm_refuses_is_said_by_job(private_slurm):
    """The others start; a name that is none never reaches a command."""
    good = commands.submit(private_slurm, job(1, 60))
    refused = commands.begin(
        private_slurm, [JobStart("999999", ("node001",)), JobStart(good, ("node007",))]
    )
    assert list(refused) == ["999999"]
    with pytest.raises(ConfigError, match="is neither the id of a job"):
        commands.begin(private_slurm, [JobStart("1; release 2", ("node001",))])
    with pytest.raises(ConfigError, match="is neither the id of a job nor the name"):
        commands.begin(private_slurm, [JobStart(good, ("node001\nrelease 2",))])


@live
def test_a_job_that_slurm_does_not_start_is_held_again_and_at_last_an_error(
    private_slurm, monkeypatch
):
    """A drained node is closed for the dispatcher; one drained after the decision keeps the job."""
    monkeypatch.setattr(loops, "_PATIENCE", 1)
    monkeypatch.setattr(loops, "_MOST_TRIES", 2)
    node = ("scontrol", "update")
    begin = commands.begin

    lines = []

    def drained(slurm, starts):
        for _, (name,) in starts:
            slurm.run(*node, f"NodeName={name}", "State=DRAIN", "Reason=test")
        return begin(slurm, starts)

    monkeypatch.setattr(commands, "begin", drained)
    try:
        with pytest.raises(RunError, match="has not started within 1 s: Slurm says ReqNode"):
            looped(private_slurm, "fifo", [job(1, 60)], lines)
        assert [line.partition(". ")[2] for line in lines] == ["It is held again"]
    finally:
        private_slurm.run(*node, "NodeName=node[001-002]", "State=RESUME")


@live
def test_the_command_lets_a_dispatcher_decide_on_jobs_of_a_file(cpsched, tmp_path):
    path = tmp_path / "jobs.txt"
    path.write_text(
        "# seconds, options of sbatch\n"
        "1 --ntasks=4 --time=1 --wrap='sleep 1'\n\n"
        "0 --nodes=2 --time=1 --gres=gpu:1 --wrap='sleep 1'\n"
    )
    code, out, err = cpsched("slurm", "sandbox", "-d", "easy", "--jobs", str(path), "--json")
    assert code == 0
    result = json.loads(out)
    assert [entry["state"] for entry in result["jobs"]] == ["COMPLETED"] * 2
    assert sorted(len(entry["nodes"]) for entry in result["jobs"]) == [1, 2]
    assert "job 1 runs on node033,node034 after a wait of" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no job"),
        ("soon --ntasks=1\n", "line 1: 'soon --ntasks=1' is not a second with options of sbatch"),
        ("5\n", "line 1: '5' is not a second"),
        ("\n5 --wrap='sleep 1\n", "line 2: No closing quotation"),
    ],
)
def test_a_wrong_file_of_jobs_is_one_line(tmp_path, text, words):
    path = tmp_path / "jobs.txt"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        in_file(path)


def test_bundled_jobs_are_the_same_for_a_seed():
    """They come one after the other and are of several kinds."""
    jobs = bundled(40, 1, mean=30)
    assert jobs == bundled(40, 1, mean=30) != bundled(40, 2, mean=30)
    assert [submission.at for submission in jobs] == sorted(submission.at for submission in jobs)
    assert (
        len({option for submission in jobs for option in submission.options if "--gres" in option})
        == 4
    )


def test_wrong_names_are_said_before_slurm_starts(cpsched, monkeypatch):
    monkeypatch.setattr(PrivateSlurm, "start", lambda _: pytest.fail("it starts"))
    for words in (("-d", "nosuch"), ("-p", "nosuch"), ("--jobs", "/nowhere")):
        code, _, err = cpsched("slurm", "sandbox", *words)
        assert (code, err.splitlines()[-1].startswith("error: ")) == (2, True)
