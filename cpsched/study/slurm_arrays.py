"""``--executor slurm-arrays``: runs of a study as tasks of Slurm job arrays, through submitit."""

from __future__ import annotations

import logging
import subprocess
import time
from itertools import count
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, check_least
from cpsched.study.worker import RunOutcome
from cpsched.util.quantities import minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from cpsched.study.run_spec import RunSpec

#: Where a task's output lies.
_FOLDER = ".work/arrays"
#: Seconds between looks at what has ended; submitit asks Slurm at most every half minute.
_POLL = 1.0
#: Looks between questions to squeue.
_SELDOM = 30


class SlurmArrays:
    """
    Runs as tasks of job arrays; the study's folder must be on a file system that all nodes share.

    Parameters
    ----------
    partition, account
        Of the jobs; empty: the cluster's default.
    time
        Limit of each run: ``4h``, or minutes.
    mem
        GB of each.
    at_once
        Most runs at the same time.
    cluster
        ``slurm``; ``local`` for processes of this machine, as submitit starts them.
    """

    name = "slurm-arrays"
    attempts = 2

    def __init__(
        self,
        partition: str = "",
        account: str = "",
        time: str = "60",
        mem: int = 4,
        at_once: int = 256,
        cluster: str = "slurm",
    ) -> None:
        check_least("mem", mem, 1)
        check_least("at_once", at_once, 1)
        self.cluster = cluster
        self._parameters = {
            "timeout_min": -(-minutes(time) // 60),
            "mem_gb": mem,
            "cpus_per_task": 1,
        }
        named = {"partition": partition, "account": account}
        self._slurm = {f"slurm_{key}": value for key, value in named.items() if value}
        self._at_once = at_once
        self._missed: list[Any] = []

    def run(
        self, tasks: Sequence[RunSpec], carry: Callable[[RunSpec], RunOutcome], folder: Path
    ) -> Iterator[RunOutcome]:
        """
        Submit runs, and yield the outcome of each as it ends; cancel the rest if that is stopped.

        Raises
        ------
        ConfigError
            If submitit or the cluster is not there.
        """
        executor = self._executor(folder / _FOLDER)
        try:
            waiting = dict(zip(executor.map_array(carry, tasks), tasks, strict=True))
        except Exception as error:
            # Of Slurm's tools, or of submitit; nothing was submitted.
            raise ConfigError(
                f"the jobs are not submitted: {' '.join(str(error).split())}", key="--executor"
            ) from error
        try:
            for poll in count(1):
                for job in [job for job in waiting if job.done()]:
                    yield _outcome(job, waiting.pop(job))
                if not waiting:
                    return
                if poll % _SELDOM == 0:
                    for job in self._gone(waiting):
                        reason = f"job {job.job_id} has left the queue without a result: see"
                        name = waiting.pop(job).name
                        yield RunOutcome(name=name, error=f"{reason} {folder / _FOLDER}")
                time.sleep(_POLL)
        finally:
            for job in waiting:
                job.cancel(check=False)

    def _gone(self, jobs: Iterable[Any]) -> list[Any]:
        """Return jobs that are not in Slurm's queue any more: without accounting nobody tells."""
        if self.cluster != "slurm":
            return []
        squeue = subprocess.run(
            ["squeue", "-h", "-r", "-o", "%F_%K"],  # noqa: S607
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if squeue.returncode:
            return []
        queued = set(squeue.stdout.split())
        # One that has just ended is seen at the next look.
        left = [job for job in jobs if job.job_id not in queued]
        gone, self._missed = [job for job in left if job in self._missed], left
        return gone

    def _executor(self, folder: Path) -> Any:
        """Return submitit's executor."""
        try:
            import submitit
        except ImportError as error:
            raise ConfigError(
                "needs submitit: pip install 'cpsched[arrays]'", key="--executor"
            ) from error
        # Where there is no accounting, what has ended is seen by its files, and nobody is warned.
        logging.getLogger("submitit").setLevel(logging.ERROR)
        try:
            executor = submitit.AutoExecutor(folder=str(folder), cluster=self.cluster)
            executor.update_parameters(name="cpsched", **self._parameters)
            if self.cluster == "slurm":
                executor.update_parameters(slurm_array_parallelism=self._at_once, **self._slurm)
        except Exception as error:
            reason = " ".join(str(error).split())
            if 'Could not detect "srun"' in reason:
                reason = "slurm-arrays: 'srun' is missing in PATH. Run on a Slurm client host."
            raise ConfigError(reason, key="--executor") from error
        return executor


def _outcome(job: Any, task: RunSpec) -> RunOutcome:
    """Return the outcome of a run, or that its job was killed."""
    try:
        done: RunOutcome = job.result()
        return done
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        state = getattr(job, "state", "")
        reason = lines[0] if lines else type(error).__name__
        return RunOutcome(name=task.name, error=f"job {job.job_id} ({state}): {reason}")
