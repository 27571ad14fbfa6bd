"""
The parameters of Slurm that are modelled: names and units as in slurm.conf(5).

Values keep Slurm's own units, except times written as time strings (``PriorityMaxAge``), which are
seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.slurm.dispatch.values import (
    FLAG,
    LARGEST,
    TIME,
    WEIGHTS,
    WORDS,
    ValueType,
    choice,
    count,
    words,
)
from cpsched.util.slurm_quantities import INFINITE

if TYPE_CHECKING:
    from collections.abc import Mapping


class Parameter(NamedTuple):
    """
    One parameter.

    Attributes
    ----------
    name
        As in slurm.conf.
    kind
        Of its value.
    default
        The default value, of the kind's Python type.
    meaning
        One line, with the unit.
    scheduler
        Whether it is one of the words of ``SchedulerParameters``.
    """

    name: str
    kind: ValueType
    default: Any
    meaning: str
    scheduler: bool = False


def _scheduler(
    name: str,
    default: int | bool,
    meaning: str,
    *,
    least: int = 0,
    upper: int = LARGEST,
    off: int | None = None,
) -> Parameter:
    """Return a word of SchedulerParameters with its bounds of slurm.conf(5), and what is off."""
    kind = FLAG if isinstance(default, bool) else count(least, upper, off)
    return Parameter(name, kind, default, meaning, scheduler=True)


_WEEK = 7 * 86400
_WEIGHT = count(0, INFINITE)
_ENFORCED = frozenset({"associations", "limits", "qos"})
_ORDERS = choice("priority/multifactor", "priority/basic")
_RESETS = choice("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY")
_FLAGS = words(
    *("ACCRUE_ALWAYS", "CALCULATE_RUNNING", "NO_FAIR_TREE", "INCR_ONLY"),
    *("MAX_TRES", "MAX_TRES_GRES", "NO_NORMAL_ALL", "NO_NORMAL_ASSOC", "NO_NORMAL_PART"),
    *("NO_NORMAL_QOS", "NO_NORMAL_TRES", "SMALL_RELATIVE_TO_TIME"),
)
_ENFORCE = words(
    *("all", "associations", "limits", "nojobs", "nosteps", "qos", "safe", "wckeys", "none")
)
_SELECTS = choice("select/cons_tres", "select/cons_res", "select/linear")
_PREEMPTS = choice("preempt/none", "preempt/partition_prio", "preempt/qos")
_MODES = words("OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG", "WITHIN")
_ALL = (
    Parameter(
        "PriorityType",
        _ORDERS,
        "priority/multifactor",
        "order by factors, or first come, first served",
    ),
    *(
        Parameter(
            f"PriorityWeight{name}",
            _WEIGHT,
            0,
            f"weight of the {factor} factor in a job's priority",
        )
        for name, factor in (
            *(("Age", "age"), ("Assoc", "association"), ("Fairshare", "fair-share")),
            *(("JobSize", "job-size"), ("Partition", "partition"), ("QOS", "QOS")),
        )
    ),
    Parameter(
        "PriorityWeightTRES", WEIGHTS, {}, "weights of the TRES factors: CPU=1000,GRES/gpu=3000"
    ),
    Parameter("PriorityMaxAge", TIME, _WEEK, "age at which the age factor is 1"),
    Parameter("PriorityCalcPeriod", TIME, 300, "time between two computations of priorities"),
    Parameter("PriorityDecayHalfLife", TIME, _WEEK, "time in which usage halves (0: no decay)"),
    Parameter("PriorityUsageResetPeriod", _RESETS, "NONE", "how often usage is set back to 0"),
    Parameter("PriorityFavorSmall", FLAG, False, "whether small jobs have the larger size factor"),
    Parameter("PriorityFlags", _FLAGS, frozenset(), "changes to the computation of priorities"),
    Parameter(
        "FairShareDampeningFactor", count(1), 1, "how slowly the classic fair-share factor falls"
    ),
    Parameter("AccountingStorageEnforce", _ENFORCE, _ENFORCED, "which limits are enforced"),
    Parameter(
        *("SchedulerType", choice("sched/backfill", "sched/builtin"), "sched/backfill"),
        "with or without a backfill pass (sched/builtin)",
    ),
    Parameter("SelectType", _SELECTS, "select/cons_tres", "cores, or whole nodes (linear)"),
    Parameter(
        "SelectTypeParameters",
        WORDS,
        frozenset(),
        "resources that are counted: CR_Core_Memory, ...",
    ),
    Parameter("PreemptType", _PREEMPTS, "preempt/none", "the jobs that may preempt others"),
    Parameter(
        *("PreemptMode", _MODES, frozenset({"OFF"})),
        "action on preempted jobs whose QOS or partition names none",
    ),
    Parameter("PreemptExemptTime", TIME, 0, "how long a job runs before it may be preempted"),
    Parameter("JobRequeue", FLAG, True, "whether preempted jobs are requeued, else cancelled"),
    Parameter(
        *("CompleteWait", count(0, 2**16 - 1), 0),
        "seconds for which nothing of lower priority starts while jobs complete",
    ),
    Parameter(
        "OverTimeLimit", count(0, 2**16 - 1), 0, "minutes that jobs may run beyond their limit"
    ),
    _scheduler("assoc_limit_stop", False, "a job held by a limit stops those after it"),
    _scheduler("batch_sched_delay", 3, "seconds that scheduling of a batch job may be put off"),
    _scheduler("bf_busy_nodes", False, "backfill prefers nodes that are in use"),
    _scheduler("bf_continue", False, "a backfill pass continues after it has released its locks"),
    _scheduler("bf_interval", 30, "seconds between backfill passes", least=1, upper=10800, off=-1),
    _scheduler(
        "bf_job_part_count_reserve",
        0,
        "jobs of a partition that get reservations (0: all)",
        upper=100_000,
    ),
    _scheduler("bf_licenses", False, "backfill plans with licences"),
    _scheduler("bf_max_job_array_resv", 20, "tasks of an array that get reservations", upper=1000),
    _scheduler("bf_max_job_assoc", 0, "jobs of an association that a pass considers (0: all)"),
    _scheduler("bf_max_job_part", 0, "jobs of a partition that a pass considers (0: all)"),
    _scheduler("bf_max_job_start", 0, "jobs that a pass starts (0: any number)", upper=10_000),
    _scheduler("bf_max_job_test", 500, "jobs that a pass considers", least=1, upper=10**6),
    _scheduler("bf_max_job_user", 0, "jobs of a user that a pass considers (0: all)"),
    _scheduler("bf_max_job_user_part", 0, "jobs of a user in one partition (0: all)"),
    _scheduler("bf_max_time", 0, "seconds that a pass may take (0: bf_interval)", upper=3600),
    _scheduler(
        "bf_min_age_reserve", 0, "seconds a job waits before it gets a reservation", upper=2_592_000
    ),
    _scheduler("bf_min_prio_reserve", 0, "priority that a job needs to get a reservation"),
    _scheduler("bf_one_resv_per_job", False, "one reservation for a job in several partitions"),
    _scheduler("bf_resolution", 60, "seconds to which backfill rounds times", least=1, upper=3600),
    _scheduler(
        "bf_window", 1440, "minutes into the future that backfill plans", least=1, upper=43_200
    ),
    _scheduler(
        "bf_window_linear", 0, "seconds by which spans of ends taken together grow (0: double)"
    ),
    _scheduler(
        "bf_yield_interval",
        2_000_000,
        "microseconds between two breaks of a pass",
        least=1,
        upper=10**7,
    ),
    _scheduler("bf_yield_sleep", 500_000, "microseconds of a break", least=1, upper=10**7),
    _scheduler("default_queue_depth", 100, "jobs that a quick main pass considers"),
    _scheduler("defer", False, "no attempt to start a job when it is submitted"),
    _scheduler("defer_batch", False, "as defer, for batch jobs"),
    _scheduler("max_switch_wait", 300, "most seconds a job waits for few switches"),
    _scheduler("pack_serial_at_end", False, "jobs of one core go to the last nodes"),
    _scheduler("partition_job_depth", 0, "jobs of a partition a main pass considers (0: all)"),
    _scheduler("preempt_reorder_count", 1, "attempts to find fewer jobs to preempt"),
    _scheduler("preempt_strict_order", False, "jobs of the lowest priority are preempted first"),
    _scheduler("preempt_youngest_first", False, "the youngest jobs are preempted first"),
    _scheduler("reduce_completing_frag", False, "CompleteWait counts for partitions alone"),
    _scheduler("sched_interval", 60, "seconds between two main passes over all jobs", off=-1),
    _scheduler("sched_max_job_start", 0, "jobs that a main pass starts (0: any number)"),
    _scheduler("sched_min_interval", 2, "microseconds between two main passes"),
)
#: Every parameter by its name.
PARAMETERS: Mapping[str, Parameter] = {parameter.name: parameter for parameter in _ALL}
