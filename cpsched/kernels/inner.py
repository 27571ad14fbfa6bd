"""
How kernels are compiled that only other kernels call.

numba makes machine code of every function by itself, and again of everything that it calls when
it is a part of its caller. What only kernels call needs the second alone, which saves a third of
the time of a first run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit
from numba.extending import overload

from cpsched.kernels.linking import AS_A_PART, WITHOUT_COUNTS

if TYPE_CHECKING:
    from collections.abc import Callable


_OPTIONS: Any = AS_A_PART


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Compile a function with the kernel that calls it.

    It cannot be called from Python. It is kept on disk as a part of that kernel.
    """
    compiled: Callable[..., Any] = njit(**AS_A_PART)(function)
    return compiled


def leaf(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Compile an inner function that neither makes nor returns arrays, without counting references.

    numba counts a reference whenever an array is taken out of a tuple or sliced, with atomic
    instructions: more than half the time of a pass. A function that makes or returns an array, or
    calls one that does, must be :func:`inner`: here its memory would never be freed, or freed
    twice. Views of its arguments are safe.
    """
    compiled: Callable[..., Any] = njit(**AS_A_PART, **WITHOUT_COUNTS)(function)
    return compiled


def used_where(is_used: Callable[[Any], bool], otherwise: Callable[..., Any]) -> Any:
    """
    Compile an inner function only where its first argument is of a type that may need it.

    Elsewhere ``otherwise`` takes its place, with the same arguments and a result of the same type:
    what a run does not use costs it no time.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(first: Any, *_: Any) -> Callable[..., Any]:
            return function if is_used(first) else otherwise

        overload(function, jit_options=_OPTIONS, strict=False)(chosen)
        return function

    return decorate
