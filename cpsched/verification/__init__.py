"""Whether a schedule is valid: checked against its inputs, without the simulator's code."""

from __future__ import annotations

from cpsched.verification.findings import Rule, Violation
from cpsched.verification.verifier import verify

__all__ = ["Rule", "Violation", "verify"]
