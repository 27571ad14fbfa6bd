"""A model file named where a predictor is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cpsched.errors import ConfigError
from cpsched.util import registry
from cpsched.util.spec import Spec, build, expand, files_of, is_file

if TYPE_CHECKING:
    from collections.abc import Callable

_Text = TypeVar("_Text", str, list[str], None)


def with_models(given: _Text) -> _Text:
    """Return specifications of predictors, paths of model files replaced by what they hold."""
    if isinstance(given, list):
        return [with_model(text) for text in given]
    return given if given is None else with_model(given)


def with_model(text: str, folder: Path = Path()) -> str:
    """
    Return the specification of a predictor, named by itself or by a file of its model.

    Parameters
    ----------
    folder
        What a relative path is relative to.

    Raises
    ------
    ConfigError
        If the file is not a model, or is named with options.
    """
    if text.partition(":")[0] in registry.names("predictors"):
        return text
    path = folder / text
    if not is_file(path):
        _refuse_options(text, folder)
        return text
    trained = _model(path)
    return str(trained.with_options({"model": text}))


def checked(group: str, text: str, folder: Path = Path()) -> str:
    """
    Return a specification in its one form, checked by making the thing once.

    Parameters
    ----------
    group
        Its registry group; a predictor may also be given as its model file.
    folder
        What paths of files are relative to; they become absolute.

    Raises
    ------
    UnknownNameError, ConfigError
        If it cannot be made, or a file is not there.
    """
    given: dict[str, Any] = {}
    if group == "predictors":
        given["truth"] = lambda handle: handle
        text = with_model(text, folder)
    files = {key: (folder / path).absolute() for key, path in files_of(group, text).items()}
    spec = Spec.parse(text).with_options({key: str(path) for key, path in files.items()})
    build(group, spec, **given)
    for path in files.values():
        if not path.is_file():
            raise ConfigError("is not a file", where=path)
    return str(expand(group, spec))


def _refuse_options(text: str, folder: Path) -> None:
    """Say how options are given where they follow the path of a file."""
    for at in (text.find(mark) for mark in ":,"):
        path = folder / text[:at]
        if at > 0 and "=" in text[at:] and is_file(path):
            raise ConfigError(
                f"options go with the predictor's name: {_model(path).name}:model={text[:at]}"
                f",{text[at + 1 :]}",
                where=text,
            )


def _model(path: Path) -> Spec:
    """Return the predictor that a file is a model of, as whoever writes such files reads it."""
    read: Callable[[Path], Spec] = registry.load("model_files", "cpsched")
    return read(path)
