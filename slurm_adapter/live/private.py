"""
A private Slurm on one machine: a controller, and a slurmd for each node.

Everything is below one folder, listens on the loopback address only, and runs as its starting user.
What makes the cluster private (ports, paths, authentication) is added to the site's own slurm.conf
here. Nodes are emulated: they have as many cores and GPUs as the site says, whatever the machine
has.
"""

from __future__ import annotations

import getpass
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError
from cpsched.api.machines import expand

if TYPE_CHECKING:
    from collections.abc import Callable

PRIVATE = """\
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SlurmdParameters=config_overrides
CommunicationParameters=NoAddrCache,NoInAddrAny,NoCtldInAddrAny
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdTimeout=0
InactiveLimit=0
MinJobAge=3600
UnkillableStepTimeout=36000
"""
#: Without accounting, Slurm writes down where jobs ran and how they ended.
NO_ACCOUNTING = """\
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.txt
"""
#: How long a daemon may take to answer, seconds.
PATIENCE = 300
#: How long jobs and daemons may take to end before they are killed.
LAST_WORDS = 60
_LOOK_AGAIN = 0.05
#: What a job's socket in the spool folder of a node is called behind the node's name, at its
#: longest; and how long a socket's path may be (unix(7)).
_STEP, _LONGEST_SOCKET = "_999999.4294967291", 107
#: Debian's packages by the command that each is needed for.
PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "squeue": "slurm-client"}


def missing() -> str | None:
    """Return what has to be installed before a private Slurm can start, or None."""
    packages = [package for name, package in PACKAGES.items() if _command(name) is None]
    if not packages:
        return None
    return f"needs Slurm: apt-get install --no-install-recommends {' '.join(packages)}"


def _command(name: str) -> str | None:
    """Return the path of a command; daemons are not on everybody's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """
    A site's configuration: nodes, partitions, priorities, scheduling.

    Attributes
    ----------
    conf, gres
        Texts of slurm.conf, without what makes a cluster private, and of gres.conf.
    job_submit
        Text of job_submit.lua; None: there is none.
    """

    conf: str
    gres: str = ""
    job_submit: str | None = None


@dataclass(slots=True)
class PrivateSlurm:
    """
    A Slurm that is started and stopped; a context manager.

    Attributes
    ----------
    folder
        Where all its files are; made here.
    site
        What slurm.conf and its like say.
    more
        Further lines of slurm.conf, about the private cluster.
    patience
        How long a daemon may take to answer, seconds.
    nodes
        The names of its nodes.

    Raises
    ------
    ConfigError
        When it starts, if Slurm is not installed; says what to install.
    RuntimeError
        If a daemon does not start.
    """

    folder: Path
    site: Site
    more: str = NO_ACCOUNTING
    patience: float = PATIENCE
    nodes: list[str] = field(default_factory=list)
    _daemons: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    def __enter__(self) -> PrivateSlurm:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def conf(self) -> Path:
        """The slurm.conf that Slurm's commands need."""
        return self.folder / "slurm.conf"

    @property
    def environment(self) -> dict[str, str]:
        """Environment of Slurm's commands."""
        own = {"SLURM_CONF": str(self.conf)}
        return os.environ | {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"} | own

    def run(self, *command: str, check: bool = True) -> str:
        """Return what one of Slurm's commands prints."""
        done = subprocess.run(  # noqa: S603 - a list of arguments, without a shell
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def start(self) -> None:
        """Write the files, start the daemons, and wait until all nodes are idle."""
        self.prepare()
        self.start_controller()
        self.start_nodes()

    def prepare(self) -> None:
        """Check that Slurm is installed, and write the files."""
        lacking = missing()
        if lacking is not None:
            raise ConfigError(lacking)
        self._write()
        spool = self.folder / "spool"
        longest = max(len(str(spool / node / f"{node}{_STEP}")) for node in self.nodes)
        if longest > _LONGEST_SOCKET:
            raise ConfigError(
                f"is {longest - _LONGEST_SOCKET} characters too long for Slurm's sockets",
                where=self.folder,
            )

    def start_nodes(self) -> None:
        """Start a slurmd for each node, and wait until all nodes are idle."""
        for node in self.nodes:
            (self.folder / "spool" / node).mkdir()
            self.daemon("slurmd", "-D", "-N", node)
        states = ("sinfo", "-h", "-o", "%T")
        self.wait("slurmd", lambda: set(self.run(*states).split()) == {"idle"})

    def start_controller(self) -> None:
        """Start slurmctld, for the first time or after :meth:`stop_controller`."""
        self.daemon("slurmctld", "-D")
        self.wait("slurmctld", self._is_up)

    def stop_controller(self, *, kill: bool = False) -> None:
        """
        Stop slurmctld; what runs goes on.

        Parameters
        ----------
        kill
            Whether it has no time to save what it knows: of the last seconds it has not.
        """
        for daemon in self._daemons.pop("slurmctld"):
            daemon.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            _ended(daemon)

    def stop(self) -> None:
        """End all jobs and, last started first, the daemons; nothing else."""
        if "slurmctld" in self._daemons and self._is_up():
            self.clear()
        for daemons in reversed(self._daemons.values()):
            for daemon in daemons:
                daemon.terminate()
            for daemon in daemons:
                _ended(daemon)
        self._daemons.clear()
        self._kill_orphans()

    def _is_up(self) -> bool:
        return " is UP" in self.run("scontrol", "ping", check=False)

    def clear(self) -> None:
        """End all jobs, and wait until they are gone."""
        queue = ("squeue", "-h", "-a", "-o", "%A")
        jobs = self.run(*queue, check=False).split()
        for first in range(0, len(jobs), 200):
            self.run("scancel", "--quiet", *jobs[first : first + 200], check=False)
        end = time.monotonic() + LAST_WORDS
        while self.run(*queue, check=False).strip() and time.monotonic() < end:
            time.sleep(_LOOK_AGAIN)

    def _kill_orphans(self) -> None:
        """Kill what daemons that were killed have left: jobs know which slurm.conf is theirs."""
        end = time.monotonic() + LAST_WORDS
        while (orphans := self._orphans()) and time.monotonic() < end:
            for process in orphans:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(_LOOK_AGAIN)

    def _orphans(self) -> list[int]:
        own = f"SLURM_CONF={self.conf}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                known = (process / "environ").read_bytes()
                name = (process / "comm").read_text().strip()
                if own in known.split(b"\0") and (
                    name == "slurmstepd" or b"SLURM_JOB_ID=" in known
                ):
                    found.append(int(process.name))
        return found

    def _write(self) -> None:
        """Write slurm.conf and what belongs to it; find the names of the nodes."""
        for name in ("state", "spool", "log", "run", "dev"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        host = socket.gethostname().split(".")[0]
        lines = self.site.conf.splitlines()
        defined = [re.match(r"NodeName=(\S+)", line) for line in lines]
        names = [expand(found[1], 100_000) if found else [] for found in defined]
        self.nodes = [name for own in names for name in own]
        port = free_ports(1 + len(self.nodes))
        last = port
        for at, own in enumerate(names):
            if own:
                first, last = last + 1, last + len(own)
                lines[at] += f" NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}]"
        if self.site.job_submit is not None:
            lines.append("JobSubmitPlugins=lua")
            (self.folder / "job_submit.lua").write_text(self.site.job_submit)
        private = (PRIVATE + self.more).format(
            host=host, port=port, user=getpass.getuser(), folder=self.folder
        )
        self.conf.write_text(private + "\n".join(lines) + "\n")
        # A GPU without a file counts for nothing.
        files = r"File=/dev/([\w-]*?)\[?(\d+)(?:-(\d+)\])?"
        for name, first, last in re.findall(files, self.site.gres):
            for number in range(int(first), int(last or first) + 1):
                (self.folder / "dev" / f"{name}{number}").touch()
        gres = self.site.gres.replace("/dev/", f"{self.folder}/dev/")
        (self.folder / "gres.conf").write_text(gres)
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")

    def daemon(self, name: str, *arguments: str) -> None:
        """Start a daemon under exactly its name: slurmd drops GRES under any other."""
        with (self.folder / "log" / f"{name}.out").open("ab") as log:
            daemon = subprocess.Popen(  # noqa: S603 - a list of arguments, without a shell
                [name, *arguments], executable=_command(name), env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._daemons.setdefault(name, []).append(daemon)

    def wait(self, name: str, ready: Callable[[], bool]) -> None:
        """Wait until a daemon is ready, and all of them run."""
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            for other, daemons in self._daemons.items():
                if any(daemon.poll() is not None for daemon in daemons):
                    raise RuntimeError(f"ended: {other}; see {self.folder}/log")
            with suppress(RuntimeError):
                if ready():
                    return
            time.sleep(_LOOK_AGAIN)
        raise RuntimeError(f"{name} is not ready; see {self.folder}/log")


def _ended(daemon: subprocess.Popen[bytes]) -> None:
    """Wait until a daemon that was told to end has ended; kill it if it takes too long."""
    with suppress(subprocess.TimeoutExpired):
        daemon.wait(LAST_WORDS)
    daemon.kill()
    daemon.wait()


def free_ports(count: int) -> int:
    """Return the first of so many free ports in a row, below those that the kernel gives out."""
    chance = random.Random()  # noqa: S311 - not for secrets; several clusters start at once
    for _ in range(100):
        first = chance.randrange(10000, 32000 - count)
        with suppress(OSError):
            for port in range(first, first + count):
                with closing(socket.socket()) as taken:
                    taken.bind(("127.0.0.1", port))
            return first
    raise RuntimeError(f"no {count} free ports in a row")
