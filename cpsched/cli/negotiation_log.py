"""``--log-negotiation`` of ``cpsched simulate``: the messages of ``dn-dbes``, as a file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.base.atomic_files import check_new_file, replacing
from cpsched.base.spec import build
from cpsched.errors import ConfigError
from cpsched.simulation.observers import Observer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import TextIO

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.malleable.dn_dbes.negotiation import Negotiation
    from cpsched.mapping import Fitted
    from cpsched.study.status import Watch
    from cpsched.study.task import Task

KEY = "--log-negotiation"


class NegotiationLog(Observer):
    """
    Writes the messages of the one run that it watches.

    Parameters
    ----------
    names
        Names of the jobs, by handle.
    """

    def __init__(self, file: TextIO, names: Sequence[str]) -> None:
        self._file, self._names = file, names
        self._negotiation: Negotiation | None = None
        self._bar: Observer | None = None

    def on_begin(self, dispatcher: Dispatcher) -> None:
        """Listen from now on."""
        from cpsched.malleable.dn_dbes.record import Writer

        self._negotiation = negotiation_of(dispatcher)
        if self._negotiation is not None:
            self._negotiation.listener = Writer(self._file, self._names)

    def on_progress(self, ended: int, waiting: int, now: int) -> None:
        """Update the progress bar, if there is one."""
        if self._bar is not None:
            self._bar.on_progress(ended, waiting, now)

    def beside(self, watch: Watch | None) -> Watch:
        """Return an observer of a study's run that also logs it."""

        def both(display: Any, task: Any, epoch: int | None) -> Observer:
            self._bar = None if watch is None else watch(display, task, epoch)
            return self

        return both

    def close(self) -> bool:
        """End the negotiations, and return whether there was a run."""
        if self._negotiation is not None:
            self._negotiation.close("the simulation has ended")
        return self._negotiation is not None


def negotiation_of(dispatcher: Dispatcher) -> Negotiation | None:
    """Return what a dispatcher, or the one it wraps, negotiates with; None if it does not."""
    while (inner := getattr(dispatcher, "inner", None)) is not None:
        dispatcher = inner
    found: Negotiation | None = getattr(dispatcher, "negotiation", None)
    return found


@contextmanager
def negotiation_log(
    path: Path | None, tasks: Sequence[Task], fitted: Fitted, *, overwrite: bool, saved: bool
) -> Iterator[NegotiationLog | None]:
    """
    Give an object that logs the negotiations of a run; None if no file is asked for.

    Parameters
    ----------
    saved
        Whether the run's state is kept in a checkpoint.

    Raises
    ------
    ConfigError
        If there are several runs, the dispatcher does not negotiate, or the run is finished or
        starts from a checkpoint.
    """
    if path is None:
        yield None
        return
    if len(tasks) > 1:
        raise ConfigError(f"a log covers one run, but these are {len(tasks)}", key=KEY)
    if negotiation_of(build("dispatchers", tasks[0].dispatcher)) is None:
        raise ConfigError(f"{tasks[0].dispatcher} does not negotiate; dn-dbes does", key=KEY)
    if saved:
        raise ConfigError(
            "a log cannot continue from a checkpoint: leave out --checkpoint", key=KEY
        )
    check_new_file(path, overwrite=overwrite, key=KEY)
    rejected = [row for row, _ in fitted.rejected]
    names = np.delete(fitted.workload.job_id, rejected).tolist()
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as file:
        log = NegotiationLog(file, names)
        yield log
        if not log.close():
            raise ConfigError(
                "the run exists already and was not repeated: add --overwrite", key=KEY
            )
