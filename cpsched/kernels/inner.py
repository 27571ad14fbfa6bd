"""
How kernels are compiled that only other kernels call.

numba makes machine code of every function by itself, and again of everything that it calls when
it is a part of its caller. What only kernels call needs the second alone, which saves a third of
the time of a first run. That leans on numba's insides; with a numba that has not been tried it is
compiled as numba does it, to the same effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit

from cpsched.kernels.compiling import IS_TRIED

if TYPE_CHECKING:
    from collections.abc import Callable


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Compile a function with the kernel that calls it.

    Where numba is one that has been tried, there is nothing to call it from Python then. It is
    kept on disk as a part of that kernel.
    """
    options: dict[str, Any] = {}
    if IS_TRIED:
        from cpsched.kernels.linking import AS_A_PART

        options = AS_A_PART
    compiled: Callable[..., Any] = njit(**options)(function)
    return compiled
