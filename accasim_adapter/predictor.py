"""Our predictors inside the real AccaSim, for its dispatchers as for ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from accasim_adapter.additional import Hooks
from accasim_adapter.jobs import PREDICTED, Predicted, request_of, status_of
from accasim_adapter.machine import MachineExtras
from cpsched.engine.encoder import JobEncoder
from cpsched.engine.predicting import predict
from cpsched.errors import InfeasibleRequestError
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable
from cpsched.model.prediction import Outcome
from cpsched.model.seeds import stream_seed
from cpsched.util.spec import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accasim_adapter.package import Event
    from cpsched.model.prediction import RuntimePredictor
    from cpsched.model.system import System


class CpschedPredictor(Hooks):
    """
    Predictor of cpsched for AccaSim: sets ``expected_duration`` of jobs, and learns from ends.

    A job is predicted before the first decision that could start it, and its outcome is passed to
    the predictor when it has ended. AccaSim's own dispatchers then plan and sort by the prediction.
    A :class:`~accasim_adapter.dispatcher.CpschedDispatcher` finds all three estimates, and the
    requested time, in the job.

    Parameters
    ----------
    predictor
        A specification like ``user-history`` or ``last:count=2``, or a predictor (for example a
        trained one).
    system, default_time
        As for :class:`~accasim_adapter.dispatcher.CpschedDispatcher`.
    seed
        Seed of the predictor.
    epoch
        Unix time of AccaSim's second 0, if known. 0 if its times are Unix times. A trained
        predictor counts hours from it.

    Raises
    ------
    ConfigError
        If a name or an option is unknown, or AccaSim is not installed.
    """

    def __init__(
        self,
        predictor: str | RuntimePredictor = "user-history",
        *,
        system: System | str | None = None,
        default_time: int | None = None,
        seed: int = 0,
        epoch: int | None = None,
    ) -> None:
        super().__init__()
        self.predictor: RuntimePredictor = (
            build("predictors", predictor) if isinstance(predictor, str) else predictor
        )
        self._extras = MachineExtras.checked(system, default_time)
        self._seed = seed
        self._epoch = epoch
        self._row_of: dict[str, int] = {}

    def begin(self, event_manager: Any) -> None:
        """Set AccaSim's system."""
        self._system = system = self._extras.system_of(event_manager.resource_manager)
        self._row_of = {}
        self._store = JobStore(system.resources)
        self._encoder = JobEncoder(system, self._store, any_queue=True)
        self.predictor.on_epoch(self._epoch)
        self.predictor.reset(system, stream_seed(self._seed, "predictor"))

    def exec_before_dispatching(
        self, job_dict: Mapping[str, Event], queued_jobs: Sequence[str]
    ) -> None:
        """Predict the jobs that are queued for the first time."""
        for job_id in queued_jobs:
            if job_id not in self._row_of:
                self._predict(job_dict[job_id])

    def exec_after_dispatching(
        self,
        job_dict: Mapping[str, Event],  # noqa: ARG002
        to_dispatch_jobs: Sequence[tuple[int | None, str, Sequence[str]]],
        rejected_jobs: Sequence[str],
    ) -> None:
        """Notify the predictor of starts and rejections."""
        now = self.event_mapper.current_time
        for _, job_id, nodes in to_dispatch_jobs:
            if nodes:
                self.predictor.on_start(self._job(job_id), now)
        for job_id in rejected_jobs:
            if self._row_of.get(job_id, -1) >= 0:
                self.predictor.on_cancel(self._job(job_id), now)
            self._row_of.pop(job_id, None)

    def exec_after_completion(self, removed_jobs: Sequence[Event]) -> None:
        """Pass the outcomes of jobs that have just ended to the predictor."""
        now = self.event_mapper.current_time
        for job in removed_jobs:
            assert job.start_time is not None  # it has ended
            outcome = Outcome(
                np.array([now - job.start_time]),
                np.array([int(status_of(job))]),
                np.array([False]),
            )
            self.predictor.observe(self._job(job.id), outcome, now)
            del self._row_of[job.id]

    def _predict(self, job: Event) -> None:
        now = self.event_mapper.current_time
        try:
            request = request_of(job, self._system)
            row = self._encoder.add(request, now)
        except InfeasibleRequestError:
            # The dispatcher will reject it.
            self._row_of[job.id] = -1
            return
        self._row_of[job.id] = row
        table = self._job(job.id)
        predict(self.predictor, self._store, table, now)
        (known,) = table
        points = known.ranking_estimate, known.runtime_estimate, known.runtime_bound
        answers = (*points, known.runtime_quantiles, known.ends_within)
        setattr(job, PREDICTED, Predicted(request.requested_time, answers))
        job.expected_duration = known.runtime_estimate

    def _job(self, job_id: str) -> JobTable:
        return JobTable(self._store, np.array([self._row_of[job_id]], dtype=np.int64))
