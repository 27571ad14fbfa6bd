"""A twin sees every job of a Slurm, goes on after it was stopped, and states what it saw."""

import fcntl
import json
import os
import random
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from cpsched import systems, traces
from cpsched.base.atomic_files import open_lock
from cpsched.base.types import MISSING, Status
from cpsched.errors import RunError
from cpsched.mapping import fit
from slurm_adapter.live import record as records
from slurm_adapter.live import twin_command
from slurm_adapter.live.log_of import lines, outages
from slurm_adapter.live.record import Record
from slurm_adapter.live.twin import Twin, monday, name_of

pytestmark = pytest.mark.slow


def submit(slurm, seconds, **asked):
    """Submit a job that Slurm may start."""
    usual = {"held": False, "user": "ada", "partition": "parallel"}
    # The fake starts a job on the nodes it is bound to, or else on the first.
    usual["required"] = (f"node{slurm._count % 64 + 1:03}",)
    return slurm.submit(seconds=seconds, **{**usual, **asked})


def test_a_job_is_seen_from_its_submit_to_its_end(slurm, tmp_path):
    """It starts a second after its submit, and runs for 100 s."""
    record = Record(tmp_path)
    key = submit(slurm, 100, cpus=4, time_limit=7200)
    assert record.see(slurm.snapshot(), slurm)
    slurm.advance(50)
    assert record.see(slurm.snapshot(), slurm)
    assert not record.see(slurm.snapshot(), slurm)
    slurm.advance(100)
    record.see(slurm.snapshot(), slurm)
    (row,) = record.jobs()
    assert (row["key"], row["state"], row["gone"], row["end_known"]) == (key, "COMPLETED", 1, 1)
    assert row["start"] - row["submit"] == 1
    assert row["end"] - row["start"] == 100
    assert (row["cpus"], row["user"]) == (4, "ada")


def test_it_goes_on_after_a_stop_and_loses_nothing(slurm, tmp_path):
    """
    A new record at every look, as after a kill.

    Jobs come and go between two looks, too: those that come later tell of them.
    """
    chance = random.Random(1)
    keys = []
    for _ in range(25):
        keys.append(submit(slurm, chance.randint(1, 60), cpus=chance.randint(1, 16)))
        slurm.advance(10)
        keys.append(submit(slurm, 50))
        Record(tmp_path).see(slurm.snapshot(), slurm)
    slurm.advance(100)
    Record(tmp_path).see(slurm.snapshot(), slurm)
    rows = list(Record(tmp_path).jobs())
    assert sorted(row["key"] for row in rows) == sorted(keys)
    assert all(row["gone"] and row["state"] == "COMPLETED" for row in rows)


def test_a_look_that_is_cut_off_leaves_the_last_one(slurm, tmp_path, monkeypatch):
    """Nothing of it is in the record, and the next one has everything."""
    for _ in range(2):
        submit(slurm, 5)
    record = Record(tmp_path)
    record.see(slurm.snapshot(), slurm)
    before = list(record.jobs())
    slurm.advance(20)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(records, "_note_closed", killed)
        with pytest.raises(KeyboardInterrupt):
            record.see(slurm.snapshot(), slurm)
    again = Record(tmp_path)
    assert list(again.jobs()) == before
    again.see(slurm.snapshot(), slurm)
    assert [(row["key"], row["state"]) for row in again.jobs()] == [
        ("1", "COMPLETED"), ("2", "COMPLETED"),
    ]  # fmt: skip


def test_a_full_disk_is_said_in_a_line(tmp_path):
    """It used to be a traceback."""
    record = Record(tmp_path)
    full = r"record\.sqlite: database or disk is full"
    grow = "PRAGMA max_page_count=1; CREATE TABLE more AS SELECT randomblob(100000)"
    with pytest.raises(RunError, match=full), record.database() as database:
        database.executescript(grow)


def test_a_job_that_is_queued_again_is_two_attempts(slurm, tmp_path):
    """The first one ends where the second is submitted."""
    record = Record(tmp_path)
    key = submit(slurm, 500)
    slurm.advance(10)
    record.see(slurm.snapshot(), slurm)
    slurm.queue_again(key)
    record.see(slurm.snapshot(), slurm)
    slurm.advance(600)
    record.see(slurm.snapshot(), slurm)
    first, second = record.jobs()
    assert (first["state"], second["state"]) == ("REQUEUED", "COMPLETED")
    assert first["end"] <= second["start"]


def test_jobs_that_slurm_forgets_end_where_they_were_last_seen(slurm, tmp_path):
    """Nobody knows how a job ended: it is said to have completed, its end to be unsure."""
    record = Record(tmp_path)
    submit(slurm, 30)
    slurm.advance(10)
    record.see(slurm.snapshot(), slurm)
    gone = replace(slurm.snapshot(), jobs={}, now=slurm.now + 60)
    slurm._gone.clear()
    record.see(gone, slurm)
    (row,) = record.jobs()
    assert (row["state"], row["end"], row["end_known"]) == ("COMPLETED", gone.now, False)


def test_nodes_out_of_service_and_times_without_a_look(slurm, tmp_path):
    """A node is closed for 300 s; later nothing is seen for an hour."""
    record = Record(tmp_path)
    record.see(slurm.snapshot(), slurm)
    slurm.close("node007")
    record.see(slurm.snapshot(), slurm)
    began = slurm.now
    slurm.advance(300)
    slurm.open("node007")
    record.see(slurm.snapshot(), slurm)
    assert record.outages() == [("node007", began, began + 300)]
    slurm.advance(3600)
    again = Record(tmp_path)
    again.see(slurm.snapshot(), slurm)
    assert again.gaps() == [(began + 300, began + 3900)]
    assert list(outages(again.outages(), began - 50, slurm.now)) == [
        "node,from,to",
        "node007,50,350",
    ]


def test_the_record_is_a_log(slurm, tmp_path):
    """What users wrote is not taken for columns; GPUs, limits and states are as they were."""
    record = Record(tmp_path / "twin")
    submit(slurm, 100, cpus=8, gres_per_node="gres:gpu:1", required=("node040",), nodes_min=1,
           time_limit=1800, name="a|b\nc", account="chem", qos="high", mem=1024)  # fmt: skip
    cancelled = submit(slurm, 100, held=True)
    record.see(slurm.snapshot(), slurm)
    slurm.advance(30)
    record.see(slurm.snapshot(), slurm)
    slurm.cancel(cancelled)
    slurm.advance(200)
    record.see(slurm.snapshot(), slurm)
    path = tmp_path / "log.sacct"
    path.write_text("\n".join([*lines(record.jobs()), ""]))
    workload = traces.read(path)
    fitted = fit(workload, systems.load("eurora"))
    assert not fitted.rejected
    row = workload.job_id.tolist().index("1")
    assert (workload.runtime[row], workload.requested_time[row]) == (100, 1800)
    assert workload.recorded_start[row] - workload.submit[row] == 1
    assert workload.per_node[row][workload.resources.index("gpu")] == 1
    assert (workload.qos.decode()[row], workload.group.decode()[row]) == ("high", "chem")
    other = 1 - row
    assert workload.cancel[other] != MISSING
    assert workload.status[other] == Status.CANCELLED


def test_a_statement_compares_dispatchers_on_what_was_seen(slurm, tmp_path, cpsched, monkeypatch):
    """What is said while it follows goes to stderr; a statement has what compare prints."""
    stopped = threading.Event()
    stopped.set()
    monkeypatch.setattr(twin_command, "backend_of", lambda: slurm)
    monkeypatch.setattr(twin_command, "stopped_by_signals", lambda: nullcontext(stopped))
    folder = tmp_path / "twin"
    arguments = ("slurm", "twin", str(folder), "--system", "eurora", "-d", "easy", "--json")
    slurm.now = int(time.time()) - 7200
    for _ in range(6):
        submit(slurm, 300, cpus=16)
    code, out, err = cpsched(*arguments, "--forecasts", "0")
    assert (code, json.loads(out)["schema"]) == (0, "cpsched.slurm.twin/1")
    assert err.startswith("Following; the record is in")
    slurm.advance(3600)
    cpsched(*arguments, "--forecasts", "0")
    code, out, _ = cpsched(*arguments, "--baseline", "fifo", "--report", "1")
    found = json.loads(out)
    assert (code, found["schema"]) == (0, "cpsched.results/1")
    assert [run["dispatcher"] for run in found["runs"]] == ["fifo", "easy"]
    told = Path(found["statement"]).read_text()
    assert "6 jobs, 6 of them started" in told
    assert "recorded: mean wait 1 s, longest 1 s" in told
    # One at a time writes it, and what went wrong before is gone when it is right.
    lock = open_lock(folder / "weeks" / "last-1-days" / ".lock")
    fcntl.flock(lock, fcntl.LOCK_EX)
    code, _, err = cpsched(*arguments, "--report", "1")
    assert (code, "another process is writing this statement" in err) == (2, True)
    os.close(lock)
    wrong = folder / "weeks" / "last-1-days.err"
    wrong.write_text("no space")
    assert cpsched(*arguments, "--baseline", "fifo", "--report", "1")[0] == 0
    assert not wrong.exists()


def test_a_folder_with_something_else_is_refused(tmp_path):
    """Nothing is written into it."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match="files that do not belong to a twin"):
        Record(tmp_path)
    other = tmp_path / "broken"
    other.mkdir()
    (other / "record.sqlite").write_text("no database, " * 100)
    with pytest.raises(RunError, match="is not the record of a twin"):
        Record(other)


def test_a_quiet_week_does_not_end_it(slurm, tmp_path):
    """It says so once."""
    said = []
    record = Record(tmp_path / "twin")
    slurm.now = monday(int(time.time())) - 7 * 86400
    submit(slurm, 1, held=True)
    twin = Twin(record=record, system="eurora", baseline="easy", dispatchers=["prb"],
                forecasts=0, say=said.append)  # fmt: skip
    for _ in range(2):
        twin.follow(slurm, lambda _: True)
    assert len(said) == 1
    assert "has started" in said[0]


def test_weeks_begin_on_monday():
    """2026-11-23 is a Monday, of week 48."""
    wednesday = 1795608000
    assert monday(wednesday) % 86400 == 0
    assert 0 <= wednesday - monday(wednesday) < 7 * 86400
    assert name_of(monday(wednesday)) == "2026-W48"
