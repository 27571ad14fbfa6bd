"""The Slurm policy of a study: ``--slurm-policy`` and the dispatcher ``slurm`` that follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.slurm.config.policy_remarks import ignored, remarks
from cpsched.slurm.dispatch import policy_edit, policy_file
from cpsched.util.spec import Spec, build, options_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.systems.mapping import Fitted

#: The dispatcher that follows a policy file, and its option for the file.
_FOLLOWER, _POLICY = "slurm", "policy"


def follows_policy(specification: str) -> bool:
    """Whether a dispatcher follows a policy file."""
    return Spec.parse(specification).name == _FOLLOWER


def edited_policy(policy: Path, edits: Sequence[str]) -> str:
    """
    Return the text of a policy in which some values are others.

    Parameters
    ----------
    edits
        ``KEY=VALUE``, each with a key that has a dot, such as ``qos.gpu.MaxJobsPU=4``.

    Raises
    ------
    ConfigError
        If the policy has no such key, or the value is invalid.
    """
    return policy_file.to_toml(policy_edit.edited(policy_file.load(policy), edits))


def assumed_of(fitted: Fitted, dispatcher: str) -> list[str]:
    """Return sentences on the parts of a log that the site's policy does not cover."""
    workload = fitted.workload
    if follows_policy(dispatcher):
        return remarks(build("dispatchers", dispatcher).policy, fitted.system, workload)
    return [
        *ignored(workload, "reservation", (), "run on any nodes, at any time"),
        *ignored(workload, "licenses", (), "do not wait for them"),
    ]


def needs_policy(dispatcher: str, option: str) -> bool:
    """Whether an option is one of the dispatcher that follows policies, and not of this one."""
    return not follows_policy(dispatcher) and option in options_of("dispatchers", _FOLLOWER)


def following(
    policy: Path | None,
    base: str | None,
    names: tuple[str, str] = ("--slurm-policy", "--dispatcher"),
    *,
    several: bool = False,
) -> str:
    """
    Return the dispatcher that a policy, or a specification, asks for.

    Parameters
    ----------
    names
        Names of the policy and of the dispatcher in errors.
    several
        Whether this is one of several dispatchers: one of them may have the policy as its option.

    Raises
    ------
    ConfigError
        If the dispatcher follows no policy.
    """
    if policy is None:
        return base or "easy"
    if base and _POLICY not in options_of("dispatchers", Spec.parse(base).name):
        remedy = f"Use {names[1]} slurm:policy={policy}" if several else f"Remove {names[1]} {base}"
        raise ConfigError(f"needs the dispatcher slurm. {remedy}.", key=names[0])
    return str(Spec.parse(base or _FOLLOWER).with_options({_POLICY: str(policy.absolute())}))
