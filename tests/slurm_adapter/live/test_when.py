"""When jobs of a live queue start, by hand."""

import json

import numpy as np
import pytest

from cpsched.answer.starts import NEVER, Starts
from cpsched.answer.when_text import text as forecast_text
from cpsched.answer.why_text import text
from cpsched.errors import ConfigError
from slurm_adapter.live import ask_command
from slurm_adapter.live.judged import JudgedForecasts, _starts, _texts
from slurm_adapter.live.queue import LiveQueue
from slurm_adapter.live.record import Record
from slurm_adapter.live.snapshot import Lease
from slurm_adapter.live.twin import Twin

pytestmark = pytest.mark.slow

#: A twin that forecasts at each look, also what an engine is to start.
EVERY = {"forecasts": 1, "mark": "cpsched"}


def when(snapshot, system, dispatcher, record=None, mark="cpsched", **asked):
    return LiveQueue(snapshot, system, dispatcher, record=record, mark=mark).when(**asked)


def submit(slurm, seconds, **asked):
    usual = {"held": False, "user": "ada", "required": ("node001",), "cpus": 16, "mem": 1024}
    return slurm.submit(seconds=seconds, **{**usual, **asked})


def test_jobs_wait_for_the_one_that_runs(slurm):
    """Nothing is known but requests: an hour each, the first one running for 600 s."""
    submit(slurm, 3600)
    slurm.advance(1)
    second, third = submit(slurm, 3600), submit(slurm, 3600, time_limit=1800)
    submit(slurm, 60, held=True, admin_comment="")
    slurm.advance(600)
    snapshot = slurm.snapshot()
    answer = when(snapshot, slurm.system, dispatcher="fifo")
    assert [one.job for one in answer.jobs] == [second, third]
    ends = snapshot.jobs["1"].start + 3600 - answer.epoch
    assert [one.planned for one in answer.jobs] == [ends, ends + 3600]
    # Of neither is known more than when it starts at the latest.
    assert answer.bounds
    assert {(one.p10, one.p50, one.p90) for one in answer.jobs} == {(None, None, None)}
    one = when(snapshot, slurm.system, dispatcher="easy", job=third, by=snapshot.now + 600)
    assert (one.jobs[0].chance, one.jobs[0].user) == (None, "ada")
    for told in (one, answer):
        shown = forecast_text(told, 100)
        assert "80 %" not in shown
        assert "10 %" not in shown
        assert "Bounds under" in shown
    assert "at the latest" in forecast_text(one, 100)
    assert "most" in forecast_text(answer, 100)


def test_a_twin_knows_how_long_jobs_run(slurm, tmp_path):
    """Ten jobs of an hour ran for 300 s: so will the next."""
    record = Record(tmp_path)
    for _ in range(10):
        submit(slurm, 300)
    for _ in range(60):
        slurm.advance(60)
        record.see(slurm.snapshot(), slurm)
    submit(slurm, 300)
    slurm.advance(10)
    waiting = submit(slurm, 300)
    answer = when(slurm.snapshot(), slurm.system, dispatcher="fifo", job=waiting, record=record)
    assert not answer.bounds
    began = slurm.snapshot().jobs["11"].start - answer.epoch
    assert answer.jobs[0].p50 == pytest.approx(began + 300, abs=30)
    assert answer.jobs[0].planned == pytest.approx(began + 3600, abs=2)


def test_a_queue_that_nobody_has_decided_on(slurm):
    """Nothing runs: the first two start at once."""
    for node in ("node001", "node002", "node001"):
        submit(slurm, 60, required=(node,), admin_comment="cpsched", held=True)
    answer = when(slurm.snapshot(), slurm.system, dispatcher="easy")
    assert [one.planned - answer.now <= 1 for one in answer.jobs] == [True, True, False]


def test_begins_and_dependencies_hold_jobs(slurm):
    """One job may not start for 5,000 s, one waits for the job that runs."""
    first = submit(slurm, 3600)
    slurm.advance(1)
    late = submit(slurm, 60, eligible=slurm.now + 5000, required=("node002",))
    after = submit(slurm, 60, dependency=f"afterany:{first}(unfulfilled)", required=("node003",))
    answer = when(slurm.snapshot(), slurm.system, dispatcher="fifo")
    planned = {one.job: one.planned - answer.now for one in answer.jobs}
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
    submit(slurm, 60, held=True, admin_comment="")
    submit(slurm, 60, cpus=17)
    with pytest.raises(ConfigError, match=words):
        when(slurm.snapshot(), slurm.system, dispatcher="fifo", job=key)


def test_nobody_starts_what_is_held_for_an_engine_that_does_not_run(slurm):
    """Unless it is said that one does, and that its mark is the job's."""
    submit(slurm, 600)
    slurm.advance(1)
    other = submit(slurm, 60, required=("node002",), time_limit=900)
    ours = submit(slurm, 60, held=True, admin_comment="cpsched")
    trial = submit(slurm, 60, held=True, admin_comment="", comment="cpsched-trial")
    snapshot = slurm.snapshot()
    for mark, jobs, left in (
        ("", [other], "2 jobs held for an engine"),
        ("cpsched", [other, ours], "1 job held for an engine"),
        ("cpsched-trial", [other, trial], "1 job held for an engine"),
    ):
        queue = LiveQueue(snapshot, slurm.system, "fifo", mark=mark)
        assert [one.job for one in queue.when().jobs] == jobs
        assert queue.left_out().startswith(left)
    queue = LiveQueue(snapshot, slurm.system, "fifo")
    with pytest.raises(ConfigError, match="is held for an engine, so nobody starts it while none"):
        queue.when(ours)
    # An engine that runs says so by its lease.
    leased = snapshot.jobs[ours].partition
    slurm.begin_lease(leased, Lease(slurm.now + 60, 7))
    queue = LiveQueue(slurm.snapshot(), slurm.system, "fifo")
    assert [one.job for one in queue.when().jobs] == [other, ours]
    slurm.end_lease(leased)
    slurm.cancel(other)
    slurm.cancel("1")
    queue = LiveQueue(slurm.snapshot(), slurm.system, "fifo")
    with pytest.raises(ConfigError, match="no other job is waiting but 2 jobs held for an engine"):
        queue.when()


def test_why_a_job_waits(slurm):
    """It wants the node that another one holds, which came later and is short."""
    submit(slurm, 600, required=("node002",))
    first = submit(slurm, 600, held=True, admin_comment="cpsched", required=("node002",))
    slurm.advance(1)
    submit(slurm, 600, required=("node003",))
    slurm.advance(5)
    about = LiveQueue(slurm.snapshot(), slurm.system, "easy", mark="cpsched").why(first)
    assert about.state == "waiting"
    assert about.waiting is not None
    assert [other.job_id for other in about.waiting.waits_for] == ["1"]
    assert about.overtaken == 1
    assert "overtaken by 1 job submitted later" in text(about)
    view = LiveQueue(slurm.snapshot(), slurm.system, "easy", mark="cpsched").slurms_view(
        first, None
    )
    assert view == {"state": "PENDING", "reason": "JobHeldUser", "expects": None}


def test_a_job_that_would_start(slurm):
    """Nothing is in its way but that nobody starts it."""
    key = submit(slurm, 60, held=True, admin_comment="cpsched")
    about = LiveQueue(slurm.snapshot(), slurm.system, "easy", mark="cpsched").why(key)
    assert about.state == "starts"
    assert [place.nodes for place in about.places] == ["node001"]
    late = submit(slurm, 60, eligible=slurm.now + 900)
    queue = LiveQueue(slurm.snapshot(), slurm.system, "easy", mark="cpsched")
    about = queue.why(late)
    assert about.state == "held"
    assert "it may not start before" in about.reason
    with pytest.raises(ConfigError, match="is not in the queue"):
        queue.slurms_view("99", None)


def test_a_twins_days_come_again(slurm, tmp_path):
    """
    Every hour a job of half an hour came, after one of two hours by somebody else: as runs now.

    Ours asks for more time than those that come, so under ``sjf`` two of them go first.
    """
    record = Record(tmp_path)
    for number in range(28):
        seconds = 1800 if number else 7200
        submit(slurm, seconds, user="ada" if number else "bob", time_limit=2 * seconds)
        slurm.advance(1)
        record.see(slurm.snapshot(), slurm)
        slurm.advance(3599)
        record.see(slurm.snapshot(), slurm)
    slurm.advance(7200)
    record.see(slurm.snapshot(), slurm)
    submit(slurm, 7200, user="bob", time_limit=14400)
    slurm.advance(1)
    waiting = submit(slurm, 60, time_limit=5400)
    fifo, sjf = (
        when(slurm.snapshot(), slurm.system, record=record, dispatcher=one, job=waiting).jobs[0]
        for one in ("fifo", "sjf")
    )
    assert fifo.planned == sjf.planned
    assert fifo.p50 is not None
    assert sjf.p50 is not None
    assert sjf.p50 > fifo.p50 + 1500


def _hours(slurm, record, twin, number):
    """
    Let jobs come that ask for an hour and run for one, each waiting for the one before.

    The site takes 30 minutes longer to start a job than anybody knows of.
    """
    for _ in range(number):
        waiting = submit(slurm, 3600, required=("node001",), held=True, admin_comment="cpsched")
        record.see(slurm.snapshot(), slurm)
        twin.judge(slurm.snapshot())
        slurm.advance(1800)
        slurm.change(waiting, held=False)
        slurm.advance(1)
        record.see(slurm.snapshot(), slurm)
        twin.judge(slurm.snapshot())
        slurm.advance(3700)
        record.see(slurm.snapshot(), slurm)


def test_the_sites_own_forecasts_correct_the_next(slurm, tmp_path):
    """
    Nobody is in the way, and yet each of 30 jobs waited for 1,800 s: so does the next.

    The twin is another one each time, as after a stop. Under another dispatcher nothing is known.
    """
    for _ in range(10):
        record = Record(tmp_path)
        twin = Twin(record=record, system="eurora", baseline="fifo", dispatchers=(), **EVERY)
        _hours(slurm, record, twin, 3)
    key = submit(slurm, 3600, required=("node001",), held=True, admin_comment="cpsched")
    snapshot = slurm.snapshot()
    told, other = (
        when(snapshot, slurm.system, dispatcher=name, job=key, record=record)
        for name in ("fifo", "easy")
    )
    assert (told.judged, other.judged) == (30, 0)
    assert told.jobs[0].planned == told.now + 1
    assert told.jobs[0].p50 - told.now == pytest.approx(1800, abs=5)
    assert other.jobs[0].p50 - other.now == pytest.approx(1, abs=5)
    assert JudgedForecasts(record).are_new([snapshot.jobs[key]], 1) == [snapshot.jobs[key]]


def test_a_job_that_waits_beyond_its_forecast_is_learnt_from_at_once(slurm, tmp_path):
    """It was to start at once, and has waited for an hour."""
    record = Record(tmp_path)
    twin = Twin(record=record, system="eurora", baseline="fifo", dispatchers=(), **EVERY)
    submit(slurm, 60, held=True, admin_comment="cpsched")
    record.see(slurm.snapshot(), slurm)
    twin.judge(slurm.snapshot())
    now = slurm.snapshot().now
    judged = JudgedForecasts(record)
    assert [len(judged.calibration("fifo", second)) for second in (now, now + 3600)] == [0, 1]
    assert len(judged.calibration("easy", now + 3600)) == 0


def test_forecasts_of_jobs_that_never_start_are_forgotten(slurm, tmp_path):
    """It is cancelled; its number may come again with another submit."""
    record = Record(tmp_path)
    twin = Twin(record=record, system="eurora", baseline="fifo", dispatchers=(), **EVERY)
    key = submit(slurm, 60, held=True, admin_comment="cpsched")
    for _ in range(2):
        record.see(slurm.snapshot(), slurm)
        twin.judge(slurm.snapshot())
        slurm.advance(1)
    asked = slurm.snapshot().jobs[key]
    assert JudgedForecasts(record).are_new([asked], 1) == []
    slurm.cancel(key)
    record.see(slurm.snapshot(), slurm)
    twin.judge(slurm.snapshot())
    assert JudgedForecasts(record).are_new([asked], 1) == [asked]


def test_commands_ask_the_same_queue(slurm, cpsched, monkeypatch):
    """One lists who waits, the other says why a job does, when it starts, and what to change."""
    monkeypatch.setattr(ask_command, "backend_of", lambda: slurm)
    monkeypatch.setattr(ask_command, "machine_of", lambda name, backend: backend.system)
    submit(slurm, 3600)
    slurm.advance(1)
    waiting = submit(slurm, 3600)
    options = ("-d", "fifo", "--scenarios", "2")
    code, out, _ = cpsched("slurm", "when", *options)
    assert (code, out[:12]) == (0, "Job 2 of ada")
    code, out, _ = cpsched("slurm", "explain", waiting, *options)
    assert code == 0
    assert "it needs 16 core, 0 are free on nodes it may use" in out
    assert "Slurm       PENDING" in out
    assert "forecast    Job 2 of ada asks for 16 units for 1 h." in out
    code, out, _ = cpsched("slurm", "explain", waiting, *options, "--json")
    about = json.loads(out)
    assert about["slurm"]["state"] == "PENDING"
    assert about["forecast"]["schema"] == "cpsched.when/1"


def test_a_forecast_in_the_record_has_its_plan_and_an_older_one_none():
    """Records of before hold nothing but the starts."""
    now = Starts(5, np.array([0]), np.array([[7], [9]]), np.array([8]))
    (text,) = _texts(now)
    again, older = _starts(5, 0, text), _starts(5, 0, "[7, 9]")
    for one, planned in ((again, 8), (older, NEVER)):
        assert (one.now, one.scenario.tolist(), one.planned.tolist()) == (5, [[7], [9]], [planned])
