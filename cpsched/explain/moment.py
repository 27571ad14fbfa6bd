"""Simulate up to a second and inspect the dispatcher's last decision by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.base.spec import build
from cpsched.dispatch.contract import Dispatcher
from cpsched.simulation.simulate import simulator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.mapping import Fitted
    from cpsched.model.decision import Decision
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.simulation.observers import Observer
    from cpsched.simulation.simulate import Settings
    from cpsched.simulation.simulator import Simulator

    Look = Callable[[Dispatcher, View, Decision], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """
    A simulation halted after the last instant up to a second.

    Attributes
    ----------
    simulator
        In the state after that instant.
    decided
        When the dispatcher was last called; None: never.
    seen
        What ``look`` of :func:`halt` returned for each decision of that instant.
    """

    simulator: Simulator
    decided: int | None
    seen: tuple[Any, ...]


def halt(
    fitted: Fitted,
    time: int,
    look: Look,
    *,
    dispatcher: str | Dispatcher,
    predictor: str,
    settings: Settings,
    prepare: Callable[[Dispatcher, View], None] | None = None,
    observers: Sequence[Observer] = (),
) -> Moment:
    """
    Simulate up to and including the last instant at or before ``time``.

    Parameters
    ----------
    dispatcher, predictor
        Specifications; the dispatcher may be an object.
    look
        Called with dispatcher, view and decision, before the decision is carried out, for the
        decisions of the last instant that has any. It may also be called for earlier ones, whose
        results are dropped.
    prepare
        Called with dispatcher and view before each decision that ``look`` is called for.
    """
    last: int | None = None
    while True:
        inner: Dispatcher = (
            build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
        )
        watched = _Watched(inner, time, last, look, prepare)
        simulator = watched.simulator = simulator_of(
            fitted, watched, predictor, settings, observers
        )
        while (instant := simulator.next_time()) is not None and instant <= time:
            simulator.step()
        if watched.decided is None or watched.seen:
            return Moment(simulator=simulator, decided=watched.decided, seen=tuple(watched.seen))
        # Later events needed no decision, so only now is the last decision known to be the last.
        last, observers = watched.decided, ()


class _Watched(Dispatcher):
    """Passes every view on, and shows the decisions that may be the last by a second."""

    simulator: Simulator

    def __init__(
        self,
        inner: Dispatcher,
        time: int,
        last: int | None,
        look: Look,
        prepare: Callable[[Dispatcher, View], None] | None,
    ) -> None:
        self.name = inner.name  # type: ignore[misc]
        self.acts_when_idle = inner.acts_when_idle
        self.interval = inner.interval
        self.decided: int | None = None
        self.seen: list[Any] = []
        self._inner = inner
        self._time = time
        self._last = last
        self._look = look
        self._prepare = prepare

    def reset(self, system: System, seed: int) -> None:
        self._inner.reset(system, seed)

    def decide(self, view: View) -> Decision:
        if view.now != self.decided:
            self.seen.clear()
        self.decided = view.now
        if not self._may_be_last(view.now):
            return self._inner.decide(view)
        if self._prepare is not None:
            self._prepare(self._inner, view)
        decision = self._inner.decide(view)
        self.seen.append(self._look(self._inner, view, decision))
        return decision

    def _may_be_last(self, now: int) -> bool:
        """
        Whether nothing is known to happen between this decision and the end.

        A job that starts in it may still end before; then the next decision may be the last.
        """
        if self._last is not None:
            return now == self._last
        after = self.simulator.next_time()
        interval = self.simulator.interval
        if interval and now - now % interval + interval > self._time:
            return True
        return after is None or after > self._time
