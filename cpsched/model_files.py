"""A model file named where a predictor is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cpsched import registry
from cpsched.errors import ConfigError
from cpsched.spec import Spec, is_file

if TYPE_CHECKING:
    from collections.abc import Callable

_Text = TypeVar("_Text", str, list[str], None)


def with_models(given: _Text) -> _Text:
    """Return specifications of predictors, paths of model files replaced by what they hold."""
    if isinstance(given, list):
        return [_specification(text) for text in given]
    return given if given is None else _specification(given)


def _specification(text: str) -> str:
    if text.partition(":")[0] in registry.names("predictors"):
        return text
    path = Path(text)
    if not is_file(path):
        _refuse_options(text)
        return text
    if "," in text:
        raise ConfigError(
            "the path of a model must not contain a comma here; rename it", where=text
        )
    trained = _model(path)
    options = {**dict(trained.options), "model": text}
    return str(Spec(trained.name, tuple(sorted(options.items()))))


def _refuse_options(text: str) -> None:
    """Say how options are given where they follow the path of a file."""
    for at in (text.find(mark) for mark in ":,"):
        if at > 0 and "=" in text[at:] and is_file(Path(text[:at])):
            name = _model(Path(text[:at])).name
            raise ConfigError(
                f"options go with the predictor's name: {name}:model={text[:at]},{text[at + 1 :]}",
                where=text,
            )


def _model(path: Path) -> Spec:
    """Return the predictor that a file is a model of, as whoever writes such files reads it."""
    read: Callable[[Path], Spec] = registry.load("model_files", "cpsched")
    return read(path)
