"""Why a job does not start at a moment of a simulation, or why it does."""

from __future__ import annotations

from cpsched.explain.explain import explain
from cpsched.explain.model import Explanation

__all__ = ["Explanation", "explain"]
