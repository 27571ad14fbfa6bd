"""
Known and assumed figures of the generated log of ``farm_log.py``.

Published (Cochard and Simon, arXiv 2606.05914, abstract): the number of jobs of a year, of users,
machines and threads, and the memory. All else is assumed.
"""

from __future__ import annotations

from typing import NamedTuple

#: Published: jobs of 2024 (which had 366 days), and users.
JOBS, DAYS, USERS = 44_000_000, 366.0, 1000
#: Threads of the system farm-312.
THREADS = 208 * 128 + 104 * 192
#: Monday, 1 January 2024, in UTC.
EPOCH = 1_704_067_200


class Kind(NamedTuple):
    """
    A kind of jobs.

    Attributes
    ----------
    share, users
        Of all jobs, and of all users.
    arrays
        Share of its jobs that are tasks of arrays.
    cores, memory
        How many one job may have; MB for each, least and most.
    median, spread
        Of the campaigns' runtimes, seconds, and the deviation of their logarithm.
    days
        Median length of a campaign that is not an array.
    queue, limit
        Where its jobs wait, and the longest they may run, seconds.
    """

    share: float
    users: float
    arrays: float
    cores: tuple[int, ...]
    memory: tuple[int, int]
    median: float
    spread: float
    days: float
    queue: str
    limit: int


KINDS = {
    "pilot": Kind(0.08, 0.01, 0.0, (8,), (2000, 2250), 36_000, 0.5, 5.0, "grid", 4 * 86_400),
    "grid": Kind(0.17, 0.02, 0.0, (1,), (2000, 3000), 14_400, 0.9, 3.0, "grid", 4 * 86_400),
    "analysis": Kind(0.45, 0.62, 0.6, (1,), (1000, 4000), 2_400, 1.3, 0.5, "htc", 7 * 86_400),
    "short": Kind(0.24, 0.25, 0.5, (1,), (500, 2000), 120, 0.9, 0.2, "quick", 3_600),
    "wide": Kind(0.06, 0.10, 0.3, (2, 4, 8, 16), (2000, 4000), 5_400, 1.2, 0.5, "htc", 7 * 86_400),
}
#: Times that users ask for, seconds.
REQUESTS = (
    *(600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 2 * 86_400),
    *(3 * 86_400, 4 * 86_400, 7 * 86_400),
)
#: Share of campaigns whose users ask for the most that there is, and of jobs that fail.
DO_NOT_SAY, FAILED = 0.45, 0.06
#: Tasks of an array that may run at once, and their shares.
THROTTLES = ((0, 0.8), (50, 0.1), (200, 0.1))
#: Activity by hour, day of the week and month: people's; that of the grid hardly varies.
HOURS = (
    *(0.55, 0.5, 0.45, 0.45, 0.45, 0.5, 0.6, 0.8, 1.1, 1.4, 1.6, 1.6),
    *(1.3, 1.4, 1.6, 1.6, 1.5, 1.3, 1.05, 0.95, 0.9, 0.85, 0.75, 0.65),
)
WEEK = (1.1, 1.15, 1.15, 1.15, 1.05, 0.7, 0.7)
MONTHS = (1.0, 1.05, 1.1, 1.05, 1.0, 1.1, 0.9, 0.6, 1.0, 1.1, 1.15, 0.95)
#: Groups, of which large ones have many users.
GROUPS = 90
