"""The schedule worked out by hand, as fixtures."""

from by_hand import schedule, system, workload

__all__ = ["schedule", "system", "workload"]
