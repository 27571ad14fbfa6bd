"""
Our dispatchers inside the real AccaSim.

A :class:`CpschedDispatcher` keeps a :class:`~cpsched.engine.cluster.Cluster` in step with
AccaSim's own state. It reads the queued jobs that AccaSim passes, and the jobs that have started or
ended; of ``es_dict``, which holds future jobs, only the length is used, and ``duration`` is never
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accasim_adapter.machine import MachineExtras
from accasim_adapter.mirror import AccasimMirror
from accasim_adapter.package import JobVerification, SchedulerBase
from cpsched.dispatch.contract import Dispatcher
from cpsched.engine.cluster import Cluster
from cpsched.engine.predicting import Correction
from cpsched.errors import one_of
from cpsched.util.spec import Spec, build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accasim_adapter.mirror import Answer
    from accasim_adapter.package import Event
    from cpsched.model.prediction import RuntimePredictor
    from cpsched.model.system import System


class CpschedDispatcher(SchedulerBase):  # type: ignore[misc]
    """
    A dispatcher of cpsched for ``accasim.base.simulator_class.Simulator``.

    It selects the nodes itself, so AccaSim needs no allocator. One object serves one simulation at
    a time. The next simulation starts with an empty state.

    Parameters
    ----------
    dispatcher
        A specification like ``easy:backfill=sjf``, or a dispatcher.
    predictor
        The predictor of runtimes. Jobs that a
        :class:`~accasim_adapter.predictor.CpschedPredictor` has predicted keep that prediction.
    system
        The same system as AccaSim's (or its name or file) with the data that AccaSim lacks: queues,
        expected waits, limits, topology. Without it all queues have the same expected wait.
    default_time
        Requested time of jobs without one (-1 in a log), seconds.
    correction, seed
        As for :class:`~cpsched.simulation.simulator.Simulator`.
    epoch
        Unix time of AccaSim's second 0, if known. 0 if its times are Unix times. A trained
        predictor counts hours from it.
    job_check
        AccaSim's check of jobs, see its ``JobVerification``. Jobs that can never run are rejected
        here as well.

    Raises
    ------
    ConfigError
        If a name, an option or a file is unknown, a time is invalid, or AccaSim is not installed.
        Also when AccaSim's simulator is made, if ``system`` is another system.
    """

    name = "cpsched"

    def __init__(
        self,
        dispatcher: str | Dispatcher = "easy",
        *,
        predictor: str | RuntimePredictor = "requested",
        system: System | str | None = None,
        default_time: int | None = None,
        correction: str = "requested",
        seed: int = 0,
        epoch: int | None = None,
        job_check: Any = None,
    ) -> None:
        checks = JobVerification.CHECK_REQUEST if job_check is None else job_check
        SchedulerBase.__init__(self, seed, allocator=None, job_check=checks)
        # All errors must be found here: after a failed construction, AccaSim makes no second
        # simulator in the process.
        if isinstance(dispatcher, str):
            spec = Spec.parse(dispatcher)
            self._dispatcher, dispatcher_name = build("dispatchers", spec), str(spec)
        elif isinstance(dispatcher, Dispatcher):
            self._dispatcher, dispatcher_name = dispatcher, dispatcher.name
        else:
            raise TypeError(f"dispatcher is {dispatcher!r}, must be a name or a Dispatcher")
        self._predictor: RuntimePredictor = (
            build("predictors", predictor) if isinstance(predictor, str) else predictor
        )
        self.name = f"{type(self).name}-{dispatcher_name}"
        self._correction = one_of(Correction, correction, "correction")
        self._seed = seed
        self._epoch = epoch
        self._extras = MachineExtras.checked(system, default_time)
        self.cluster: Cluster | None = None

    def get_id(self) -> str:
        """Return the dispatcher's name and options, usable as a folder name."""
        return "".join(mark if mark.isalnum() or mark in "+-=." else "_" for mark in self.name)

    def set_resource_manager(self, resource_manager: Any) -> None:
        """Set AccaSim's system. Its simulator calls this before it starts."""
        super().set_resource_manager(resource_manager)
        if resource_manager is None:
            return
        self.cluster = Cluster(
            self._extras.system_of(resource_manager),
            self._dispatcher,
            self._predictor,
            correction=self._correction,
            any_queue=True,
            seed=self._seed,
            epoch=self._epoch,
            may_change=False,
        )
        self._mirror = AccasimMirror(self.cluster, resource_manager)

    def scheduling_method(
        self, cur_time: int, jobs: list[Event], es_dict: Mapping[str, Event]
    ) -> tuple[list[Answer], list[str]]:
        """
        Return the jobs to start now to AccaSim.

        Parameters
        ----------
        cur_time
            The present second.
        jobs
            The queued jobs, in queue order.
        es_dict
            All jobs that AccaSim has loaded, also future ones. Only its length is used.

        Returns
        -------
        answers, rejected
            One answer for each queued job that is not rejected: starting jobs in the dispatcher's
            order, then waiting jobs in queue order. And the ids of jobs that can never run on the
            system.

        Raises
        ------
        DispatchError
            If the dispatcher breaks an invariant, or leaves jobs waiting forever.
        """
        mirror = self._mirror
        rejected = mirror.follow(cur_time, jobs)
        for job_id, reason in rejected.items():
            self._logger.warning("%s can never run here: %s", job_id, reason)
        answers = mirror.decide(cur_time) if mirror.is_news(cur_time) else mirror.postponed()
        mirror.check_not_stuck(len(es_dict) - len(rejected))
        return answers, [*rejected]
