"""
The output of ``sacctmgr show assoc``, ``sacctmgr show qos`` and ``sshare`` with ``-P``.

Tables with a header and ``|`` between columns, in any order; names of limits are those of a policy
file (:data:`~cpsched.slurm.dispatch.policy.LIMITS`), and the longer ones that sacctmgr also knows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.slurm.config.inventory import (
    ASSOCIATION_COLUMNS,
    QOS_COLUMNS,
    UNENFORCED,
    UNREAD_LIMITS,
)
from cpsched.slurm.config.lines import ConfigLine, Output, Setting, read_text
from cpsched.slurm.dispatch.policy import ASSOCIATIONS, QOS, Association, Qos

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cpsched.slurm.config.inventory import Inventory

#: Other names of columns, in lower case.
_ALIASES = {
    "fairshare": "share",
    "shares": "share",
    "rawshares": "share",
    "def qos": "defaultqos",
    "defqos": "defaultqos",
    "qos_raw": "qos",
    "grpsubmitjobs": "grpsubmit",
    "maxsubmitjobs": "maxsubmit",
    "maxtresperjob": "maxtres",
    "maxtresminsperjob": "maxtresmins",
    "maxwalldurationperjob": "maxwall",
    "mintresperjob": "mintres",
    **{
        f"{name}per{whose}": f"{name}p{whose[0]}"
        for name in (
            "maxtres",
            "maxjobs",
            "maxsubmit",
            "maxsubmitjobs",
            "maxtresrunmins",
            "maxjobsaccrue",
        )
        for whose in ("user", "account")
    },
    "maxsubmitjobsperuser": "maxsubmitpu",
    "maxsubmitjobsperaccount": "maxsubmitpa",
}
_USAGE = next(key for key in ASSOCIATIONS.keys if key.field == "usage")


@dataclass(frozen=True, slots=True)
class TableRow(ConfigLine):
    """
    A line of such a table: columns by name in lower case; ``indent`` is the account's indentation.
    """

    indent: int = 0
    nothing = ("", "(null)", "N/A", "-1", "4294967295")


def read_table(path: Path | Output, needed: str) -> Iterator[TableRow]:
    """Yield the rows of a table."""
    lines = [line for line in enumerate(read_text(path).splitlines(), start=1) if line[1].strip()]
    names = [name.strip() for name in lines[0][1].split("|")] if lines else []
    keys = [_ALIASES.get(name.lower(), name.lower()) for name in names]
    if needed.lower() not in keys:
        raise ConfigError(
            f"the table has no column {needed}. Give the output of sacctmgr or sshare with -P.",
            where=str(path),
            line=lines[0][0] if lines else None,
        )
    for number, line in lines[1:]:
        cells = line.split("|")
        if len(cells) != len(keys):
            raise ConfigError(
                f"the line has {len(cells)} columns, and the header has {len(keys)}",
                where=str(path),
                line=number,
            )
        account = cells[keys.index("account")] if "account" in keys else ""
        values = {
            key: Setting(cell.strip(), name, str(path), number)
            for key, name, cell in zip(keys, names, cells, strict=True)
        }
        yield TableRow(values[keys[0]], values, len(account) - len(account.lstrip()))


def read_qos(path: Path | Output) -> dict[str, Qos]:
    """Return the QOS of ``sacctmgr -P show qos``."""
    qos = {row.text("name"): QOS.make(row.value) for row in read_table(path, "Name")}
    # Slurm may still give the number of a QOS that no longer exists.
    return {
        name: replace(entry, preempt=tuple(other for other in entry.preempt if other in qos))
        for name, entry in qos.items()
    }


@dataclass(frozen=True, slots=True)
class LimitOwner:
    """
    A QOS, an account, or a user in an account.

    Attributes
    ----------
    name, user
        Name of the QOS or account; the user, '' for none.
    is_qos
        Whether it is a QOS.
    """

    name: str
    user: str = ""
    is_qos: bool = False

    def __str__(self) -> str:
        if self.is_qos:
            return f"QOS {self.name}"
        return f"user {self.user} in {self.name}" if self.user else f"account {self.name}"


@dataclass(frozen=True, slots=True)
class IgnoredCell:
    """
    A cell of a table that has a value and that no reader takes.

    Attributes
    ----------
    owner
        Account and user, or QOS, of its row.
    column, text
        As the table has them.
    why
        What is simulated instead.
    """

    owner: LimitOwner
    column: str
    text: str
    why: str


def ignored_of_qos(path: Path | Output) -> Iterator[IgnoredCell]:
    """Yield the cells of ``sacctmgr -P show qos`` that no reader takes."""
    rows = list(read_table(path, "Name"))
    names = {row.text("name"): LimitOwner(row.text("name"), is_qos=True) for row in rows}
    for row in rows:
        yield from _ignored(row, QOS_COLUMNS, names[row.text("name")])
    for row in rows:
        gone = [name for name in row.text("preempt").split(",") if name and name not in names]
        if gone:
            why = "it preempts none of them, as the table has no such QOS"
            yield IgnoredCell(names[row.text("name")], "Preempt", ",".join(gone), why)


def ignored_of_associations(path: Path | Output) -> Iterator[IgnoredCell]:
    """Yield the cells of ``sacctmgr -P show assoc`` that no reader takes."""
    for row in read_table(path, "Account"):
        yield from _ignored(
            row, ASSOCIATION_COLUMNS, LimitOwner(row.text("account"), row.text("user"))
        )


def _ignored(row: TableRow, columns: Inventory, owner: LimitOwner) -> Iterator[IgnoredCell]:
    enforced_nowhere = {name.lower() for name in UNENFORCED}
    for key, value in row.values.items():
        # Limits that are read and not enforced are reported as limits.
        if value.text in row.nothing or key in enforced_nowhere or not key:
            continue
        is_none = value.text == "0" and key in UNREAD_LIMITS
        if is_none or columns.is_lost(key, value.text):
            yield IgnoredCell(owner, value.key, value.text, columns.of(key).why)


def read_associations(path: Path | Output) -> tuple[tuple[Association, ...], bool]:
    """
    Return the associations of ``sacctmgr -P show assoc``, and whether the tree is known.

    The accounts above are those of a column ParentName, or follow from the indentation that
    ``sacctmgr show assoc tree`` prints; without either, all accounts are assumed to be below the
    root.
    """
    rows = list(read_table(path, "Account"))
    named = any("parentname" in row.values for row in rows)
    indented = any(row.indent for row in rows)
    above: list[tuple[int, str]] = []
    associations: list[Association] = []
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        account, user = row.text("account"), row.text("user")
        if not user:
            above = [account_above for account_above in above if account_above[0] < row.indent]
        parent = row.text("parentname")
        if not named and account != "root":
            parent = above[-1][1] if above and indented else "root"
        if not user:
            above.append((row.indent, account))
        if not account:
            raise row.values["account"].error("is empty, must be the name of an account")
        key = (account, user, row.text("partition"))
        if key in seen:
            raise row.values["account"].error(
                "is given twice. Give the output for one cluster (cluster=NAME)."
            )
        seen.add(key)
        above_it = "" if user or account == "root" else parent
        associations.append(replace(ASSOCIATIONS.make(row.value), parent=above_it))
    return tuple(associations), named or indented


def with_usage(associations: Sequence[Association], path: Path | Output) -> tuple[Association, ...]:
    """Return associations with the usage of ``sshare -l -a -P``."""
    usage = {
        tuple(map(row.text, ("account", "user", "partition"))): row.value(_USAGE)
        for row in read_table(path, "RawUsage")
        if row.text("user") and row.text("rawusage")
    }
    return tuple(
        replace(assoc, usage=usage.get((assoc.account, assoc.user, assoc.partition), 0.0))
        for assoc in associations
    )
