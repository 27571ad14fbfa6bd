"""Runs of a study elsewhere than in processes of this machine."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from small_studies import FATAL, run_files, swf, until

from cpsched.study.slurm_arrays import SlurmArrays

pytestmark = pytest.mark.slow


@pytest.fixture
def study(tmp_path, monkeypatch, cpsched):
    """Run ``cpsched compare`` on a small log, with further words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text(swf(40))
    return lambda *words: cpsched(
        "compare", "log.swf", "--system", "kth-sp2", "-d", "fifo", "-d", "easy", *words
    )


def test_runs_of_processes_of_this_machine_are_the_same(study, tmp_path):
    assert study("--out", "here")[0] == 0
    code, _, err = study("--out", "there", "--executor", "slurm-arrays:cluster=local")
    assert (code, err) == (0, "")
    assert run_files(tmp_path / "there") == run_files(tmp_path / "here")
    assert not list((tmp_path / "there").glob(".work/*-*"))


def test_only_what_failed_runs_again(study, tmp_path, monkeypatch):
    (tmp_path / "breaks.py").write_text(
        "from pathlib import Path\n"
        "from cpsched import Decision, Dispatcher\n"
        "class Breaks(Dispatcher):\n"
        "    name = 'breaks'\n"
        "    def decide(self, view):\n"
        f"        if not Path({str(tmp_path / 'mended')!r}).exists():\n"
        "            raise ValueError('not yet')\n"
        "        from cpsched import make_allocator, start_by\n"
        "        allocator = make_allocator('first-fit')\n"
        "        allocator.reset(view.system)\n"
        "        return start_by(view, view.waiting.rows * 0, allocator)\n".replace(
            "view.waiting.rows * 0", "list(range(len(view.waiting)))"
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    words = ("-d", "breaks:Breaks", "--out", "out", "--executor", "slurm-arrays:cluster=local")
    code, _, err = study(*words)
    assert code == 1
    assert "not yet" in err
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").iterdir()}
    assert len(made) == 2
    (tmp_path / "mended").touch()
    assert study(*words)[0] == 0
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 3
    assert {path: path.stat().st_mtime_ns for path in made} == made


@pytest.fixture
def in_slurm(private_slurm, monkeypatch):
    """Have commands find a private Slurm."""
    for name, value in private_slurm.environment.items():
        monkeypatch.setenv(name, value)


ARRAYS = ("--out", "there", "--executor", "slurm-arrays:mem=1,time=5,at_once=2")


@pytest.mark.slurm_live
@pytest.mark.filterwarnings("ignore")  # submitit leaves a file open
def test_as_an_array_of_a_real_slurm(study, in_slurm, tmp_path):
    assert study("--out", "here")[0] == 0
    code, _, err = study(*ARRAYS)
    assert (code, err) == (0, "")
    assert run_files(tmp_path / "there") == run_files(tmp_path / "here")


@pytest.mark.slurm_live
@pytest.mark.filterwarnings("ignore")
def test_a_killed_task_of_an_array_runs_when_the_command_is_repeated(
    study, in_slurm, tmp_path, monkeypatch
):
    (tmp_path / "fatal.py").write_text(FATAL)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(tmp_path)
    fatal = ("-d", "fatal:Once")
    code, out, err = study(*fatal, *ARRAYS)
    assert code == 1
    assert out.startswith("3 runs: 2 simulated, 0 reused, 1 failed\n")
    assert err.startswith("error: log-kth-sp2-fatal-once-requested-s0-")
    assert err.count("\n") == 1
    assert study(*fatal, *ARRAYS)[1].startswith("3 runs: 1 simulated, 2 reused, 0 failed\n")
    assert study(*fatal, "--out", "here")[0] == 0
    assert run_files(tmp_path / "there") == run_files(tmp_path / "here")


@pytest.mark.slurm_live
@pytest.mark.filterwarnings("ignore")
def test_a_killed_command_continues_with_arrays(study, in_slurm, tmp_path):
    words = ("log.swf", "--system", "kth-sp2", "-d", "fifo", "-d", "easy", *ARRAYS)
    command = [sys.executable, "-m", "cpsched", "compare", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        until(lambda: list((tmp_path / "there").glob(".work/arrays/*")))
        killed.kill()
    assert study(*ARRAYS)[0] == 0
    assert study("--out", "here")[0] == 0
    assert run_files(tmp_path / "there") == run_files(tmp_path / "here")


def test_without_slurm_it_says_so(study, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = study("--out", "out", "--executor", "slurm-arrays")
    assert code == 2
    assert err.startswith("error: --executor: ")


def test_a_job_that_left_the_queue_without_a_result_has_failed(tmp_path, monkeypatch):
    """Where there is no accounting, submitit would wait for it for ever."""

    class Job:
        job_id = "7_0"

        def done(self):
            return False

    job = Job()
    backend = SlurmArrays()
    backend._executor = lambda folder: SimpleNamespace(map_array=lambda carry, tasks: [job])
    monkeypatch.setattr("cpsched.study.slurm_arrays._POLL", 0)
    monkeypatch.setattr(
        "cpsched.study.slurm_arrays.subprocess.run",
        lambda *_, **__: SimpleNamespace(returncode=0, stdout="8_0\n"),
    )
    [done] = backend.run([SimpleNamespace(name="a run")], lambda task: None, tmp_path)
    assert done.name == "a run"
    assert done.error.startswith("job 7_0 has left the queue without a result: see ")


def test_what_is_left_is_cancelled_when_it_is_stopped():
    class Job:
        cancelled = False

        def done(self):
            return False

        def cancel(self, check):
            self.cancelled = True

    class Executor:
        def map_array(self, carry, tasks):
            return jobs

    jobs, backend = [Job(), Job()], SlurmArrays(cluster="local")
    backend._executor = lambda folder: Executor()
    from pathlib import Path

    from cpsched.study import slurm_arrays as module

    stopped = iter([None])

    class Clock:
        @staticmethod
        def sleep(seconds):
            if next(stopped, True):
                raise KeyboardInterrupt

    module.time, real_time = Clock, module.time
    try:
        with pytest.raises(KeyboardInterrupt):
            list(backend.run([1, 2], lambda task: None, Path("/tmp")))
    finally:
        module.time = real_time
    assert all(job.cancelled for job in jobs)
