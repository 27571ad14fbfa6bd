"""
Commands that change a cluster; it must be a private Slurm that was started here.

Every function takes a :class:`~cpsched.slurm.sandbox.private.PrivateSlurm` and has it check before
each command that the controller that answers is its own. Its slurm.conf names no accounting, so
that no option of ``sbatch`` reaches another cluster (``--clusters`` needs slurmdbd).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.slurm.live.mirror import JobStart
    from cpsched.slurm.live.snapshot import LiveJob
    from cpsched.slurm.sandbox.private import PrivateSlurm
    from cpsched.slurm.sandbox.stream import SandboxJob

#: Numbers of jobs and names of nodes; nothing else goes into a command.
_KEY = re.compile(r"[0-9]+(_[0-9]+)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def submit(slurm: PrivateSlurm, job: SandboxJob) -> str:
    """
    Submit a job that is held; return its number.

    Raises
    ------
    ConfigError
        If Slurm refuses it, or another cluster answers.
    """
    slurm.check_identity()
    fixed = ("--parsable", "--hold", "--export=NIL", "--output=/dev/null", "--chdir=/tmp")
    try:
        return slurm.run("sbatch", *fixed, *job.options).strip()
    except RuntimeError as error:
        raise ConfigError(f"{job.source or 'job'}: {' '.join(str(error).split())}") from None


def begin(slurm: PrivateSlurm, starts: Sequence[JobStart]) -> dict[str, str]:
    """
    Bind held jobs to nodes and release them; return why Slurm refuses, by job.

    A job that cannot be bound stays held: released, it would start on any nodes.
    """
    bound = {job: _update(job, nodes, len(nodes), len(nodes)) for job, nodes in starts}
    refused = _each(slurm, bound)
    return refused | _each(slurm, {job: f"release {job}" for job in bound if job not in refused})


def withdraw(slurm: PrivateSlurm, job: LiveJob) -> bool:
    """Hold a job again, with the request that it had; return whether Slurm does."""
    own = _update(job.key, job.required, job.nodes_min, job.nodes_max)
    return not _complaint(slurm, f"uhold {_checked(_KEY, job.key)}\n{own}")


def cancel(slurm: PrivateSlurm, job: str) -> None:
    """Cancel a job."""
    slurm.check_identity()
    slurm.run("scancel", "--quiet", _checked(_KEY, job), check=False)


def _each(slurm: PrivateSlurm, commands: Mapping[str, str]) -> dict[str, str]:
    """Send commands at once; after a complaint one by one, to find the jobs."""
    if not commands or not _complaint(slurm, "\n".join(commands.values())):
        return {}
    complaints = {job: _complaint(slurm, command) for job, command in commands.items()}
    return {job: complaint for job, complaint in complaints.items() if complaint}


def _complaint(slurm: PrivateSlurm, commands: str) -> str:
    """Send commands to scontrol; return its complaints."""
    slurm.check_identity()
    return slurm.complaint("scontrol", given=f"{commands}\nquit\n")


def _update(job: str, required: Sequence[str], nodes_min: int, nodes_max: int) -> str:
    """Return the command that gives a job required nodes and bounds on their number."""
    nodes = ",".join(_checked(_NAME, name) for name in required)
    return (
        f"update JobId={_checked(_KEY, job)} ReqNodeList={nodes} NumNodes={nodes_min}-{nodes_max}"
    )


def _checked(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ConfigError(f"{text!r} is neither the id of a job nor the name of a node")
    return text
