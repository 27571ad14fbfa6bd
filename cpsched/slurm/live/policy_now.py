"""A site's own policy as it is now: its age, and the present usage."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.slurm.config.accounts import read_table, with_usage
from cpsched.slurm.config.lines import Output
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.slurm.live.plan import site_of
from cpsched.util.spec import Spec, build
from cpsched.util.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.slurm.live.scontrol import Scontrol


@contextmanager
def up_to_date(dispatcher: str, backend: Scontrol) -> Iterator[tuple[str, str]]:
    """
    Give a dispatcher with the policy that a live Slurm has now.

    ``slurm`` without a policy has that of the controller, with accounts and QOS if sacctmgr prints
    them; a policy file is followed with the usage that ``sshare`` shows. Others are as they are.

    Yields
    ------
    str, str
        Its specification; and which policy it follows, in a sentence, '' if it is no site's own.

    Raises
    ------
    ConfigError
        If the specification, its file, or what the controller says is invalid.
    """
    spec = Spec.parse(dispatcher)
    if not isinstance(build("dispatchers", dispatcher), Slurm):
        yield dispatcher, ""
        return
    options = spec.values
    accounts = backend.accounts()
    if "policy" in options:
        policy, remark = _with_usage(Path(options["policy"]), accounts.get("sshare", ""))
    else:
        policy, remark = _of_controller(backend.configuration(), accounts)
    with tempfile.TemporaryDirectory(prefix="cpsched-") as folder:
        path = Path(folder) / "policy.toml"
        path.write_text(policy_file.to_toml(policy), encoding="utf-8")
        yield str(spec.with_options({"policy": str(path)})), remark


def _of_controller(shown: dict[str, str], accounts: dict[str, str]) -> tuple[SlurmPolicy, str]:
    what = "policy of the controller, read now"
    if accounts:
        try:
            return site_of(shown, accounts).policy, f"{what}, with accounts and QOS"
        except ConfigError:
            # To a user who may not see all accounts, the tree has holes.
            pass
    return site_of(shown).policy, f"{what}, without accounts and QOS"


def _with_usage(path: Path, sshare: str) -> tuple[SlurmPolicy, str]:
    policy = policy_file.load(path)
    age = duration(max(int(time.time() - path.stat().st_mtime), 0))
    remark = f"policy {path.name}, written {age} ago"
    table = Output("sshare", sshare)
    rows = read_table(table, "RawUsage") if sshare else ()
    users = {(owner.account, owner.user) for owner in policy.associations if owner.user}
    # A user who may not see the others' usage would give them none.
    if not users or not users <= {(row.text("account"), row.text("user")) for row in rows}:
        return policy, f"{remark}, its usage too"
    policy = replace(policy, associations=with_usage(policy.associations, table))
    return policy, f"{remark}, with the usage that sshare shows now"
