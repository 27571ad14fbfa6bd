"""
The speed of a job on a number of units other than that of its runtime.

After Amdahl: of the work of a job a fraction ``f`` is done by one unit while the others wait, so
that a job that takes ``t`` seconds on ``p`` units takes

    ``t (f + (1 - f) / n) / (f + (1 - f) / p)``

on ``n``. Work is counted in *parts*, of which so many are a second on ``p`` units, and done in
whole parts a second, so that no change of size gains or loses any.
"""

from __future__ import annotations

#: What ``serial`` counts in: the fraction f is that of a million.
MILLION = 10**6


def parts_of_second(preferred: int, serial: int) -> int:
    """
    Return how many parts of work a job does in a second on the units that its runtime is of.

    Parameters
    ----------
    preferred
        These units, p.
    serial
        Millionths of the work that one unit does alone.
    """
    return preferred if serial == 0 else MILLION


def parts_per_second(units: int, preferred: int, serial: int) -> int:
    """
    Return how many parts of its work a job does in a second on some units, at least one.

    Exact for linear speedup and for the preferred units; otherwise rounded down.

    Parameters
    ----------
    units
        What it has, n.
    preferred, serial
        As in :func:`parts_of_second`.
    """
    if serial == 0:
        return units
    shared = MILLION - serial
    ahead = units * (serial * preferred + shared)
    behind = preferred * (serial * units + shared)
    return max(MILLION * ahead // behind, 1)


def seconds_on(units: int, seconds: int, preferred: int, serial: int) -> int:
    """Return how long a job takes on some units that takes ``seconds`` on those it prefers."""
    parts = seconds * parts_of_second(preferred, serial)
    return -(-parts // parts_per_second(units, preferred, serial))
