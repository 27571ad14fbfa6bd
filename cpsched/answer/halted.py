"""Simulate up to a second and inspect the dispatcher's last decision by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.base.spec import build
from cpsched.dispatch.wrapper import Wrapper
from cpsched.simulation.simulate import simulator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.mapping import Fitted
    from cpsched.model.decision import Decision
    from cpsched.model.view import View
    from cpsched.simulation.observers import Observer
    from cpsched.simulation.simulate import Settings
    from cpsched.simulation.simulator import Simulator

    Look = Callable[[Dispatcher, View, Decision], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Halted:
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
) -> Halted:
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
        inner = build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
        watched = _Watched(inner, time, last, look, prepare)
        simulator = watched.simulator = simulator_of(
            fitted, watched, predictor, settings, observers
        )
        while (instant := simulator.next_time()) is not None and instant <= time:
            simulator.step()
        if watched.decided is None or watched.seen:
            return Halted(simulator=simulator, decided=watched.decided, seen=tuple(watched.seen))
        # Later events needed no decision, so only now is the last decision known to be the last.
        last, observers = watched.decided, ()


class _Watched(Wrapper):
    """Shows the decisions of another dispatcher that may be the last by a second."""

    simulator: Simulator

    def __init__(
        self,
        inner: Dispatcher,
        time: int,
        last: int | None,
        look: Look,
        prepare: Callable[[Dispatcher, View], None] | None,
    ) -> None:
        super().__init__(inner)
        self.name = inner.name  # type: ignore[misc]
        self.decided: int | None = None
        self.seen: list[Any] = []
        self._time, self._last, self._look, self._prepare = time, last, look, prepare

    def decide(self, view: View) -> Decision:
        if view.now != self.decided:
            self.seen.clear()
        self.decided = view.now
        shown = self._may_be_last(view.now)
        if shown and self._prepare is not None:
            self._prepare(self.inner, view)
        decision = self.inner.decide(view)
        if shown:
            self.seen.append(self._look(self.inner, view, decision))
        return decision

    def _may_be_last(self, now: int) -> bool:
        """
        Whether nothing is known to happen between this decision and the end.

        A job that starts in it may still end before; then the next decision may be the last.
        """
        if self._last is not None:
            return now == self._last
        after, interval = self.simulator.next_time(), self.simulator.interval
        if interval and now - now % interval + interval > self._time:
            return True
        return after is None or after > self._time
