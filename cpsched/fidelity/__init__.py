"""How closely a simulation reproduces what a log recorded."""

from __future__ import annotations

from cpsched.fidelity.measures import Fidelity, Measured, measure
from cpsched.fidelity.statement import statement

__all__ = ["Fidelity", "Measured", "measure", "statement"]
