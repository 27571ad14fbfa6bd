"""A site's own policy as it is now: of which day it is, and today's shares in it."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpsched.errors import ConfigError
from cpsched.slurm.config.accounts import read_table, with_usage
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.slurm.live.plan import site_of
from cpsched.util.spec import Spec, build
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.slurm.live.scontrol import Scontrol


class Now(NamedTuple):
    """
    A dispatcher for a live queue.

    Attributes
    ----------
    dispatcher
        Its specification.
    remark
        Which policy it follows, in a sentence; '' if it is no site's own.
    """

    dispatcher: str
    remark: str


@contextmanager
def up_to_date(dispatcher: str, backend: Scontrol) -> Iterator[Now]:
    """
    Give a dispatcher with the policy that a live Slurm has now.

    ``slurm`` without a policy has that of the controller, with accounts and QOS if sacctmgr tells
    them; a policy file is followed with the usage that ``sshare`` shows. Others are as they are.

    Raises
    ------
    ConfigError
        If the specification, its file, or what the controller says is invalid.
    """
    spec = Spec.parse(dispatcher)
    if not isinstance(build("dispatchers", dispatcher), Slurm):
        yield Now(dispatcher, "")
        return
    given = dict(spec.options)
    named = given.get("policy")
    accounts = backend.accounts()
    if named is None:
        policy, remark = _of_controller(backend, accounts)
    else:
        policy, remark = _with_shares(named, accounts.get("sshare", ""))
    with tempfile.TemporaryDirectory(prefix="cpsched-") as folder:
        path = Path(folder) / "policy.toml"
        path.write_text(policy_file.to_toml(policy), encoding="utf-8")
        given["policy"] = str(path)
        yield Now(str(Spec(spec.name, tuple(sorted(given.items())))), remark)


def _written(policy: Path) -> str:
    age = duration(max(int(time.time() - policy.stat().st_mtime), 0))
    return f"policy {policy.name}, written {age} ago"


def _of_controller(backend: Scontrol, accounts: dict[str, str]) -> tuple[SlurmPolicy, str]:
    shown = backend.configuration()
    what = "policy of the controller, read now"
    if accounts:
        try:
            return site_of(shown, accounts).policy, f"{what}, with accounts and QOS"
        except ConfigError:
            # To a user who may not see all accounts, the tree has holes.
            pass
    return site_of(shown).policy, f"{what}, without accounts and QOS"


def _with_shares(named: str, sshare: str) -> tuple[SlurmPolicy, str]:
    policy, remark = policy_file.load(named), _written(Path(named))
    users = {(one.account, one.user) for one in policy.associations if one.user}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sshare"
        path.write_text(sshare, encoding="utf-8")
        shown = read_table(path, "RawUsage") if sshare else ()
        seen = {(row.text("account"), row.text("user")) for row in shown}
        # Who may not see the others' usage would give them none.
        if not users or not users <= seen:
            return policy, f"{remark}, its usage too"
        policy = replace(policy, associations=with_usage(policy.associations, path))
    return policy, f"{remark}, with the usage that sshare shows now"
