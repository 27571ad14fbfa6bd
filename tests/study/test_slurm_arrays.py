"""Runs of a study elsewhere than in processes of this machine."""

from types import SimpleNamespace

import pytest
from small_studies import swf

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


def jobs_of(folder):
    return {run.name: (run / "jobs.parquet").read_bytes() for run in (folder / "runs").iterdir()}


def test_runs_of_processes_of_this_machine_are_the_same(study, tmp_path):
    assert study("--out", "here")[0] == 0
    code, _, err = study("--out", "there", "--executor", "slurm-arrays:cluster=local")
    assert (code, err) == (0, "")
    assert jobs_of(tmp_path / "there") == jobs_of(tmp_path / "here")
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
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
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


@pytest.mark.slurm_live
@pytest.mark.filterwarnings("ignore")  # submitit leaves a file open
def test_as_an_array_of_a_real_slurm(study, private_slurm, tmp_path, monkeypatch):
    for name, value in private_slurm.environment.items():
        monkeypatch.setenv(name, value)
    assert study("--out", "here")[0] == 0
    code, _, err = study("--out", "there", "--executor", "slurm-arrays:mem=1,time=5,at_once=2")
    assert (code, err) == (0, "")
    assert jobs_of(tmp_path / "there") == jobs_of(tmp_path / "here")


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("nowhere", "no back-end is called 'nowhere'; there are: slurm-arrays"),
        ("slurm-arrays:mem=0", "mem is 0, must be 1 or more"),
        ("slurm-arrays:time=soon", "time"),
        ("slurm-arrays:nodes=2", "nodes: no such option"),
    ],
)
def test_bad_input_is_one_line(study, on, message):
    code, _, err = study("--out", "out", "--executor", on)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_without_slurm_it_says_so(study, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = study("--out", "out", "--executor", "slurm-arrays")
    assert code == 2
    assert err.startswith("cpsched: --executor: ")


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

    module.time, kept = Clock, module.time
    try:
        with pytest.raises(KeyboardInterrupt):
            list(backend.run([1, 2], lambda task: None, Path("/tmp")))
    finally:
        module.time = kept
    assert all(job.cancelled for job in jobs)
