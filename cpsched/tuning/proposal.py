"""What an administrator types for changed settings: lines of slurm.conf, commands of sacctmgr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy_edit import QUEUE_CHANGES
from cpsched.util.quantities import duration
from cpsched.util.slurm_quantities import clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cpsched.model.system import System
    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.tuning.settings import Choice

#: Slurm's keys of a partition by the settings that are changes of a queue.
_KEYS = {change: key for key, change in QUEUE_CHANGES.items()}
_TIMES = ("DefaultTime", "MaxTime")


def slurm_diff(policy: SlurmPolicy, choice: Choice, system: System) -> str:
    """
    Return the change of slurm.conf as lines with ``-`` and ``+``, empty if there is none.

    ``SchedulerParameters`` is one line: all its modelled words are on it. Words that the policy
    file has not must be added by hand. The system has the current default times of queues, which a
    lower limit lowers.
    """
    lines = [*_lines(policy, choice), *_partition_lines(choice, system)]
    return "".join(f"{line}\n" for line in lines)


def sacctmgr_commands(policy: SlurmPolicy, choice: Choice) -> list[str]:
    """Return the commands that change QOS. ``-1`` takes a limit away, of each resource."""
    by_name: dict[str, list[str]] = {}
    for key, value in choice.items():
        table, _, rest = key.partition(".")
        if table == "qos":
            name, _, limit = rest.rpartition(".")
            text = value or _removed(policy.qos[name].limits[limit])
            by_name.setdefault(name, []).append(f"{limit}={text}")
    return [
        f"sacctmgr -i modify qos {name} set {' '.join(changes)}"
        for name, changes in by_name.items()
    ]


def _removed(limit: int | Mapping[str, int]) -> str:
    return "-1" if isinstance(limit, int) else ",".join(f"{name}=-1" for name in limit)


def _lines(policy: SlurmPolicy, choice: Choice) -> Iterator[str]:
    plain = {key: text for key, text in choice.items() if key in PARAMETERS}
    words = {key: text for key, text in plain.items() if PARAMETERS[key].scheduler}
    for key, text in plain.items():
        if key not in words:
            if key in policy.parameters:
                yield f"-{key}={_shown(policy, key)}"
            if text:
                yield f"+{key}={text}"
    if words:
        own = {
            name: _shown(policy, name)
            for name, parameter in PARAMETERS.items()
            if parameter.scheduler and name in policy.parameters
        }
        if own:
            yield f"-SchedulerParameters={_joined(own)}"
        yield f"+SchedulerParameters={_joined(own | words)}"


def _partition_lines(choice: Choice, system: System) -> Iterator[str]:
    """Yield a line for each partition. Its default time is at most its limit."""
    by_name: dict[str, dict[str, str]] = {}
    for key, text in choice.items():
        change, _, queue = key.partition(" ")
        if change in _KEYS:
            by_name.setdefault(queue, {})[_KEYS[change]] = text
        elif key.startswith("partition."):
            name, _, setting = key.removeprefix("partition.").rpartition(".")
            by_name.setdefault(name, {})[setting] = text
    for name, values in by_name.items():
        # To Slurm a number alone is minutes.
        times = {key: duration(values[key]) for key in _TIMES if key in values}
        current = system.queues[name].default_time if name in system.queues else None
        default = times.get("DefaultTime", current)
        if default is not None and default > times.get("MaxTime", default):
            times["DefaultTime"] = times["MaxTime"]
        shown = values | {key: clock(time) for key, time in times.items()}
        changes = " ".join(f"{key}={text}" for key, text in shown.items())
        yield f"+PartitionName={name} {changes}    # in the line of this partition"


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
