"""``--observe`` of ``cpsched simulate``: observers by name, which other packages bring."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.spec import build
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.mapping import Fitted
    from cpsched.simulation.observers import Observer, RunObserver
    from cpsched.study.campaign import Outcome
    from cpsched.study.status import Watch
    from cpsched.study.task import Task

KEY = "--observe"


@contextmanager
def observed(
    specs: Sequence[str], tasks: Sequence[Task], fitted: Fitted, *, overwrite: bool, saved: bool
) -> Iterator[tuple[RunObserver, ...]]:
    """
    Give the observers of a run, opened.

    Parameters
    ----------
    saved
        Whether the run's state is kept in a checkpoint.

    Raises
    ------
    ConfigError
        If there are several runs, an observer refuses this one, or the run starts from a
        checkpoint.
    """
    observers: tuple[RunObserver, ...] = tuple(build("observers", spec) for spec in specs)
    if observers and len(tasks) > 1:
        raise ConfigError(f"it is for one run, but these are {len(tasks)}", key=KEY)
    if observers and saved:
        raise ConfigError("it cannot continue from a checkpoint: leave out --checkpoint", key=KEY)
    rejected = [row for row, _ in fitted.rejected]
    names = np.delete(fitted.workload.job_id, rejected).tolist() if observers else []
    with ExitStack() as stack:
        for observer in observers:
            dispatcher = build("dispatchers", tasks[0].dispatcher)
            stack.enter_context(observer.opened(dispatcher, names, overwrite=overwrite))
        yield observers


def beside(watch: Watch | None, observers: tuple[RunObserver, ...]) -> Watch | None:
    """Return a study's watch that has these observers too."""
    if not observers:
        return watch

    def both(display: Any, task: Any, epoch: int | None) -> tuple[Observer, ...]:
        return (*observers, *(() if watch is None else watch(display, task, epoch)))

    return both


def check_was_observed(observers: Sequence[RunObserver], outcome: Outcome) -> None:
    """Refuse to say nothing where a run was there already and nothing was observed."""
    if observers and outcome.kept:
        raise ConfigError("the run exists already and was not repeated: add --overwrite", key=KEY)
