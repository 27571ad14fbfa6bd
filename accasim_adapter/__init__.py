"""
cpsched inside AccaSim 1.1.3: our dispatchers and predictors in its simulator, and its files.

Import this package before ``accasim``: it makes that import work on Python 3.10 and later
(:mod:`accasim_adapter.mending`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accasim_adapter import mending

if TYPE_CHECKING:
    from accasim_adapter.additional import DispatchAgain
    from accasim_adapter.config import system_config, write_system_config
    from accasim_adapter.dispatcher import CpschedDispatcher
    from accasim_adapter.predictor import CpschedPredictor
    from accasim_adapter.schedule import read_schedule
    from accasim_adapter.simulation import simulator

__all__ = [
    "CpschedDispatcher",
    "CpschedPredictor",
    "DispatchAgain",
    "read_schedule",
    "simulator",
    "system_config",
    "write_system_config",
]

#: Where the public names are; what imports AccaSim is imported when it is asked for.
_MODULES = {
    "CpschedDispatcher": "dispatcher",
    "CpschedPredictor": "predictor",
    "DispatchAgain": "additional",
    "read_schedule": "schedule",
    "simulator": "simulation",
    "system_config": "config",
    "write_system_config": "config",
}

mending.install()


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
