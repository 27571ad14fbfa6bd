"""
A private Slurm on one machine: controller, a slurmd per node, slurmdbd and MariaDB.

Everything is below one folder, listens on the loopback address only, and runs as the user who
starts it; root is needed only for jobs of several users. A site is a folder with ``slurm.conf``
(what a site decides: nodes, partitions, priorities, scheduling), ``gres.conf`` and
``accounts.txt`` (lines for sacctmgr). What makes the cluster private (ports, paths,
authentication) is added here.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpsched.systems.hostlist import expand

if TYPE_CHECKING:
    from pathlib import Path

#: Clocks of the daemons may run many times faster than the machine's: patience is measured on them.
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
MessageTimeout=1200
TCPTimeout=300
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd_port}
AccountingStoreFlags=job_comment
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
#: How long a daemon may take to answer, in seconds of this process's clock.
PATIENCE = 1800


@dataclass(slots=True)
class Cluster:
    """
    A Slurm that is started and stopped.

    Attributes
    ----------
    folder
        Where all its files are; made here.
    site
        The folder of ``slurm.conf``, ``gres.conf`` and ``accounts.txt``.
    """

    folder: Path
    site: Path
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _sql_port: int = 0

    def __enter__(self) -> Cluster:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """Environment of Slurm's commands."""
        times = {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
        return os.environ | times | {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *command: str, check: bool = True) -> str:
        """Return what one of Slurm's commands prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def start(self) -> None:
        """Write the files, start the database and the daemons, and wait until all nodes idle."""
        nodes = self._write()
        self._database()
        self._daemon("slurmdbd", "-D")
        added = ("sacctmgr", "-i", "add", "cluster", "private")
        self._wait("slurmdbd", lambda: "Adding Cluster" in self.run(*added))
        for line in self._lines("accounts.txt"):
            self.run("sacctmgr", "-i", *line)
        self._daemon("slurmctld", "-D")
        self._wait("slurmctld", lambda: "UP" in self.run("scontrol", "ping", check=False))
        for node in nodes:
            (self.folder / "spool" / node).mkdir()
            self._daemon("slurmd", "-D", "-N", node)
        states = ("sinfo", "-h", "-o", "%T")
        self._wait("slurmd", lambda: set(self.run(*states).split()) == {"idle"})
        for line in self._lines("gpu-limits.txt"):
            self.run("sacctmgr", "-i", *line)
        for line in self._lines("reservations.txt"):
            self.run("scontrol", "create", "reservation", *line)

    def _lines(self, name: str) -> list[list[str]]:
        """Return the words of each line of a file of the site, but for comments."""
        path = self.site / name
        text = path.read_text() if path.exists() else ""
        return [one.split() for one in text.splitlines() if one and not one.startswith("#")]

    def stop(self) -> None:
        """End all jobs and, last started first, the daemons."""
        conf = self.folder / "slurm.conf"
        if conf.exists() and "UP" in self.run("scontrol", "ping", check=False):
            for job in self.run("squeue", "-h", "-o", "%A").split():
                self.run("scancel", "--quiet", job, check=False)
            end = time.time() + PATIENCE
            while self.run("squeue", "-h", check=False).strip() and time.time() < end:
                time.sleep(1)
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for daemon in reversed(self.daemons):
                if daemon.poll() is None:
                    daemon.send_signal(sign)
                    # The database goes last: the others write to it as they end.
                    if daemon.args[0] in ("mariadbd", "slurmdbd", "slurmctld"):  # type: ignore[index]
                        _ended(daemon)
            for daemon in self.daemons:
                _ended(daemon)
        left = [daemon.pid for daemon in self.daemons if daemon.poll() is None]
        if left:
            raise RuntimeError(f"processes that would not end: {left}")

    def _write(self) -> list[str]:
        """Write slurm.conf and gres.conf; return the names of the nodes."""
        for name in ("state", "spool", "log", "run", "dev", "mysql"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for folder in (self.folder, self.folder.parent):
            folder.chmod(0o755)
        port, sql_port, dbd_port = (_free_port() for _ in range(3))
        host = socket.gethostname().split(".")[0]
        values = {
            "host": host, "port": port, "sql_port": sql_port, "dbd_port": dbd_port,
            "user": _user(), "folder": self.folder,
        }  # fmt: skip
        nodes: list[str] = []
        first = _free_ports(2048)
        lines = []
        for line in (self.site / "slurm.conf").read_text().splitlines():
            if found := re.match(r"NodeName=(\S+)", line):
                names = expand(found[1], 100_000)
                ports = f"[{first + len(nodes)}-{first + len(nodes) + len(names) - 1}]"
                nodes += names
                line += f" NodeHostname={host} NodeAddr=127.0.0.1 Port={ports}"
            lines.append(line)
        conf = PRIVATE.format(**values) + "\n".join(lines) + "\n"
        (self.folder / "slurm.conf").write_text(conf)
        dbd = self.folder / "slurmdbd.conf"
        dbd.write_text(DATABASE.format(**values))
        dbd.chmod(0o600)
        self._write_gres()
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self._sql_port = sql_port
        return nodes

    def _write_gres(self) -> None:
        """Write gres.conf with files that exist: a GPU without a file counts for nothing."""
        text = (self.site / "gres.conf").read_text()
        for first, last in re.findall(r"File=/dev/nvidia\[(\d+)-(\d+)\]", text):
            for number in range(int(first), int(last) + 1):
                (self.folder / "dev" / f"nvidia{number}").touch()
        (self.folder / "gres.conf").write_text(text.replace("/dev/", f"{self.folder}/dev/"))

    def _database(self) -> None:
        data, socket_file = self.folder / "mysql", self.folder / "run" / "mysql.sock"
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal", f"--user={_user()}"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._daemon(
            "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket_file}",
            f"--port={self._sql_port}", "--bind-address=127.0.0.1", f"--user={_user()}",
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
            daemon = subprocess.Popen(
                [name, *arguments], env=self.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        self.daemons.append(daemon)

    def _wait(self, name: str, ready: object) -> None:
        end = time.time() + PATIENCE
        while time.time() < end:
            ended = [d.args for d in self.daemons if d.poll() is not None]
            if ended:
                raise RuntimeError(f"ended: {ended}; see {self.folder}/log")
            try:
                if ready():  # type: ignore[operator]
                    return
            except RuntimeError:
                pass
            time.sleep(1)
        raise RuntimeError(f"{name} is not ready; see {self.folder}/log")


def _ended(daemon: subprocess.Popen[bytes]) -> None:
    try:
        daemon.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return


def _user() -> str:
    import getpass

    return getpass.getuser()


def _free_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _free_ports(count: int) -> int:
    """Return the first of so many ports in a row; those between are hardly ever in use."""
    for first in range(20000, 32000, count):
        with closing(socket.socket()) as taken:
            try:
                taken.bind(("127.0.0.1", first))
            except OSError:
                continue
            return first
    raise RuntimeError("no free ports")
