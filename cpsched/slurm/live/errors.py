"""What may go wrong while a live Slurm is read."""

from __future__ import annotations

from cpsched.errors import CpschedError


class UnreachableError(CpschedError, ConnectionError):
    """Slurm does not answer now."""


class UnreadableError(CpschedError, ValueError):
    """Slurm's answer cannot be read; names the field and the value."""
