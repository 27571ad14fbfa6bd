"""A private Slurm with accounting: slurmdbd, and a MariaDB for it; root where jobs have users."""

from __future__ import annotations

import getpass
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.slurm.sandbox.private import PrivateSlurm, SlurmFiles, free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd_port}
AccountingStoreFlags=job_comment
"""
#: Seconds that daemons wait for each other: under a faster clock these pass many times faster.
PATIENT = "MessageTimeout=1200\nTCPTimeout=300\n"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountedSite(SlurmFiles):
    """
    A site with accounts.

    Attributes
    ----------
    accounts, limits
        Lines for sacctmgr, before the controller starts and after.
    reservations
        Lines for ``scontrol create reservation``.
    """

    accounts: str = ""
    limits: str = ""
    reservations: str = ""

    @classmethod
    def read(cls, folder: Path) -> AccountedSite:
        """Return the site of a folder with slurm.conf, gres.conf and accounts.txt, maybe more."""
        names = {
            "conf": "slurm.conf", "gres": "gres.conf", "accounts": "accounts.txt",
            "limits": "gpu-limits.txt", "reservations": "reservations.txt",
        }  # fmt: skip
        paths = {key: folder / name for key, name in names.items()}
        return cls(**{key: path.read_text() for key, path in paths.items() if path.exists()})


class AccountedSlurm(PrivateSlurm):
    """A private Slurm with the accounts, limits and reservations of its site."""

    def __init__(self, folder: Path, site: AccountedSite) -> None:
        self.dbd_port, self.sql_port = free_ports(1), free_ports(1)
        more = PATIENT + ACCOUNTING.format(dbd_port=self.dbd_port)
        super().__init__(folder, site, more=more, patience=1800, name="private")
        self.accounts = site

    def start(self) -> None:
        """Start the database, slurmdbd, and the cluster; make accounts and reservations."""
        self.prepare()
        # Jobs of other users find it.
        for folder in (self.folder, self.folder.parent):
            with suppress(PermissionError):
                folder.chmod(0o755)
        self._start_database()
        dbd = self.folder / "slurmdbd.conf"
        dbd.write_text(
            DATABASE.format(
                host=socket.gethostname().split(".")[0], user=getpass.getuser(),
                folder=self.folder, dbd_port=self.dbd_port, sql_port=self.sql_port,
            )
        )  # fmt: skip
        dbd.chmod(0o600)
        self.daemon("slurmdbd", "-D")
        added = ("sacctmgr", "-i", "add", "cluster", "private")
        self.wait("slurmdbd", lambda: "Adding Cluster" in self.run(*added))
        for words in _lines(self.accounts.accounts):
            self.run("sacctmgr", "-i", *words)
        self.start_controller()
        self.start_nodes()
        for words in _lines(self.accounts.limits):
            self.run("sacctmgr", "-i", *words)
        for words in _lines(self.accounts.reservations):
            self.run("scontrol", "create", "reservation", *words)

    def _start_database(self) -> None:
        data, socket_file = self.folder / "mysql", self.folder / "run" / "mysql.sock"
        data.mkdir(exist_ok=True)
        user = f"--user={getpass.getuser()}"
        self.run(
            "mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
            "--auth-root-authentication-method=normal", user,
        )  # fmt: skip
        self.daemon(
            "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket_file}",
            f"--port={self.sql_port}", "--bind-address=127.0.0.1", user,
            "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
            "--innodb-flush-log-at-trx-commit=2",
        )  # fmt: skip
        client = ("mariadb", "--no-defaults", "-u", "root", "-S", str(socket_file), "-e")
        self.wait("mariadbd", lambda: "1" in self.run(*client, "select 1", check=False))
        self.run(*client, "create database slurm; grant all on slurm.* to 'slurm'@'%' "
                 "identified by 'private'")  # fmt: skip


def _lines(text: str) -> Iterator[list[str]]:
    """Yield the words of each line that is not a comment."""
    yield from (line.split() for line in text.splitlines() if line and not line.startswith("#"))
