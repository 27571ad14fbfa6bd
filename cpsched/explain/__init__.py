"""Why a job starts or does not start at a given time of a simulation."""

from __future__ import annotations

from cpsched.explain.explain import explain
from cpsched.explain.model import Explanation

__all__ = ["Explanation", "explain"]
