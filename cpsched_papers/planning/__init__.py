"""Plans of one static instance: all jobs known, the machine empty."""

from __future__ import annotations

from cpsched_papers.planning.offline import OfflinePlan, plan
from cpsched_papers.planning.write import write

__all__ = ["OfflinePlan", "plan", "write"]
