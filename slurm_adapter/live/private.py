"""
A private Slurm on one machine: controller, a slurmd per node, and slurmdbd if a site has accounts.

Everything is below one folder, listens on the loopback address only, and runs as its starting user;
root is needed only for jobs of several users. What makes the cluster private (ports, paths,
authentication) is added to the site's own slurm.conf here. Nodes are emulated: they have as many
cores and GPUs as the site says, whatever the machine has.
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
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError
from cpsched.api.machines import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurm_adapter.live.site import Site

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
MessageTimeout={message_timeout}
TCPTimeout={tcp_timeout}
"""
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd_port}
AccountingStoreFlags=job_comment
"""
NO_ACCOUNTING = """\
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.txt
"""
DATABASE = """\
AuthType=auth/none
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={dbd_port}
SlurmUser={user}
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql_port}
StorageUser=slurm
StoragePass=private
StorageLoc=slurm
"""
#: Seconds that daemons wait for each other. Under a faster clock these pass many times faster, too.
TIMEOUTS = {"message_timeout": 10, "tcp_timeout": 2}
FASTER = {"message_timeout": 1200, "tcp_timeout": 300}
#: How long a daemon may take to answer, in seconds of this process's clock.
PATIENCE = 1800
#: How long jobs and daemons may take to end before they are killed.
LAST_WORDS = 60
_LOOK_AGAIN = 0.05
#: What a job's socket in the spool folder of a node is called behind the node's name, at its
#: longest; and how long a socket's path may be (unix(7)).
_STEP, _LONGEST_SOCKET = "_999999.4294967291", 107
#: Debian's packages by the command that each is needed for.
PACKAGES = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "squeue": "slurm-client",
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server",
    "faketime": "faketime",
}


def missing(*, database: bool = False) -> str | None:
    """Return what has to be installed before a private Slurm can start, or None."""
    wanted = ["slurmctld", "slurmd", "squeue"]
    wanted += ["slurmdbd", "mariadbd"] if database else []
    packages = [PACKAGES[name] for name in wanted if _command(name) is None]
    if not packages:
        return None
    listed = " ".join(packages)
    return f"needs Slurm: apt-get install --no-install-recommends {listed}"


def _command(name: str) -> str | None:
    """Return the path of a command; daemons are not on everybody's PATH."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


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
    nodes: list[str] = field(default_factory=list)
    _daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _sql_port: int = 0

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

    def run(self, *command: str, check: bool = True, given: str | None = None) -> str:
        """Return what one of Slurm's commands prints, with ``given`` on its standard input."""
        done = subprocess.run(  # noqa: S603 - a list of arguments, without a shell
            command, env=self.environment, capture_output=True, text=True, input=given, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def start(self) -> None:
        """Write the files, start the daemons, and wait until all nodes are idle."""
        lacking = missing(database=self.site.accounts is not None)
        if lacking is not None:
            raise ConfigError(lacking)
        self.nodes = self._write()
        spool = self.folder / "spool"
        longest = max(len(str(spool / node / f"{node}{_STEP}")) for node in self.nodes)
        if longest > _LONGEST_SOCKET:
            raise ConfigError(
                f"is {longest - _LONGEST_SOCKET} characters too long for Slurm's sockets",
                where=self.folder,
            )
        if self.site.accounts is not None:
            self._start_accounting(self.site.accounts)
        self.start_controller()
        for node in self.nodes:
            (self.folder / "spool" / node).mkdir()
            self._daemon("slurmd", "-D", "-N", node)
        states = ("sinfo", "-h", "-o", "%T")
        self._wait("slurmd", lambda: set(self.run(*states).split()) == {"idle"})
        for words in _lines(self.site.limits):
            self.run("sacctmgr", "-i", *words)
        for words in _lines(self.site.reservations):
            self.run("scontrol", "create", "reservation", *words)

    def start_controller(self) -> None:
        """Start slurmctld, for the first time or after :meth:`stop_controller`."""
        self._daemon("slurmctld", "-D")
        self._wait("slurmctld", self._is_up)

    def stop_controller(self, *, kill: bool = False) -> None:
        """
        Stop slurmctld; what runs goes on.

        Parameters
        ----------
        kill
            Whether it has no time to save what it knows: of the last seconds it has not.
        """
        for daemon in self._named("slurmctld"):
            daemon.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            daemon.wait()
            self._daemons.remove(daemon)

    def stop(self) -> None:
        """End all jobs and, last started first, the daemons; nothing else."""
        with _undisturbed():
            if self._named("slurmctld") and self._is_up():
                self.clear()
            for sign in (signal.SIGTERM, signal.SIGKILL):
                for daemon in reversed(self._daemons):
                    if daemon.poll() is None:
                        daemon.send_signal(sign)
                        # The database goes last: the others write to it as they end.
                        if _name(daemon) in ("mariadbd", "slurmdbd", "slurmctld"):
                            _ended(daemon)
                for daemon in self._daemons:
                    _ended(daemon)
            self._kill_orphans()
            self._daemons.clear()

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

    def _named(self, name: str) -> list[subprocess.Popen[bytes]]:
        return [daemon for daemon in self._daemons if _name(daemon) == name]

    def _write(self) -> list[str]:
        """Write slurm.conf and gres.conf; return the names of the nodes."""
        for name in ("state", "spool", "log", "run", "dev"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for folder in (self.folder, self.folder.parent):
            with suppress(PermissionError):
                folder.chmod(0o755)
        host = socket.gethostname().split(".")[0]
        port, sql_port, dbd_port = (_free_ports(1) for _ in range(3))
        values = {
            "host": host, "port": port, "sql_port": sql_port, "dbd_port": dbd_port,
            "user": getpass.getuser(), "folder": self.folder,
            **(FASTER if "FAKETIME" in os.environ else TIMEOUTS),
        }  # fmt: skip
        lines = self.site.conf.splitlines()
        defined = [re.match(r"NodeName=(\S+)", line) for line in lines]
        names = [expand(found[1], 100_000) if found else [] for found in defined]
        first = _free_ports(sum(map(len, names)))
        for at, own in enumerate(names):
            if own:
                last = first + len(own) - 1
                lines[at] += f" NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}]"
                first = last + 1
        accounting = NO_ACCOUNTING if self.site.accounts is None else ACCOUNTING
        private = (PRIVATE + accounting).format(**values)
        self.conf.write_text(private + "\n".join(lines) + "\n")
        if self.site.accounts is not None:
            dbd = self.folder / "slurmdbd.conf"
            dbd.write_text(DATABASE.format(**values))
            dbd.chmod(0o600)
        self._write_gres()
        if self.site.job_submit is not None:
            (self.folder / "job_submit.lua").write_text(self.site.job_submit)
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self._sql_port = sql_port
        return [name for own in names for name in own]

    def _write_gres(self) -> None:
        """Write gres.conf with files that exist: a GPU without a file counts for nothing."""
        text = self.site.gres
        for name, first, last in re.findall(r"File=/dev/([\w-]*?)\[?(\d+)(?:-(\d+)\])?", text):
            for number in range(int(first), int(last or first) + 1):
                (self.folder / "dev" / f"{name}{number}").touch()
        (self.folder / "gres.conf").write_text(text.replace("/dev/", f"{self.folder}/dev/"))

    def _start_accounting(self, accounts: str) -> None:
        self._database()
        self._daemon("slurmdbd", "-D")
        added = ("sacctmgr", "-i", "add", "cluster", "private")
        self._wait("slurmdbd", lambda: "Adding Cluster" in self.run(*added))
        for words in _lines(accounts):
            self.run("sacctmgr", "-i", *words)

    def _database(self) -> None:
        data, socket_file = self.folder / "mysql", self.folder / "run" / "mysql.sock"
        data.mkdir(exist_ok=True)
        user = f"--user={getpass.getuser()}"
        self.run(
            "mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
            "--auth-root-authentication-method=normal", user,
        )  # fmt: skip
        self._daemon(
            "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket_file}",
            f"--port={self._sql_port}", "--bind-address=127.0.0.1", user,
            "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
            "--innodb-flush-log-at-trx-commit=2",
        )  # fmt: skip
        client = ("mariadb", "--no-defaults", "-u", "root", "-S", str(socket_file), "-e")
        self._wait("mariadbd", lambda: "1" in self.run(*client, "select 1", check=False))
        self.run(*client, "create database slurm; grant all on slurm.* to 'slurm'@'%' "
                 "identified by 'private'")  # fmt: skip

    def _daemon(self, name: str, *arguments: str) -> None:
        """Start a daemon under exactly its name: slurmd drops GRES under any other."""
        with (self.folder / "log" / f"{name}.out").open("ab") as log:
            daemon = subprocess.Popen(  # noqa: S603 - a list of arguments, without a shell
                [name, *arguments], executable=_command(name), env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._daemons.append(daemon)

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ended = [_name(daemon) for daemon in self._daemons if daemon.poll() is not None]
            if ended:
                raise RuntimeError(f"ended: {', '.join(ended)}; see {self.folder}/log")
            with suppress(RuntimeError):
                if ready():
                    return
            time.sleep(_LOOK_AGAIN)
        raise RuntimeError(f"{name} is not ready; see {self.folder}/log")


def _lines(text: str) -> Iterator[list[str]]:
    """Yield the words of each line that is not a comment."""
    yield from (one.split() for one in text.splitlines() if one and not one.startswith("#"))


def _name(daemon: subprocess.Popen[bytes]) -> str:
    arguments = daemon.args
    assert isinstance(arguments, list)
    return str(arguments[0])


def _ended(daemon: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        daemon.wait(LAST_WORDS)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep Ctrl-C from stopping halfway; only the main thread hears it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _free_ports(count: int) -> int:
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
