"""How long a job runs, given where it runs: asked at every start and every resize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cpsched.model.allocation import Allocation
    from cpsched.model.types import IntArray


class RuntimeModel(Protocol):
    """
    Turns the truth of the log into end times.

    The simulator alone calls it; ``job`` is a handle.
    """

    def start(self, job: int, allocation: Allocation, now: int) -> int:
        """Return the work a job has before it, in seconds on its reference allocation."""
        ...

    def end(self, job: int, allocation: Allocation, remaining: int, now: int) -> int:
        """Return when the remaining work will be done on an allocation, in seconds."""
        ...


class Recorded:
    """
    Every job runs exactly as long as the log says, wherever it is put.

    Parameters
    ----------
    runtime
        Seconds, by handle.
    """

    name = "recorded"

    def __init__(self, runtime: IntArray) -> None:
        self._runtime: list[int] = runtime.tolist()

    def start(self, job: int, allocation: Allocation, now: int) -> int:  # noqa: ARG002
        """Return the recorded runtime."""
        return self._runtime[job]

    def end(self, job: int, allocation: Allocation, remaining: int, now: int) -> int:  # noqa: ARG002
        """Return ``now + remaining``."""
        return now + remaining
