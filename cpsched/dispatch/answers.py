"""
What a user's own dispatchers, priorities and allocators may answer: checked where they answer.

Whoever asks them, a wrong answer is one line that names the class, the method, the answer, and what
is accepted. Classes that come with cpsched are not checked here: tests do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cpsched.errors import DispatchError
from cpsched.model.allocation import Allocation
from cpsched.model.decision import Decision, Kill, PlannedStarts, Requeue, Resize, Start, Suspend
from cpsched.util.own_code import check_returns, method_of, repr_of, title

if TYPE_CHECKING:
    from collections.abc import Callable

_ACTIONS = (Start, Requeue, Resize, Suspend, Kill)


def check_decision(dispatcher: Any, decision: Any, method: str = "decide") -> None:
    """
    Check what a decision is made of, but not whether it is possible.

    Raises
    ------
    DispatchError
        If it is not made of what it must be.
    """
    if not isinstance(decision, Decision):
        raise DispatchError(
            f"{method_of(dispatcher, method)}{dispatcher.name or 'it'} decides"
            f" {repr_of(decision)},"
            " must be a Decision (an empty one to start nothing)"
        )
    actions: Any
    actions, planned, _, stats = decision
    if not isinstance(actions, Sequence) or isinstance(actions, str):
        refuse(
            dispatcher, "decide", f"actions={repr_of(actions)}", "a list of Start and other actions"
        )
    for action in actions:
        if type(action) is Start:
            if type(action.handle) is int and type(action.allocation) is Allocation:
                continue
            _check_handle(dispatcher, action)
            _check_allocation(dispatcher, action)
        elif isinstance(action, _ACTIONS):
            _check_handle(dispatcher, action)
            if isinstance(action, Start | Resize):
                _check_allocation(dispatcher, action)
        else:
            wanted = "Start, Requeue, Resize, Suspend or Kill"
            refuse(dispatcher, "decide", f"the action {repr_of(action)}", wanted)
    if planned is not None:
        _check_planned(dispatcher, planned)
    if stats:
        _check_stats(dispatcher, stats)


def _check_handle(dispatcher: Any, action: Any) -> None:
    try:
        index(action.handle)
    except TypeError:
        what = f"{type(action).__name__} with the handle {repr_of(action.handle)}"
        refuse(dispatcher, "decide", what, "a whole number (view.waiting.handle[i])")


def _check_allocation(dispatcher: Any, action: Any) -> None:
    given = action.allocation
    # What an allocation holds is checked where it is taken.
    if not (isinstance(given, Sequence) and len(given) == len(Allocation._fields)):
        what = f"{type(action).__name__} with the allocation {repr_of(given)}"
        refuse(dispatcher, "decide", what, "an Allocation of node, units and amount")


def _check_planned(dispatcher: Any, planned: Any) -> None:
    if not isinstance(planned, PlannedStarts):
        refuse(dispatcher, "decide", f"planned_starts={repr_of(planned)}", "PlannedStarts or None")
    try:
        handles, starts = ([index(number) for number in part] for part in planned[:2])
        same = len(handles) == len(starts)
    except TypeError:
        same = False
    if not same:
        wanted = "as many whole seconds as handles"
        refuse(dispatcher, "decide", f"planned_starts={repr_of(planned)}", wanted)


def _check_stats(dispatcher: Any, stats: Any) -> None:
    if not isinstance(stats, Mapping):
        refuse(dispatcher, "decide", f"stats={repr_of(stats)}", "numbers by name")
    for name, value in stats.items():
        if not isinstance(name, str):
            refuse(dispatcher, "decide", f"stats with the name {repr_of(name)}", "text")
        if not isinstance(value, Real) or not isfinite(value):
            refuse(dispatcher, "decide", f"stats['{name}'] = {repr_of(value)}", "a finite number")


def check_keys(priority: Any, keys: Any, jobs: Any, *_: Any) -> None:
    """
    Check the sort keys that a priority gives for some jobs.

    Raises
    ------
    DispatchError
        If they are not arrays of a number for each job, or one is NaN.
    """
    wanted = f"a tuple of arrays with one number for each of the {len(jobs)} jobs"
    if not isinstance(keys, tuple) or not keys:
        refuse(priority, "keys", _shown(keys), wanted)
    for key in keys:
        if not (
            isinstance(key, np.ndarray) and key.shape == (len(jobs),) and key.dtype.kind in "biuf"
        ):
            refuse(priority, "keys", f"the key {_shown(key)}", wanted)
        if key.dtype.kind == "f" and np.isnan(key).any():
            refuse(priority, "keys", "a key with NaN", "numbers, which can be ordered")


def check_order(priority: Any, order: Any, jobs: Any, *_: Any) -> None:
    """
    Check the order in which a priority puts some jobs.

    Raises
    ------
    DispatchError
        If it is not each position once.
    """
    if not _is_permutation(order, np.arange(len(jobs))):
        refuse(priority, "order", _shown(order), f"each position from 0 to {len(jobs) - 1} once")


def check_rows(priority: Any, rows: Any, view: Any, *_: Any) -> None:
    """
    Check the waiting jobs' rows in the order of a priority.

    Raises
    ------
    DispatchError
        If they are not those of the view, each once.
    """
    if not _is_permutation(rows, view.waiting.rows):
        refuse(priority, "rows", _shown(rows), "each row of view.waiting.rows once")


def _is_permutation(values: Any, wanted: Any) -> bool:
    return (
        isinstance(values, np.ndarray)
        and values.dtype.kind in "iu"
        and values.shape == wanted.shape
        and bool(np.array_equal(np.sort(values), np.sort(wanted)))
    )


def check_placed(allocator: Any, allocation: Any, *_: Any, **__: Any) -> None:
    """
    Check what an allocator places a job on.

    Raises
    ------
    DispatchError
        If it is neither an allocation nor None.
    """
    if allocation is not None and not isinstance(allocation, Allocation):
        wanted = "an Allocation, or None where the job does not fit"
        refuse(allocator, "place", _shown(allocation), wanted)


def _decides(method: str) -> Callable[..., None]:
    return lambda dispatcher, decision, *_: check_decision(dispatcher, decision, method)


def _is_of(method: str, wanted: str, right: Callable[[Any], bool]) -> Callable[..., None]:
    def check(thing: Any, value: Any, *_: Any) -> None:
        if not right(value):
            refuse(thing, method, _shown(value), wanted)

    return check


def _are_rows(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu"


def _rows_or_none(method: str) -> Callable[..., None]:
    wanted = "an array of rows of the job store, or None"
    return _is_of(method, wanted, lambda value: value is None or _are_rows(value))


_OF_DISPATCHERS: Mapping[str, Callable[..., None]] = {
    "decide": _decides("decide"),
    "choose": _decides("choose"),
    "ranking": _rows_or_none("ranking"),
    "considered": _rows_or_none("considered"),
    "never_starts": _is_of("never_starts", "an array of rows of the job store", _are_rows),
    "state": _is_of("state", "a mapping", lambda value: isinstance(value, Mapping)),
    "wait_note": _is_of("wait_note", "text", lambda value: isinstance(value, str)),
    "reservations": _is_of(
        "reservations", "a list of Reservation", lambda value: isinstance(value, Sequence)
    ),
}


def check_own_dispatcher(cls: type) -> None:
    """Have what a dispatcher of a user's own returns checked."""
    check_returns(cls, _OF_DISPATCHERS)


def check_own_priority(cls: type) -> None:
    """Have what a priority of a user's own returns checked."""
    check_returns(cls, {"keys": check_keys, "order": check_order, "rows": check_rows})


def check_own_allocator(cls: type) -> None:
    """Have what an allocator of a user's own returns checked."""
    check_returns(cls, {"place": check_placed})


def _shown(array: Any) -> str:
    """Return what an array is like; of anything else, what it is."""
    if isinstance(array, np.ndarray):
        return f"an array of {array.dtype} with shape {array.shape}"
    return repr_of(array)


def refuse(thing: Any, method: str, what: str, wanted: str) -> NoReturn:
    """Raise DispatchError for what a method of a class returns."""
    raise DispatchError(f"{title(thing)}.{method} returns {what}, must be {wanted}")
