"""CP-SAT, with a deterministic limit."""

from __future__ import annotations

from cpsched.cp import cpsat
