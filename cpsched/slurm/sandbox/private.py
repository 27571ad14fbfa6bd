"""
A private Slurm on one machine: a controller, and a slurmd for each node.

Everything is below one folder, listens on the loopback address only, and runs as its starting user.
The settings that make the cluster private (name, ports, paths, authentication) are added here to
the site's own slurm.conf. Nodes are emulated: they have as many cores and GPUs as the site says,
whatever the machine has.
"""

from __future__ import annotations

import getpass
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.slurm.live.scontrol import run_command
from cpsched.util.node_lists import expand

if TYPE_CHECKING:
    from collections.abc import Callable

PRIVATE = """\
ClusterName={name}
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
_PATIENCE = 300
#: How long jobs and daemons may take to end before they are killed, and between polls, seconds.
_END_PATIENCE = 60
_POLL_INTERVAL = 0.05
_OF_SLURM = re.compile(r"(SLURM|SBATCH|SQUEUE|SCANCEL|SINFO)_")
#: What a job's socket in the spool folder of a node is called behind the node's name, at its
#: longest; and how long a socket's path may be (unix(7)).
_STEP, _LONGEST_SOCKET = "_999999.4294967291", 107
#: Debian's packages by the command that each is needed for.
PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "squeue": "slurm-client"}


def missing() -> str | None:
    """Return the packages that a private Slurm still needs, in a sentence, or None."""
    packages = [package for name, package in PACKAGES.items() if _command(name) is None]
    if not packages:
        return None
    return f"needs Slurm: apt-get install --no-install-recommends {' '.join(packages)}"


def _command(name: str) -> str | None:
    """Return the path of a command; daemons are not on everybody's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmFiles:
    """
    A site's configuration: nodes, partitions, priorities, scheduling.

    Attributes
    ----------
    conf, gres
        Texts of slurm.conf, without what makes a cluster private, and of gres.conf.
    """

    conf: str
    gres: str = ""


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
    name
        Its ClusterName; by default one that no other cluster has.
    nodes
        The names of its nodes.
    port
        Of its controller; 0 before it starts.

    Raises
    ------
    ConfigError
        When it starts, if Slurm is not installed; says what to install.
    RuntimeError
        If a daemon does not start.
    """

    folder: Path
    site: SlurmFiles
    more: str = NO_ACCOUNTING
    patience: float = _PATIENCE
    name: str = field(default_factory=lambda: f"sandbox{secrets.token_hex(6)}")
    nodes: list[str] = field(default_factory=list)
    port: int = 0
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
        # Of the variables of Slurm, some name another cluster.
        own = {key: value for key, value in os.environ.items() if not _OF_SLURM.match(key)}
        times = {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
        return own | times | {"SLURM_CONF": str(self.conf)}

    def run(self, *command: str, check: bool = True) -> str:
        """
        Return what one of Slurm's commands prints.

        Raises
        ------
        RuntimeError
            If it fails.
        """
        done = run_command(command, self.environment)
        if check and done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def complaint(self, *command: str, given: str) -> str:
        """Give one of Slurm's commands its input; return its complaints if it fails, or ''."""
        done = run_command(command, self.environment, given=given)
        # Warnings come with success.
        return " ".join(done.stderr.split()) if done.returncode else ""

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
                f"is {longest - _LONGEST_SOCKET} characters too long for Slurm's sockets. Choose a"
                " shorter path.",
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
        """Start slurmctld."""
        self.daemon("slurmctld", "-D")
        self.wait("slurmctld", self._is_up)

    def check_identity(self) -> None:
        """
        Check that the controller that answers is the one that was started here.

        Raises
        ------
        ConfigError
            If none was started, or if another one answers.
        """
        started = self._daemons.get("slurmctld", [])
        if not any(daemon.poll() is None for daemon in started):
            raise ConfigError(
                "slurmctld of this sandbox has ended. Start the sandbox again.", where=self.folder
            )
        lines = self.run("scontrol", "show", "config").splitlines()
        parts = [line.partition("=") for line in lines]
        shown = {name.strip(): value.strip() for name, _, value in parts}
        own = {
            "ClusterName": self.name,
            "SLURM_CONF": str(self.conf),
            "SlurmctldPort": str(self.port),
            "SlurmctldHost[0]": f"{_host()}(127.0.0.1)",
        }
        for key, value in own.items():
            if shown.get(key) != value:
                raise ConfigError(
                    f"another cluster answers: {key} is {shown.get(key)}, must be {value}",
                    where=self.folder,
                )

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
        end = time.monotonic() + _END_PATIENCE
        while self.run(*queue, check=False).strip() and time.monotonic() < end:
            time.sleep(_POLL_INTERVAL)

    def _kill_orphans(self) -> None:
        """Kill what daemons that were killed have left: jobs know which slurm.conf is theirs."""
        end = time.monotonic() + _END_PATIENCE
        while (orphans := self._orphans()) and time.monotonic() < end:
            for process in orphans:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(_POLL_INTERVAL)

    def _orphans(self) -> list[int]:
        own = f"SLURM_CONF={self.conf}".encode()
        orphans = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                known = (process / "environ").read_bytes()
                name = (process / "comm").read_text().strip()
                if own in known.split(b"\0") and (
                    name == "slurmstepd" or b"SLURM_JOB_ID=" in known
                ):
                    orphans.append(int(process.name))
        return orphans

    def _write(self) -> None:
        """Write slurm.conf and what belongs to it; find the names of the nodes."""
        for name in ("state", "spool", "log", "run", "dev"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        host = _host()
        lines = self.site.conf.splitlines()
        defined = [re.match(r"NodeName=(\S+)", line) for line in lines]
        names = [expand(match[1], 100_000) if match else [] for match in defined]
        self.nodes = [name for own in names for name in own]
        last = self.port = free_ports(1 + len(self.nodes))
        for at, own in enumerate(names):
            if own:
                first, last = last + 1, last + len(own)
                lines[at] += f" NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}]"
        private = (PRIVATE + self.more).format(
            name=self.name, host=host, port=self.port, user=getpass.getuser(), folder=self.folder
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
                    raise RuntimeError(f"ended: {other}. See {self.folder}/log")
            with suppress(RuntimeError):
                if ready():
                    return
            time.sleep(_POLL_INTERVAL)
        raise RuntimeError(f"{name} is not ready. See {self.folder}/log")


def _host() -> str:
    return socket.gethostname().split(".")[0]


def _ended(daemon: subprocess.Popen[bytes]) -> None:
    """Wait until a daemon that was told to end has ended; kill it if it takes too long."""
    with suppress(subprocess.TimeoutExpired):
        daemon.wait(_END_PATIENCE)
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
    raise RuntimeError(f"this machine has no {count} consecutive free ports")
