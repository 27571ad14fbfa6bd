"""When jobs will start: any dispatcher, simulated forward in scenarios."""

from __future__ import annotations

from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.starts import Starts

__all__ = ["Forecaster", "Starts"]
