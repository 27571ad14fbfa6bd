"""
Several simulations of AccaSim, each in its own process.

AccaSim keeps one set of constants for a whole process, and clears it when a simulation ends: two at
a time would mix their files and settings, and an interrupted one leaves its own behind.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Task:
    """
    One simulation.

    Everything in it is sent to another process, so functions must be importable by name.

    Attributes
    ----------
    workload, system
        Files for AccaSim: a log in SWF and a system configuration.
    dispatcher
        A specification of ours (``"easy:backfill=sjf"``), or a function without arguments that
        makes a dispatcher of AccaSim.
    out
        Folder for its files.
    additional_data
        Functions that make objects of AccaSim's ``AdditionalData``.
    options
        More arguments of :class:`~accasim_adapter.dispatcher.CpschedDispatcher`.
    settings
        More arguments of AccaSim's ``Simulator``.
    """

    workload: str | Path
    system: str | Path
    dispatcher: str | Callable[[], Any]
    out: str | Path
    additional_data: Sequence[Callable[[], Any]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def run(tasks: Sequence[Task], *, processes: int = 1) -> list[dict[str, str]]:
    """
    Run simulations, several at a time; each gets a new process.

    Returns
    -------
    list of dict
        For each task the files AccaSim wrote, by prefix (``sched-``, ``stats-``, ...).

    Raises
    ------
    ConfigError
        If ``processes`` is less than 1, or a dispatcher or an option is unknown. Exceptions of a
        simulation are passed on.
    """
    if processes < 1:
        raise ConfigError(f"is {processes}, must be 1 or more", key="processes")
    # Not forked: a child would inherit AccaSim's constants and the caller's threads.
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, max_tasks_per_child=1) as pool:
        return list(pool.map(_run, tasks))


def _run(task: Task) -> dict[str, str]:
    from accasim_adapter.dispatcher import CpschedDispatcher
    from accasim_adapter.package import Simulator

    made = (
        CpschedDispatcher(task.dispatcher, **task.options)
        if isinstance(task.dispatcher, str)
        else task.dispatcher()
    )
    simulator = Simulator(
        str(task.workload),
        str(task.system),
        made,
        additional_data=[make() for make in task.additional_data],
        RESULTS_FOLDER_PATH=str(task.out),
        **task.settings,
    )
    files: dict[str, str] = simulator.start_simulation()
    return files
