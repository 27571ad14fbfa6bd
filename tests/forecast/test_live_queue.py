"""When jobs of a live queue will start, and why they wait."""

import json

import pytest

from cpsched.cli import slurm_explain, slurm_plan, slurm_queue
from cpsched.errors import ConfigError
from cpsched.forecast.live_queue import LiveQueue
from cpsched.forecast.when_text import text as forecast_text
from cpsched.forecast.why_text import text
from cpsched.slurm.live.history import history_in, history_of

pytestmark = pytest.mark.slow

HEADER = (
    "JobID|User|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|ReqTRES|"
    "SubmitLine\n"
)


def sacct(*jobs, nodes=1):
    """Return what sacct prints about jobs: user, submit, seconds, and minutes requested."""
    rows = [
        f"{number}|{user}|R|{submit}|{submit}|{submit + seconds}|{seconds}|{minutes}|COMPLETED|{nodes}|"
        f"cpu={16 * nodes},mem={nodes}M,node={nodes}|sbatch job.sh\n"
        for number, (user, submit, seconds, minutes) in enumerate(jobs, start=1)
    ]
    return HEADER + "".join(rows)


def when(snapshot, system, dispatcher, past=(), **asked):
    return LiveQueue(snapshot, system, dispatcher, past=past).when(**asked)


def submit(slurm, seconds, **asked):
    usual = {"held": False, "user": "ada", "required": ("node001",), "cpus": 16, "mem": 1024}
    usual["partition"] = "R"
    return slurm.submit(seconds=seconds, **{**usual, **asked})


def test_jobs_wait_for_the_one_that_runs(slurm):
    """Nothing is known but requests: an hour each, the first one running for 600 s."""
    submit(slurm, 3600)
    slurm.advance(1)
    second, third = submit(slurm, 3600), submit(slurm, 3600, time_limit=1800)
    submit(slurm, 60, held=True)
    slurm.advance(600)
    snapshot = slurm.snapshot()
    answer = when(snapshot, slurm.system, dispatcher="fifo")
    assert [job.job for job in answer.jobs] == [second, third]
    ends = snapshot.jobs["1"].start + 3600 - answer.epoch
    assert [job.planned for job in answer.jobs] == [ends, ends + 3600]
    # Of neither is known more than when it starts at the latest.
    assert answer.bounds
    assert {(job.p10, job.p50, job.p90) for job in answer.jobs} == {(None, None, None)}
    single = when(snapshot, slurm.system, dispatcher="easy", job=third, by=snapshot.now + 600)
    assert (single.jobs[0].chance, single.jobs[0].user) == (None, "ada")
    for forecasts in (single, answer):
        shown = forecast_text(forecasts, 100)
        assert "80 %" not in shown
        assert "10 %" not in shown
        assert "Latest starts under" in shown
    assert "Latest start: in" in forecast_text(single, 100)
    assert "most" in forecast_text(answer, 100)


def test_sacct_says_how_long_jobs_run(slurm):
    """Ten jobs of an hour ran for 300 s: so will the next."""
    slurm.sacct = sacct(*(("ada", slurm.now - 90_000 + 400 * at, 300, 60) for at in range(10)))
    submit(slurm, 300)
    slurm.advance(10)
    waiting = submit(slurm, 300)
    snapshot = slurm.snapshot()
    past = history_of(slurm, slurm.system, snapshot.now)
    assert [job.runtime for job in past] == [300] * 10
    answer = when(snapshot, slurm.system, "fifo", past, job=waiting)
    assert not answer.bounds
    began = snapshot.jobs["1"].start - answer.epoch
    assert answer.jobs[0].p50 == pytest.approx(began + 300, abs=30)
    assert answer.jobs[0].planned == pytest.approx(began + 3600, abs=2)


def test_a_file_is_a_history_too(slurm, tmp_path):
    """Only jobs of the last seven days count that ran on the system."""
    days = [10, 3, 2, 0]
    path = tmp_path / "jobs.sacct"
    path.write_text(sacct(*(("ada", slurm.now - day * 86400, 300 + day, 60) for day in days)))
    past = history_in(path, slurm.system, slurm.now)
    assert [job.runtime for job in past] == [303, 302, 300]
    assert (past[0].request.user, past[0].request.queue) == ("ada", "R")
    assert (past[0].request.units, past[0].request.resources["core"]) == (16, 1)
    with pytest.raises(ConfigError, match="no job of the log started in the last 7 days"):
        history_in(path, slurm.system, slurm.now + 30 * 86400)


def test_without_accounting_there_is_no_history(slurm):
    """Nor where no job has ended."""
    assert history_of(slurm, slurm.system, slurm.now) == []
    slurm.sacct = sacct(("ada", slurm.now, 60, 60)).replace("COMPLETED", "RUNNING")
    assert history_of(slurm, slurm.system, slurm.now) == []


def test_a_queue_that_nobody_has_decided_on(slurm):
    """Nothing runs: the first two start at once."""
    for node in ("node001", "node002", "node001"):
        submit(slurm, 60, required=(node,))
    answer = when(slurm.snapshot(), slurm.system, dispatcher="easy")
    assert [job.planned - answer.now <= 1 for job in answer.jobs] == [True, True, False]


def test_begins_and_dependencies_hold_jobs(slurm):
    """One job may not start for 5,000 s, one waits for the job that runs."""
    first = submit(slurm, 3600)
    slurm.advance(1)
    late = submit(slurm, 60, eligible=slurm.now + 5000, required=("node002",))
    after = submit(slurm, 60, dependency=f"afterany:{first}(unfulfilled)", required=("node003",))
    answer = when(slurm.snapshot(), slurm.system, dispatcher="fifo")
    planned = {job.job: job.planned - answer.now for job in answer.jobs}
    assert planned[late] == 5000
    assert planned[after] == pytest.approx(3600, abs=2)


@pytest.mark.parametrize(
    ("key", "words"),
    [("9", "is not in the queue"), ("1", "is RUNNING"), ("2", "is held"), ("3", "can never run")],
)
def test_what_cannot_be_answered_is_said(slurm, key, words):
    """No such job, one that runs, one held by its user, one that is too large."""
    submit(slurm, 600)
    slurm.advance(1)
    submit(slurm, 60, held=True)
    submit(slurm, 60, cpus=17)
    with pytest.raises(ConfigError, match=words):
        when(slurm.snapshot(), slurm.system, dispatcher="fifo", job=key)


def test_of_several_dependencies_the_last_counts_and_it_is_said(slurm):
    """Job 4 waits for two that run and one that nobody starts, job 5 for the last only."""
    first = submit(slurm, 600, time_limit=600, required=("node002",))
    second = submit(slurm, 600, time_limit=1200, required=("node003",))
    slurm.advance(1)
    held = submit(slurm, 60, held=True)
    clauses = ",".join(f"afterany:{key}(unfulfilled)" for key in (second, first, held))
    after = submit(slurm, 60, dependency=clauses)
    never = submit(slurm, 60, dependency=f"afterany:{held}(unfulfilled)", required=("node005",))
    queue = LiveQueue(slurm.snapshot(), slurm.system, "fifo")
    planned = {job.job: job.planned - queue.when().now for job in queue.when().jobs}
    assert planned[after] == pytest.approx(1200, abs=2)
    assert queue.notes() == [
        "Job 4 waits for jobs 2, 1, 3: its forecast counts only job 2.",
        "Job 5 waits for jobs that nobody starts: 3.",
    ]
    assert queue.notes(never) == queue.notes()[1:]
    assert queue.notes(first) == []


def test_why_a_job_waits(slurm):
    """It wants the node that another one holds, which came later and is short."""
    submit(slurm, 600, required=("node002",))
    first = submit(slurm, 600, required=("node002",))
    slurm.advance(1)
    submit(slurm, 600, required=("node003",))
    slurm.advance(5)
    explanation = LiveQueue(slurm.snapshot(), slurm.system, "easy").why(first)
    assert explanation.state == "waiting"
    assert explanation.waiting is not None
    assert [other.job_id for other in explanation.waiting.waits_for] == ["1"]
    assert explanation.overtaken == 1
    assert "overtaken by 1 job submitted later" in text(explanation)
    view = LiveQueue(slurm.snapshot(), slurm.system, "easy").slurms_view(first, None)
    assert view == {"state": "PENDING", "reason": "Resources", "expects": None}


def test_a_job_that_would_start(slurm):
    """Nothing is in its way but that nobody starts it."""
    key = submit(slurm, 60)
    explanation = LiveQueue(slurm.snapshot(), slurm.system, "easy").why(key)
    assert explanation.state == "starts"
    assert [place.nodes for place in explanation.places] == ["node001"]
    late = submit(slurm, 60, eligible=slurm.now + 900)
    queue = LiveQueue(slurm.snapshot(), slurm.system, "easy")
    explanation = queue.why(late)
    assert explanation.state == "held"
    assert "it may not start before" in explanation.reason
    with pytest.raises(ConfigError, match="is not in the queue"):
        queue.slurms_view("99", None)


def test_past_days_come_again(slurm):
    """
    Every hour a job of half an hour came, after one of two hours by somebody else: as runs now.

    Ours asks for more time than those that come, so under ``sjf`` two of them go first.
    """
    hours = range(slurm.now - 30 * 3600, slurm.now - 2 * 3600, 3600)
    slurm.sacct = sacct(
        ("bob", hours[0], 7200, 240), *(("ada", hour, 1800, 60) for hour in hours[1:]), nodes=64
    )
    all_nodes = {"required": (), "nodes_min": 64, "nodes_max": 64, "cpus": 1024, "tasks": 1024}
    submit(slurm, 7200, user="bob", time_limit=14400, **all_nodes)
    slurm.advance(1)
    waiting = submit(slurm, 60, time_limit=5400, **all_nodes)
    past = history_of(slurm, slurm.system, slurm.now)
    fifo, sjf = (
        when(slurm.snapshot(), slurm.system, dispatcher, past, job=waiting).jobs[0]
        for dispatcher in ("fifo", "sjf")
    )
    assert fifo.planned == sjf.planned
    assert fifo.p50 is not None
    assert sjf.p50 is not None
    assert sjf.p50 > fifo.p50 + 1500


@pytest.fixture
def asking(slurm, cpsched, monkeypatch):
    """Run a command about the Slurm in memory."""
    for module in (slurm_queue, slurm_explain, slurm_plan):
        monkeypatch.setattr(module, "backend_of", lambda: slurm)
    for module in (slurm_queue, slurm_plan):
        monkeypatch.setattr(module, "system_named", lambda name, backend: backend.system)
    return lambda *words: cpsched("slurm", *words)


def test_commands_ask_the_same_queue(slurm, asking):
    """One lists who waits, the other says why a job does, when it starts, and what to change."""
    submit(slurm, 3600)
    slurm.advance(1)
    waiting = submit(slurm, 3600)
    options = ("-d", "fifo", "--scenarios", "2")
    code, out, _ = asking("forecast", *options)
    assert (code, out[:12]) == (0, "Job 2 of ada")
    code, out, _ = asking("explain", waiting, *options)
    assert code == 0
    assert "it needs 16 cores, and 0 cores are free on nodes it may use" in " ".join(out.split())
    assert "Slurm       PENDING" in out
    assert "forecast    Job 2 of ada" in out
    code, out, _ = asking("explain", waiting, *options, "--json")
    description = json.loads(out)
    assert description["slurm"]["state"] == "PENDING"
    assert description["forecast"]["schema"] == "cpsched.forecast/1"


def test_the_history_of_a_command_is_that_of_a_file_or_of_sacct(slurm, asking, tmp_path):
    """Without either there are bounds only."""
    submit(slurm, 3600)
    slurm.advance(1)
    submit(slurm, 60)
    options = ("forecast", "-d", "fifo", "--scenarios", "2", "--json")
    assert json.loads(asking(*options)[1])["bounds"]
    text = sacct(*(("ada", slurm.now - 4000 * at, 300, 60) for at in range(20, 0, -1)))
    path = tmp_path / "jobs.sacct"
    path.write_text(text)
    by_file = json.loads(asking(*options, "--history", str(path))[1])
    slurm.sacct = text
    by_sacct = json.loads(asking(*options)[1])
    assert by_file["jobs"] == by_sacct["jobs"]
    assert not by_file["bounds"]


def test_numbers_go_to_a_file_for_node_exporter(slurm, asking, tmp_path):
    """Each command has samples of its own; a queue without a waiting job has numbers, too."""
    from prometheus_client import parser as older
    from prometheus_client.openmetrics import parser as parse

    paths = {name: tmp_path / f"{name}.prom" for name in ("forecast", "explain", "plan")}
    options = ("-d", "fifo", "--openmetrics")
    submit(slurm, 3600, partition='R"\\')
    slurm.advance(1)
    code, _, err = asking("forecast", *options, str(paths["forecast"]))
    assert (code, err.splitlines()[-1]) == (0, "The queue is empty: 0 waiting jobs.")
    samples = read(parse, paths["forecast"])
    assert samples["cpsched_queue_jobs", 'R"\\', "running"] == 1
    assert samples["cpsched_queue_jobs", 'R"\\', "waiting"] == 0
    assert samples["cpsched_allocated_cores",] == 16
    submit(slurm, 60)
    slurm.sacct = sacct(*(("ada", slurm.now - 4000 * at, 300, 60) for at in range(20, 0, -1)))
    seen = []
    for name, path in paths.items():
        words = [name, "2"] if name == "explain" else [name]
        assert asking(*words, *options, str(path))[0] == 0
        text = path.read_text()
        assert text.endswith("# EOF\n")
        seen += read(parse, path)
        assert read(older, path) == read(parse, path)
    assert len(set(seen)) == len(seen)
    samples = read(parse, paths["forecast"])
    assert samples["cpsched_requested_time_wait_seconds", "2", "R"] == 3600
    assert samples["cpsched_wait_seconds", "2", "R", "0.5"] == pytest.approx(300, abs=30)
    assert [file.name for file in tmp_path.iterdir() if file not in paths.values()] == []
    code, _, err = asking("plan", *options, str(tmp_path / "plan.txt"))
    assert (code, "must end in .prom" in err) == (2, True)


def read(parse, path):
    """Return the samples of a file by name and labels."""
    families = parse.text_string_to_metric_families(path.read_text())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }
