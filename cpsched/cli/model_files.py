"""A model file named where a predictor is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from cpsched import registry
from cpsched.errors import ConfigError
from cpsched.spec import Spec, is_file

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
    if not is_file(path):
        _refuse_options(text)
        return text
    if "," in text:
        raise ConfigError("a model's path may hold no comma here; rename it", where=text)
    return _spec_of(path, text)


def _refuse_options(text: str) -> None:
    """A file's name takes no options: say how they are given."""
    for at in (text.find(mark) for mark in ":,"):
        if at > 0 and "=" in text[at:] and is_file(Path(text[:at])):
            name = _header(Path(text[:at])).get("predictor")
            raise ConfigError(
                f"options go with the predictor's name: {name}:model={text[:at]},{text[at + 1 :]}",
                where=text,
            )


def _spec_of(path: Path, text: str) -> str:
    """Return the predictor a file is a model of, with the options it was trained with."""
    header = _header(path)
    name, trained = header.get("predictor"), header.get("trained")
    options = {"model": text}
    if isinstance(trained, Mapping) and isinstance(trained.get("options"), str):
        try:
            options = dict(Spec.parse(trained["options"]).options) | options
        except ConfigError as error:
            raise ConfigError("says it was trained with no options", where=path) from error
    options.pop("frozen", None)
    return str(Spec(str(name), tuple(sorted(options.items()))))


def _header(path: Path) -> Mapping[str, Any]:
    """Return a file's header; the rest of it is not read."""
    import json
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["/header"]))
        if not isinstance(header["predictor"], str):
            raise TypeError("it names no predictor")
        return dict(header)
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ConfigError(
            "is no model of cpsched, or is damaged; 'cpsched train' writes one", where=path
        ) from error
