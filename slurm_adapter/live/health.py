"""Whether an engine is well: its sign of life, and its leases in Slurm."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import RunError
from slurm_adapter.live.audit import HEALTH
from slurm_adapter.live.lease import token_of
from slurm_adapter.live.order import UnreachableError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from slurm_adapter.live.scontrol import Scontrol
    from slurm_adapter.live.snapshot import Lease


def sign_of_life(state: Path) -> Mapping[str, Any]:
    """
    Return the last sign of life of a folder's engine, as :mod:`slurm_adapter.live.audit` writes it.

    Raises
    ------
    RunError
        If there is none, or it cannot be read.
    """
    path = state / HEALTH
    try:
        known: dict[str, Any] = json.loads(path.read_text())
        return {**known, "time": float(known["time"])}
    except FileNotFoundError:
        raise RunError(f"no engine has acted in {state}") from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None


def own_leases(state: Path, backend: Scontrol) -> dict[str, Lease]:
    """Return the leases of a folder's engine, by partition; those that have ended, too."""
    token = token_of(state)
    return {name: one for name, one in backend.leases().items() if one.token == token}


def why_not_well(state: Path, most: float, backend: Scontrol) -> str:
    """
    Return what the engine of a folder lacks, or ''.

    Parameters
    ----------
    most
        Seconds since the last sign of life that are too long.
    """
    try:
        known = sign_of_life(state)
    except RunError as error:
        return str(error)
    age = time.time() - known["time"]
    if "ended" in known:
        return f"the engine ended {age:.0f} s ago: {known['ended']}"
    if age > most:
        return f"the engine has given no sign of life for {age:.0f} s"
    try:
        leases = own_leases(state, backend).values()
    except (UnreachableError, UnreadableError) as error:
        return str(error)
    valid = any(lease.until > time.time() for lease in leases)
    return "" if valid else "the engine has no lease"
