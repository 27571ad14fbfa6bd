"""
The parameters of Slurm that are modelled: names and units as in slurm.conf(5).

Values keep Slurm's own units, except times written as time strings (``PriorityMaxAge``), which are
seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.api.fields import minutes, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST = 2**62
_TRUE = ("yes", "true", "on", "1", "")
_FALSE = ("no", "false", "off", "0")
_ENDLESS = ("infinite", "unlimited")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """
    One parameter.

    Attributes
    ----------
    name
        As in slurm.conf.
    kind
        Of its value: ``count``, ``flag``, ``time``, ``choice``, ``words`` or ``tres``.
    default
        The default value, of the kind's Python type.
    meaning
        One line, with the unit.
    scheduler
        Whether it is one of the words of ``SchedulerParameters``.
    choices
        The values of ``choice``, the words of ``words``.
    least, most
        Bounds of a ``count``.
    """

    name: str
    kind: str
    default: Any
    meaning: str
    scheduler: bool = False
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = _MOST

    def parse(self, text: str) -> Any:
        """
        Return the value that a text stands for.

        Raises
        ------
        ValueError
            If it is not such a value; names what is expected.
        """
        return _PARSERS[self.kind](self, text.strip())


def _count(parameter: Parameter, text: str) -> int:
    number = whole(text)
    if not parameter.least <= number <= parameter.most:
        top = "" if parameter.most == _MOST else f" to {parameter.most}"
        raise ValueError(f"must be a whole number from {parameter.least}{top or ' on'}")
    return number


def _flag(parameter: Parameter, text: str) -> bool:  # noqa: ARG001
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError("must be yes or no")
    return text.lower() in _TRUE


def _time(parameter: Parameter, text: str) -> int:  # noqa: ARG001
    if text.lower() in _ENDLESS:
        return _MOST
    try:
        return minutes(text)
    except ValueError:
        raise ValueError("must be minutes, hours:minutes:00 or days-hours:minutes:00") from None


def _choice(parameter: Parameter, text: str) -> str:
    found = next((one for one in parameter.choices if one.lower() == text.lower()), None)
    if found is None:
        raise ValueError(f"must be one of: {', '.join(parameter.choices)}")
    return found


def _words(parameter: Parameter, text: str) -> frozenset[str]:
    known = {one.lower(): one for one in parameter.choices}
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = next((word for word in words if word.lower() not in known), None)
    if unknown is not None and parameter.choices:
        raise ValueError(f"{unknown!r} must be one of: {', '.join(parameter.choices)}")
    return frozenset(known.get(word.lower(), word) for word in words)


def weights(text: str) -> dict[str, float]:
    """
    Read ``CPU=1.0,Mem=0.25G,GRES/gpu=2.0``: weights by TRES in lower case.

    Of memory the weight is of a MB; ``0.25G`` is 0.25 for each GB.

    Raises
    ------
    ValueError
        If it is not of that form.
    """
    found: dict[str, float] = {}
    for item in (part for part in text.split(",") if part.strip()):
        name, equals, value = item.strip().partition("=")
        unit = value[-1:].upper() if value[-1:].isalpha() else ""
        try:
            number = float(value.removesuffix(value[-1:]) if unit else value)
        except ValueError:
            equals = ""
        if not equals or unit not in _SIZES:
            raise ValueError(f"{item!r} is not a weight, such as CPU=1.0 or Mem=0.25G")
        found[name.lower()] = number / _SIZES[unit]
    return found


#: MB for one of a unit of memory, by which weights of memory are divided.
_SIZES = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}

_PARSERS: Mapping[str, Callable[[Parameter, str], Any]] = {
    "count": _count,
    "flag": _flag,
    "time": _time,
    "choice": _choice,
    "words": _words,
    "tres": lambda _, text: weights(text),
}

_DAY = 86400
_WEIGHT = "weight of the {} factor in a job's priority"


def _weight(name: str, factor: str) -> Parameter:
    return Parameter(name=name, kind="count", default=0, meaning=_WEIGHT.format(factor))


def _scheduler(
    name: str, default: int | bool, meaning: str, *, least: int = 0, most: int = _MOST
) -> Parameter:
    kind = "flag" if isinstance(default, bool) else "count"
    return Parameter(
        name=name, kind=kind, default=default, meaning=meaning, scheduler=True, least=least,
        most=most,
    )  # fmt: skip


_ALL = (
    Parameter(
        name="PriorityType",
        kind="choice",
        default="priority/multifactor",
        choices=("priority/multifactor", "priority/basic"),
        meaning="how jobs are ordered: by factors, or first come, first served",
    ),
    _weight("PriorityWeightAge", "age"),
    _weight("PriorityWeightAssoc", "association"),
    _weight("PriorityWeightFairshare", "fair-share"),
    _weight("PriorityWeightJobSize", "job-size"),
    _weight("PriorityWeightPartition", "partition"),
    _weight("PriorityWeightQOS", "QOS"),
    Parameter(
        name="PriorityWeightTRES",
        kind="tres",
        default={},
        meaning="weights of the TRES factors, such as CPU=1000,GRES/gpu=3000",
    ),
    Parameter(
        name="PriorityMaxAge",
        kind="time",
        default=7 * _DAY,
        meaning="age at which the age factor is 1",
    ),
    Parameter(
        name="PriorityCalcPeriod",
        kind="time",
        default=300,
        meaning="time between two computations of usage and priorities",
    ),
    Parameter(
        name="PriorityDecayHalfLife",
        kind="time",
        default=7 * _DAY,
        meaning="time in which usage halves; 0: it does not decay",
    ),
    Parameter(
        name="PriorityUsageResetPeriod",
        kind="choice",
        default="NONE",
        choices=("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"),
        meaning="how often usage is set back to 0",
    ),
    Parameter(
        name="PriorityFavorSmall",
        kind="flag",
        default=False,
        meaning="whether small jobs have the larger job-size factor",
    ),
    Parameter(
        name="PriorityFlags",
        kind="words",
        default=frozenset(),
        choices=(
            *("ACCRUE_ALWAYS", "CALCULATE_RUNNING", "DEPTH_OBLIVIOUS", "NO_FAIR_TREE"),
            *("INCR_ONLY", "MAX_TRES", "MAX_TRES_GRES", "NO_NORMAL_ALL", "NO_NORMAL_ASSOC"),
            *("NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES", "SMALL_RELATIVE_TO_TIME"),
        ),
        meaning="changes to the computation of priorities",
    ),
    Parameter(
        name="FairShareDampeningFactor",
        kind="count",
        default=1,
        least=1,
        meaning="how slowly the classic fair-share factor falls with usage",
    ),
    Parameter(
        name="AccountingStorageEnforce",
        kind="words",
        default=frozenset({"associations", "limits", "qos"}),
        choices=(
            *("all", "associations", "limits", "nojobs", "nosteps", "qos", "safe", "wckeys"),
            "none",
        ),
        meaning="which limits are enforced",
    ),
    Parameter(
        name="SchedulerType",
        kind="choice",
        default="sched/backfill",
        choices=("sched/backfill", "sched/builtin"),
        meaning="whether there is a backfill pass",
    ),
    Parameter(
        name="SelectType",
        kind="choice",
        default="select/cons_tres",
        choices=("select/cons_tres", "select/cons_res", "select/linear"),
        meaning="whether jobs get cores, or whole nodes (linear)",
    ),
    Parameter(
        name="SelectTypeParameters",
        kind="words",
        default=frozenset(),
        meaning="what is counted and how nodes are chosen: CR_LLN and CR_Pack_Nodes matter",
    ),
    Parameter(
        name="PreemptType",
        kind="choice",
        default="preempt/none",
        choices=("preempt/none", "preempt/partition_prio", "preempt/qos"),
        meaning="by what jobs preempt others",
    ),
    Parameter(
        name="PreemptMode",
        kind="words",
        default=frozenset({"OFF"}),
        choices=("OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG", "WITHIN"),
        meaning="what is done to preempted jobs where their QOS or partition does not say",
    ),
    Parameter(
        name="PreemptExemptTime",
        kind="time",
        default=0,
        meaning="how long a job runs at least before it may be preempted",
    ),
    Parameter(
        name="JobRequeue",
        kind="flag",
        default=True,
        meaning="whether jobs are requeued when they are preempted; else they are cancelled",
    ),
    Parameter(
        name="CompleteWait",
        kind="count",
        default=0,
        most=65533,
        meaning="seconds for which nothing of lower priority starts while jobs complete",
    ),
    Parameter(
        name="OverTimeLimit",
        kind="count",
        default=0,
        most=65533,
        meaning="minutes that jobs may run beyond their time limit",
    ),
    _scheduler("assoc_limit_stop", False, "a job held by a limit stops those after it"),
    _scheduler("batch_sched_delay", 3, "seconds that scheduling of a batch job may be put off"),
    _scheduler("bf_busy_nodes", False, "backfill prefers nodes that are in use"),
    _scheduler("bf_continue", False, "a backfill pass continues after it has released its locks"),
    _scheduler("bf_interval", 30, "seconds between backfill passes", least=-1, most=10800),
    _scheduler("bf_job_part_count_reserve", 0, "jobs of a partition that get reservations"),
    _scheduler("bf_licenses", False, "backfill plans with licences"),
    _scheduler("bf_max_job_array_resv", 20, "tasks of an array that get reservations", most=1000),
    _scheduler("bf_max_job_assoc", 0, "jobs of an association that a pass considers; 0: all"),
    _scheduler("bf_max_job_part", 0, "jobs of a partition that a pass considers; 0: all"),
    _scheduler("bf_max_job_start", 0, "jobs that a pass starts; 0: any number"),
    _scheduler("bf_max_job_test", 500, "jobs that a pass considers", least=1, most=10**6),
    _scheduler("bf_max_job_user", 0, "jobs of a user that a pass considers; 0: all"),
    _scheduler("bf_max_job_user_part", 0, "jobs of a user in one partition; 0: all"),
    _scheduler("bf_max_time", 0, "seconds that a pass may take; 0: bf_interval"),
    _scheduler("bf_min_age_reserve", 0, "seconds a job waits before it gets a reservation"),
    _scheduler("bf_min_prio_reserve", 0, "priority that a job needs to get a reservation"),
    _scheduler("bf_one_resv_per_job", False, "one reservation for a job in several partitions"),
    _scheduler("bf_resolution", 60, "seconds to which backfill rounds times", least=1, most=3600),
    _scheduler("bf_window", 1440, "minutes into the future that backfill plans", least=1),
    _scheduler(
        "bf_window_linear", 0, "seconds by which spans of ends taken together grow; 0: double"
    ),
    _scheduler("bf_yield_interval", 2_000_000, "microseconds between two breaks of a pass"),
    _scheduler("bf_yield_sleep", 500_000, "microseconds of a break"),
    _scheduler("default_queue_depth", 100, "jobs that a quick main pass considers"),
    _scheduler("defer", False, "no attempt to start a job when it is submitted"),
    _scheduler("defer_batch", False, "the same for batch jobs"),
    _scheduler("max_switch_wait", 300, "most seconds a job waits for few switches"),
    _scheduler("pack_serial_at_end", False, "jobs of one core go to the last nodes"),
    _scheduler("partition_job_depth", 0, "jobs of a partition a main pass considers; 0: all"),
    _scheduler("preempt_reorder_count", 1, "attempts to find fewer jobs to preempt"),
    _scheduler("preempt_strict_order", False, "jobs of the lowest priority are preempted first"),
    _scheduler("preempt_youngest_first", False, "the youngest jobs are preempted first"),
    _scheduler("reduce_completing_frag", False, "CompleteWait counts for partitions alone"),
    _scheduler("sched_interval", 60, "seconds between two main passes over all jobs", least=-1),
    _scheduler("sched_max_job_start", 0, "jobs that a main pass starts; 0: any number"),
    _scheduler("sched_min_interval", 2, "microseconds between two main passes"),
)
#: Every parameter by its name.
PARAMETERS: Mapping[str, Parameter] = {one.name: one for one in _ALL}
