"""The observer ``negotiation``: the messages of ``dn-dbes``, as a file."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError
from cpsched.api.simulation import RunObserver
from cpsched.api.tools import check_new_file, replacing
from cpsched_papers.dn_dbes.record import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.api.dispatchers import Dispatcher
    from cpsched_papers.dn_dbes.negotiation import Negotiation


class NegotiationLog(RunObserver):
    """
    Writes the messages between the two sides of dn-dbes, as JSON lines.

    Parameters
    ----------
    file
        The file to write.
    """

    name = "negotiation"

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self._writer: Writer | None = None
        self._negotiation: Negotiation | None = None

    @contextmanager
    def opened(
        self, dispatcher: Dispatcher, job_ids: Sequence[str], *, overwrite: bool
    ) -> Iterator[None]:
        """Hold the file open, which replaces another only when it is whole."""
        if _negotiation_of(dispatcher) is None:
            raise ConfigError(f"{dispatcher.name} does not negotiate; dn-dbes does", key=self.name)
        check_new_file(self._path, overwrite=overwrite, key=self.name)
        with replacing(self._path) as partial, partial.open("w", encoding="utf-8") as file:
            self._writer = Writer(file, job_ids)
            yield
            if self._negotiation is not None:
                self._negotiation.close("the simulation has ended")

    def on_begin(self, dispatcher: Dispatcher) -> None:
        """Listen from now on."""
        self._negotiation = _negotiation_of(dispatcher)
        if self._negotiation is not None:
            self._negotiation.listener = self._writer


def _negotiation_of(dispatcher: Dispatcher) -> Negotiation | None:
    """Return what a dispatcher, or the one it wraps, negotiates with; None if it does not."""
    while (inner := getattr(dispatcher, "inner", None)) is not None:
        dispatcher = inner
    found: Negotiation | None = getattr(dispatcher, "negotiation", None)
    return found
