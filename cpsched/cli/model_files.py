"""A model file named where a predictor is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from cpsched import registry
from cpsched.errors import ConfigError

_Text = TypeVar("_Text", str, list[str], None)


def with_models(given: _Text) -> _Text:
    """Return specifications of predictors, those of model files in place of their paths."""
    if isinstance(given, list):
        return [_named(text) for text in given]
    return given if given is None else _named(given)


def _named(text: str) -> str:
    if text.partition(":")[0] in registry.names("predictors"):
        return text
    path = Path(text)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return text
    if "," in text:
        raise ConfigError("a model's path may hold no comma here; rename it", where=text)
    return f"{_predictor_of(path)}:model={text}"


def _predictor_of(path: Path) -> str:
    """Return of which predictor a file is a model; the rest of it is not read."""
    import json
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["/header"]))
        return str(header["predictor"])
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ConfigError(
            "is no model of cpsched, or is damaged; 'cpsched train' writes one", where=path
        ) from error
