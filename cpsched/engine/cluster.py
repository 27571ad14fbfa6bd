"""
A machine somebody else runs: they say what happens, a dispatcher says what starts.

This is the engine without the simulator. Whoever holds a machine (another simulator, a resource
manager, a test) tells a :class:`Cluster` of submits, starts and ends in the order of time, and
asks it what to start now. The views a dispatcher gets are those it gets in a simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.engine.encoder import JobEncoder, Request
from cpsched.engine.predicting import Correction, correct_overdue, predict_into_store
from cpsched.engine.state import State
from cpsched.errors import ConfigError, DispatchError, InfeasibleRequestError
from cpsched.model import columns as c
from cpsched.model.decision import Start
from cpsched.model.jobtable import JobTable
from cpsched.model.types import Status
from cpsched.prediction import Outcome, RuntimePredictor, listens
from cpsched.spec import build

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.allocation import Allocation
    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.model.view import View


class Cluster:
    """
    The state of a machine, a dispatcher, and a predictor; without a clock.

    Jobs are known by the handle that :meth:`submit` gives. Every call names the present second,
    which never goes back. Nothing starts by itself: :meth:`decide` answers what should start, and
    :meth:`start` says that it did.

    Parameters
    ----------
    system
        The machine.
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``, or objects.
    correction
        Where a running job's end is expected once its prediction has passed, see
        :class:`~cpsched.engine.predicting.Correction`.
    any_queue
        Whether jobs may name queues that the system does not have. These have no rules, and the
        system's default expected wait.
    seed
        Given to dispatcher and predictor.
    epoch
        Unix time of second 0, where it is known: a trained predictor counts hours from it.

    Raises
    ------
    ConfigError
        If a name or an option is unknown.

    Attributes
    ----------
    state
        Queue, running jobs and free capacity; to look at, not to change.
    """

    def __init__(
        self,
        system: System,
        dispatcher: str | Dispatcher = "easy",
        predictor: str | RuntimePredictor = "requested",
        *,
        correction: Correction | str = Correction.REQUESTED,
        any_queue: bool = False,
        seed: int = 0,
        epoch: int | None = None,
    ) -> None:
        self.system = system
        self.state = State(system)
        self.dispatcher: Dispatcher = (
            build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
        )
        self.predictor: RuntimePredictor = (
            build("predictors", predictor) if isinstance(predictor, str) else predictor
        )
        self.correction = correction_named(correction)
        self.now = 0
        self._encoder = JobEncoder(system, self.state.store, any_queue=any_queue)
        #: What each node that is down would have free otherwise.
        self._down: dict[int, IntArray] = {}
        self._sees_starts = listens(self.predictor, "on_start")
        self._learns = listens(self.predictor, "observe")
        self.dispatcher.reset(system, seed)
        self.predictor.on_epoch(epoch)
        self.predictor.reset(system, seed)

    # --- what happens ----------------------------------------------------------------------------

    def submit(self, request: Request, now: int, *, job_id: str = "", predicted: Any = None) -> int:
        """
        Put a job at the end of the queue.

        Parameters
        ----------
        job_id
            What messages call it.
        predicted
            Runtimes that somebody else has predicted, seconds: priority, plan and bound. Then the
            predictor is not asked.

        Returns
        -------
        int
            Its handle; handles count up from 0.

        Raises
        ------
        InfeasibleRequestError
            If it can never run on this machine; then nothing has changed.
        ConfigError
            If its queue is none of the system's, or time goes back.
        """
        self._tick(now)
        try:
            row = self._encoder.add(request, now)
        except InfeasibleRequestError as error:
            raise InfeasibleRequestError(job_id or f"of {request.user}", error.reason) from None
        if len(self._encoder.masks) != len(self.state.eligible):
            self._set_eligible()
        if predicted is not None:
            self.state.store.writable[row, c.PRIORITY : c.BOUND + 1] = predicted
        else:
            predict_into_store(self.predictor, self._job(row), now)
        self.state.enqueue(row)
        return row

    def start(self, starts: Iterable[Start], now: int) -> None:
        """
        Say that waiting jobs have started, as :meth:`decide` answered or anywhere else.

        Raises
        ------
        DispatchError
            If a job does not wait, or what it is given is not what it asked for, or not free.
        """
        self._tick(now)
        state = self.state
        for handle, allocation in starts:
            state.start(handle, allocation, now)
            if self._sees_starts:
                self.predictor.on_start(self._job(handle), now)
        state.drop_started()

    def failed(self, handle: int, now: int) -> None:
        """Say that a start did not come about: the job waits, with one more attempt."""
        self._tick(now)
        columns = self.state.store.writable
        if columns[handle, c.STATE] == c.RUNNING:
            self._free(handle)
            self.state.release(handle)
        columns[handle, c.ATTEMPTS] += 1

    def end(
        self, handle: int, now: int, *, status: Status = Status.COMPLETED, killed: bool = False
    ) -> None:
        """
        Say that a running job has ended.

        Parameters
        ----------
        status
            How it ended.
        killed
            Whether it was ended at its requested time.

        Raises
        ------
        DispatchError
            If the job does not run.
        """
        self._tick(now)
        columns = self.state.store.columns
        if not self._is(handle, c.RUNNING):
            raise DispatchError(f"job {handle} is said to have ended, but it does not run")
        runtime = now - columns.item(handle, c.START)
        self._free(handle)
        if self._learns:
            outcome = Outcome(np.array([runtime]), np.array([int(status)]), np.array([killed]))
            self.predictor.observe(self._job(handle), outcome, now)

    def cancel(self, handle: int, now: int) -> None:
        """
        Take a waiting job out of the queue.

        Raises
        ------
        DispatchError
            If the job does not wait.
        """
        self._tick(now)
        if not self._is(handle, c.WAITING):
            raise DispatchError(f"job {handle} is cancelled, but it does not wait")
        self.state.store.writable[handle, c.STATE] = c.ENDED
        self.state.drop_started()
        self.predictor.on_cancel(self._job(handle), now)

    def set_down(self, nodes: Iterable[int]) -> None:
        """
        Say which nodes are down; all others are up.

        Nothing starts on a node that is down; what runs there goes on until its end is told.
        """
        wanted = {int(node) for node in nodes}
        for node in wanted - self._down.keys():
            self._down[node] = np.zeros(len(self.system.resources), dtype=np.int64)
        for node in self._down.keys() - wanted:
            self.state.free[node] += self._down.pop(node)
        up = np.ones(self.system.num_nodes, dtype=np.bool_)
        up[list(wanted)] = False
        up.flags.writeable = False
        self.state.node_up = up
        self._hide_down()
        self._set_eligible()

    # --- what follows ----------------------------------------------------------------------------

    def decide(self, now: int) -> Decision:
        """
        Ask the dispatcher what starts now.

        Its answer is not carried out: tell :meth:`start` which of its starts came about (or
        :meth:`failed` which did not).

        Raises
        ------
        DispatchError
            If it wants something else than to start jobs, or to be woken in the past.
        """
        self._tick(now)
        if self.state.is_overdue(now):
            correct_overdue(self.state, self.correction, now)
        decision = self.dispatcher.decide(self.view(now))
        for action in decision.actions:
            if not isinstance(action, Start):
                raise DispatchError(
                    f"{self.dispatcher.name} asks for {type(action).__name__} of job"
                    f" {action.handle}, which is not possible here: jobs are rigid"
                )
        if decision.again_at is not None and decision.again_at <= now:
            raise DispatchError(
                f"{self.dispatcher.name} wants to be woken at {decision.again_at},"
                f" it is {now} already"
            )
        return decision

    def view(self, now: int) -> View:
        """Return what the dispatcher may know now; valid until something happens."""
        return self.state.view(now)

    def node_names(self, allocation: Allocation) -> list[str]:
        """Return the name of a node for each unit."""
        names = self.system.node_names
        return [
            names[node]
            for node, units in zip(allocation.node.tolist(), allocation.units.tolist(), strict=True)
            for _ in range(units)
        ]

    # --- steps -----------------------------------------------------------------------------------

    def _tick(self, now: int) -> None:
        if now < self.now:
            raise ConfigError(f"it is {self.now} already, and is told to be {now}", where="Cluster")
        self.now = now

    def _job(self, handle: int) -> JobTable:
        return JobTable(self.state.store, np.array([handle], dtype=np.int64))

    def _is(self, handle: int, state: int) -> bool:
        store = self.state.store
        return 0 <= handle < store.size and store.columns.item(handle, c.STATE) == state

    def _free(self, row: int) -> None:
        self.state.end(row)
        if self._down:
            self._hide_down()

    def _hide_down(self) -> None:
        free = self.state.free
        for node, hidden in self._down.items():
            hidden += free[node]
            free[node] = 0

    def _set_eligible(self) -> None:
        masks = self._encoder.masks
        if masks:
            self.state.set_eligible(np.stack(masks) & self.state.node_up)


def correction_named(name: Correction | str) -> Correction:
    """Return a correction by its name, or raise ConfigError saying which there are."""
    try:
        return Correction(name)
    except ValueError:
        known = ", ".join(Correction)
        raise ConfigError(f"is '{name}', must be one of: {known}", key="correction") from None
