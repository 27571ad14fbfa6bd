"""The priorities of papers that no dispatcher of cpsched itself goes by; notation as there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cpsched.dispatch.orders import FifoOrder, Priority
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.model.jobtable import JobTable
    from cpsched.util.types import AnyArray

#: Of a weight: points stay far from where floating point ends.
_MAX_WEIGHT = 1e12


class Basic(FifoOrder):
    """
    Slurm's ``priority/basic``: earlier submit first.

    The first job has a large number, and every later job one less (IPSCHED, section IV).
    """

    name = "basic"


class Multifactor(Priority):
    """
    Age and job size in points, highest first, as in Slurm's ``priority/multifactor``.

    The points are ``age_weight * minutes waited + size_weight * cores / cores of the system``
    (IPSCHED, section VI).

    Parameters
    ----------
    age_weight
        Points for each minute of waiting.
    size_weight
        Points for a job that uses all cores of the system.
    """

    name = "multifactor"

    def __init__(self, age_weight: float = 1.0, size_weight: float = 1000.0) -> None:
        for name, weight in (("age_weight", age_weight), ("size_weight", size_weight)):
            if not abs(weight) <= _MAX_WEIGHT:
                raise ConfigError(f"{name} is {weight:g}, must be within {_MAX_WEIGHT:g} of 0")
        self.age_weight = age_weight
        self.size_weight = size_weight
        self.by_age = age_weight >= 0

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:
        """Return the negative points of each job."""
        age = (now - jobs.submit) / 60.0
        size = self.cores(jobs) / max(int(self.system.total[0]), 1)
        return (-(self.age_weight * age + self.size_weight * size),)


class Wfp3(Priority):
    """
    ``(q / d)^3 * n``, highest first: wait so far q, predicted runtime d (seconds), cores n.

    Tang et al. 2009, WFP.
    """

    name = "wfp3"
    by_age = True

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:
        """Return the negative priority of each job."""
        ratio = (now - jobs.submit) / np.maximum(jobs.ranking_estimate, 1)
        return (-(ratio**3 * self.cores(jobs)),)


class Unicef(Priority):
    """
    ``q / (log2(n) * d)``, highest first: wait so far q, cores n, predicted runtime d (seconds).

    Tang et al. 2009, UNICEF. The value of a job with one core is infinite once it has waited. Such
    jobs go first, in the order of ``q / d``.
    """

    name = "unicef"
    by_age = True

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:
        """Return False for waiting one-core jobs, which go first, and the negative priority."""
        waited = now - jobs.submit
        runtime = np.maximum(jobs.ranking_estimate, 1)
        width = np.log2(np.maximum(self.cores(jobs), 1))
        serial = (width == 0) & (waited > 0)
        value = waited / (np.where(width > 0, width, 1.0) * runtime)
        return (~serial, -value)


class _Fitted(Priority):
    """
    Queue order fitted by simulation, smallest first (Carastan-Santos and de Camargo, SC 2017).

    The formulas take the submit time from the start of the log. Second 0 counts as second 1.
    """

    static = True
    by_age = True
    #: The formula, of runtime d, cores n and log10(s).
    value: ClassVar[staticmethod[[Any, Any, Any], Any]]

    def keys(self, jobs: JobTable, now: int) -> tuple[AnyArray, ...]:  # noqa: ARG002
        """Return the fitted value."""
        runtime = np.maximum(jobs.ranking_estimate, 1).astype(np.float64)
        submit = np.log10(np.maximum(jobs.submit, 1))
        return (self.value(runtime, self.cores(jobs).astype(np.float64), submit),)


class F1(_Fitted):
    """
    ``log10(d) n + 870 log10(s)``, smallest first: predicted runtime d, cores n, submit time s.

    Fitted by simulation (Carastan-Santos and de Camargo, SC 2017). Times are in seconds, ``s`` from
    the start of the log.
    """

    name = "f1"
    value = staticmethod(lambda d, n, log_s: np.log10(d) * n + 8.70e2 * log_s)


class F2(_Fitted):
    """
    ``sqrt(d) n + 25600 log10(s)``, smallest first: predicted runtime d, cores n, submit time s.

    Fitted by simulation (Carastan-Santos and de Camargo, SC 2017). Times are in seconds, ``s`` from
    the start of the log.
    """

    name = "f2"
    value = staticmethod(lambda d, n, log_s: np.sqrt(d) * n + 2.56e4 * log_s)


class F3(_Fitted):
    """
    ``d n + 6.86e6 log10(s)``, smallest first: predicted runtime d, cores n, submit time s.

    Fitted by simulation (Carastan-Santos and de Camargo, SC 2017). Times are in seconds, ``s`` from
    the start of the log.
    """

    name = "f3"
    value = staticmethod(lambda d, n, log_s: d * n + 6.86e6 * log_s)


class F4(_Fitted):
    """
    ``d sqrt(n) + 5.3e5 log10(s)``, smallest first: predicted runtime d, cores n, submit time s.

    Fitted by simulation (Carastan-Santos and de Camargo, SC 2017). Times are in seconds, ``s`` from
    the start of the log.
    """

    name = "f4"
    value = staticmethod(lambda d, n, log_s: d * np.sqrt(n) + 5.30e5 * log_s)
