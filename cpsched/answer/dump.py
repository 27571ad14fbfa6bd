"""The CP-SAT model of one decision as a file, for others to solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.answer.explanation import JobState
from cpsched.dispatch.contract import BuildsModel
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.answer.explanation import Explanation
    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.view import View

_SUFFIXES = (".pb", ".pb.txt")


class ModelDump:
    """
    Keeps the model of the last decision it is shown.

    It is a ``prepare`` of :func:`cpsched.answer.why.why_in_log`: a model is built before the
    dispatcher decides, because deciding may change what the dispatcher remembers.
    """

    def __init__(self) -> None:
        self._model: Any = None

    def check(self, dispatcher: Dispatcher, path: Path) -> None:
        """
        Check early that there will be something to write, and where.

        Raises
        ------
        ConfigError
            If the dispatcher builds no model, or the file's name or folder is invalid.
        """
        if not isinstance(dispatcher, BuildsModel):
            raise ConfigError(
                f"'{dispatcher.name}' builds no model to write; dispatchers that plan"
                " with CP-SAT do (cp, cph and their variants)",
                key="--dump-model",
            )
        if not path.name.endswith(_SUFFIXES):
            raise ConfigError(
                f"name the file {' or '.join('*' + s for s in _SUFFIXES)}", where=path
            )
        if not path.absolute().parent.is_dir():
            raise ConfigError("its folder does not exist", where=path)

    def __call__(self, dispatcher: Dispatcher, view: View) -> None:
        """Build the model of a view."""
        if isinstance(dispatcher, BuildsModel):
            self._model = dispatcher.build(view)

    def write(self, path: Path, about: Explanation) -> None:
        """
        Write the last model.

        Raises
        ------
        ConfigError
            If there was no decision, or nothing to plan in it.
        """
        if about.state is JobState.REJECTED:
            raise ConfigError(
                f"there is no model: {about.summary}, so nothing is decided about it",
                key="--dump-model",
            )
        if self._model is None:
            raise ConfigError(
                "there is no model: at the last decision before that time no job could be planned",
                key="--dump-model",
            )
        self._model.dump(path)
