"""Default and meaning of the parameters of slurm.conf, as the documentation and ``show`` print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.slurm.config.inventory import SCHEDULER, SLURM_CONF, Fate

if TYPE_CHECKING:
    from cpsched.slurm.dispatch.parameters import Parameter


def default_text(parameter: Parameter) -> str:
    """Return Slurm's default of a parameter, such as ``1440``; empty if it has none."""
    return value_text(parameter.kind.shown(parameter.default))


def meaning_text(parameter: Parameter) -> str:
    """Return the meaning of a parameter, with its unit, and whether it has no effect."""
    inventory = SCHEDULER if parameter.scheduler else SLURM_CONF
    ignored = inventory.of(parameter.name).fate is Fate.REPORTED
    return parameter.meaning + (" (read, without effect)" if ignored else "")


def value_text(value: Any) -> str:
    """Return a value of a Slurm policy as slurm.conf has it; empty for no value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value not in (None, "", [], (), {}) else ""
