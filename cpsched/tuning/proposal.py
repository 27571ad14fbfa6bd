"""What an administrator types for changed settings: lines of slurm.conf, commands of sacctmgr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.slurm.dispatch.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.tuning.settings import Choice

_MAX_TIME = "max-time "


def slurm_diff(policy: SlurmPolicy, choice: Choice) -> str:
    """
    Return the change of slurm.conf as lines with ``-`` and ``+``, empty if there is none.

    ``SchedulerParameters`` is one line: all its modelled words are on it. Words that the policy
    file has not must be added by hand.
    """
    return "".join(f"{line}\n" for line in _lines(policy, choice))


def sacctmgr_commands(choice: Choice) -> list[str]:
    """Return the commands that change QOS. ``-1`` takes a limit away."""
    by_name: dict[str, list[str]] = {}
    for key, value in choice.items():
        table, _, rest = key.partition(".")
        if table == "qos":
            name, _, limit = rest.rpartition(".")
            removed = "-1" if "TRES" not in limit else "cpu=-1"
            by_name.setdefault(name, []).append(f"{limit}={value or removed}")
    return [
        f"sacctmgr -i modify qos {name} set {' '.join(changes)}"
        for name, changes in by_name.items()
    ]


def _lines(policy: SlurmPolicy, choice: Choice) -> Iterator[str]:
    plain = {key: text for key, text in choice.items() if key in PARAMETERS}
    words = {key: text for key, text in plain.items() if PARAMETERS[key].scheduler}
    for key, text in plain.items():
        if key not in words:
            if key in policy.parameters:
                yield f"-{key}={_shown(policy, key)}"
            yield f"+{key}={text}" if text else f"+{key}=NO"
    if words:
        own = {
            name: _shown(policy, name)
            for name, parameter in PARAMETERS.items()
            if parameter.scheduler and name in policy.parameters
        }
        if own:
            yield f"-SchedulerParameters={_joined(own)}"
        yield f"+SchedulerParameters={_joined(own | words)}"
    for key, text in choice.items():
        if key.startswith("partition."):
            name, _, setting = key.removeprefix("partition.").rpartition(".")
            yield f"+PartitionName={name} {setting}={text}    # in the line of this partition"
        elif key.startswith(_MAX_TIME):
            name = key.removeprefix(_MAX_TIME)
            yield f"+PartitionName={name} MaxTime={text}    # in the line of this partition"


def _shown(policy: SlurmPolicy, name: str) -> str:
    parameter = PARAMETERS[name]
    value = parameter.kind.shown(policy[name])
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _joined(words: dict[str, str]) -> str:
    """Return the words of SchedulerParameters. A flag is there or not."""
    parts = (
        name if text == "yes" else "" if text == "no" else f"{name}={text}"
        for name, text in words.items()
    )
    return ",".join(filter(None, parts))
