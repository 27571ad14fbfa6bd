"""A real scheduler and two real workers on loopback."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import small_studies
from small_studies import tables, until

from cpsched.errors import ConfigError
from cpsched.study import carry_out, load_study

pytest.importorskip("distributed", reason="dask.distributed is not installed (cpsched[dask])")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("dask"),
    # Of Dask itself, when a worker has gone.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

#: Dask's usual patience with a worker that is gone is half a minute.
CONFIGURATION = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "3",
    # Workers import what this file imports.
    "PYTHONPATH": str(Path(small_studies.__file__).parent),
}


def _start(module, *arguments, cwd):
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
        cwd=cwd,
        env={**os.environ, **CONFIGURATION},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A scheduler, without workers."""
    folder = tmp_path_factory.mktemp("scheduler")
    file = folder / "scheduler.json"
    process = _start(
        "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", str(file), cwd=folder,
    )  # fmt: skip
    try:
        until(lambda: file.is_file() and file.stat().st_size > 0)
        yield json.loads(file.read_text())["address"]
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def workers(address, tmp_path_factory):
    """Two worker processes of one thread each."""
    import distributed

    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
    started = [
        _start("dask_worker", address, *options, cwd=tmp_path_factory.mktemp("worker"))
        for _ in range(2)
    ]
    try:
        with distributed.Client(address, timeout=10, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=30)
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


class KillOnce:
    """Has the second run that begins kill its worker, in the middle of the simulation."""

    def __call__(self, display, task, epoch):
        from cpsched.simulation.observers import Observer

        campaign = display._path.parent.parent.parent

        class InTheMiddle(Observer):
            def on_end(self, job, outcome, now):
                if job == 20 and any((campaign / "runs").iterdir()):
                    try:
                        (campaign / "killed").mkdir()
                    except FileExistsError:
                        return
                    os.kill(os.getpid(), signal.SIGKILL)

        return (InTheMiddle(),)


def test_a_scheduler_that_does_not_answer(place, study, monkeypatch):
    """Or has no worker: one line."""
    monkeypatch.setattr("cpsched.study.executor._PATIENCE", 1)
    with pytest.raises(ConfigError, match="no Dask scheduler answers at tcp://127.0.0.1:1"):
        carry_out(study, place / "out", scheduler="tcp://127.0.0.1:1")


def test_a_scheduler_without_workers(address, place, monkeypatch):
    """One line that says how to start some. (The first test here: nobody has started any.)"""
    monkeypatch.setattr("cpsched.study.executor._PATIENCE", 1)
    with pytest.raises(ConfigError, match="has no worker; start some with: dask worker"):
        carry_out(load_study(place / "study.toml"), place / "out", scheduler=address)


def test_a_worker_killed_in_the_middle_costs_nothing(address, workers, place, study):
    """Its runs go to the other one, and the tables are those of one process."""
    study = replace(study, seeds=(1, 2))
    carry_out(study, place / "here")
    outcome = carry_out(study, place / "there", scheduler=address, watch=KillOnce())
    assert [process.poll() for process in workers].count(-signal.SIGKILL) == 1
    assert outcome.failed == ()
    assert tables(place / "here") == tables(place / "there")


def test_workers_need_to_see_the_folder(address, workers, place, study, monkeypatch):
    monkeypatch.setattr("cpsched.study.executor._unreadable", lambda paths: paths[:1])
    with pytest.raises(ConfigError, match=r"does not see .*/there/\.work/"):
        carry_out(study, place / "there", scheduler=address)
