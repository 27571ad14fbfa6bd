"""How kernels are compiled that only other kernels call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Compile a function with the kernel that calls it, and with nothing to call it from Python.

    It is kept on disk as a part of that kernel; taking it over from Python would be a third of
    the time that compiling takes.
    """
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Callable[..., Any] = njit(**options)(function)
    return compiled
