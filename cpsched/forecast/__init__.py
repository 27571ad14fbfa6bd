"""When jobs will start: any dispatcher, played forward in scenarios of what may come."""

from __future__ import annotations

from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.starts import Starts

__all__ = ["Forecaster", "Starts"]
