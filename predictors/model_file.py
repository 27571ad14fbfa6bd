"""
Model files: a learned predictor's state as arrays and JSON. Loading one runs nothing.

A file is a ZIP of ``.npy`` arrays, one of which is the header. Trees are the bytes that skops
writes, in an array of their own. Nothing is pickled; what is read is checked before it is used, and
its size before it is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.util.archive import flattened, read_arrays, unflattened
from cpsched.util.atomic_files import replacing
from cpsched.util.documents import read_json
from cpsched.util.spec import Spec
from cpsched.util.versions import versions
from predictors.features import FEATURES

if TYPE_CHECKING:
    from pathlib import Path

#: Of the layout of model files and the meaning of features; files of other formats are refused.
FORMAT = 3
_KIND = "cpsched model"
#: Options of a training that a model is used without: those of the run they are given for.
_LEFT_OUT = ("model", "frozen")
#: Bytes of all arrays of a file together; ten times the largest there is.
_MAX_BYTES = 2**30
_DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """
    What a file holds.

    Attributes
    ----------
    path
        Where it was read.
    sha256
        Of the whole file, in hexadecimal digits.
    header
        Predictor, features, versions, and what it was trained on.
    state
        As the predictor's ``state`` gave it.
    """

    path: Path
    sha256: str
    header: Mapping[str, Any]
    state: Mapping[str, Any]

    @property
    def trained(self) -> Mapping[str, Any]:
        """What the header says of the training."""
        trained = self.header.get("trained")
        return trained if isinstance(trained, Mapping) else {}

    @property
    def hours_from(self) -> int | None:
        """The Unix time its hours and weekdays count from, None where it does not say."""
        value = self.trained.get("hours_from", self.trained.get("epoch"))
        return value if isinstance(value, int) else None

    @property
    def options(self) -> dict[str, str]:
        """The options it was trained with, without those that say what it was trained from."""
        return _options(self.path, self.trained)

    @property
    def before(self) -> list[dict[str, Any]]:
        """What the models it goes back to were trained on, the oldest first."""
        before = self.trained.get("before")
        known = before if isinstance(before, list) else []
        return [lesson for lesson in known if isinstance(lesson, dict)]

    @property
    def trained_on(self) -> dict[str, Any]:
        """
        What it was trained on last, as far as its header says.

        ``trained_from`` and ``trained_to``, the first and last submit, are dates where the log has
        them, else seconds.
        """
        known = self.trained
        texts = {
            "trained_on": known.get("workload"),
            "trained_on_sha256": known.get("workload_sha256"),
            "trained_jobs": known.get("jobs"),
            "trained_jobs_sample": known.get("jobs_sample"),
            "trained_from": _moment(known.get("epoch"), known.get("first_submit")),
            "trained_to": _moment(known.get("epoch"), known.get("last_submit")),
        }
        return {name: str(value) for name, value in texts.items() if value is not None}

    def provenance(self) -> dict[str, str]:
        """Return which file this is, and what it and those before it were trained on."""
        before = {"trained_before": json.dumps(self.before)} if self.before else {}
        return {
            "model": str(self.path),
            "model_sha256": self.sha256,
            **self.trained_on,
            **before,
        }


def write(
    path: Path,
    predictor: str,
    state: Mapping[str, Any],
    trained: Mapping[str, object],
) -> None:
    """
    Write a model, whole or not at all.

    Parameters
    ----------
    predictor
        Registered name.
    state
        Nested mappings of arrays, numbers and strings.
    trained
        What it was trained on, and with which options.
    """
    arrays, plain = flattened(state)
    header = {
        "kind": _KIND,
        "format": FORMAT,
        "predictor": predictor,
        "features": list(FEATURES),
        "versions": versions(),
        "trained": dict(trained),
    }
    arrays["/header"] = np.array(json.dumps(header))
    arrays["/plain"] = np.array(json.dumps(plain))
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read(path: Path, predictor: str) -> ModelFile:
    """
    Read a model back.

    Raises
    ------
    ConfigError
        If the file is missing, damaged, no model, of a newer format, of another predictor, or made
        of other features.
    """
    if path.is_dir():
        raise ConfigError("is a folder, not a model file", where=path)
    if not path.is_file():
        raise ConfigError("no such model file. 'cpsched train' writes one.", where=path)
    try:
        arrays = read_arrays(path, _MAX_BYTES)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        header = read_json(str(arrays.pop("/header")))
        kind = header["kind"]
    except _DAMAGE as error:
        raise ConfigError(
            f"is not a model of cpsched, or is damaged ({error})", where=path
        ) from error
    if kind != _KIND:
        raise ConfigError(f"is not a model of cpsched but '{kind}'", where=path)
    _check(path, header, predictor)
    try:
        plain = read_json(str(arrays.pop("/plain")))
        state = unflattened({**arrays, **plain}, "models")
    except _DAMAGE as error:
        raise ConfigError(f"is damaged: {error}", where=path) from error
    return ModelFile(path, digest, header, state)


def predictor_of(path: Path) -> Spec:
    """
    Return the predictor of a model file, with the options of its training.

    The caller sets the option ``model``, because only it knows the name of the file.

    Raises
    ------
    ConfigError
        If the file is damaged or not a model. Only its header is read.
    """
    try:
        header = read_json(str(read_arrays(path, _MAX_BYTES, only=["/header"])["/header"]))
        name, trained = header["predictor"], header.get("trained")
        if not isinstance(name, str):
            raise TypeError("it names no predictor")
    except _DAMAGE as error:
        raise ConfigError(
            "is not a model of cpsched, or is damaged. 'cpsched train' writes one.", where=path
        ) from error
    options = _options(path, trained if isinstance(trained, Mapping) else {})
    return Spec(name, tuple(options.items()))


def _options(path: Path, trained: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a training, without those of the run it was given for."""
    text = trained.get("options")
    try:
        given = dict(Spec.parse(text).options) if isinstance(text, str) else {}
    except ConfigError as error:
        raise ConfigError("its header holds bad training options", where=path) from error
    return {name: value for name, value in given.items() if name not in _LEFT_OUT}


def _check(path: Path, header: Mapping[str, Any], predictor: str) -> None:
    if header.get("format") != FORMAT:
        raise ConfigError(
            f"is a model of format {header.get('format')}, this cpsched reads {FORMAT}."
            " Train it again.",
            where=path,
        )
    if header.get("predictor") != predictor:
        raise ConfigError(
            f"is a model of '{header.get('predictor')}', not of '{predictor}'", where=path
        )
    if header.get("features") != list(FEATURES):
        raise ConfigError("was trained on other features. Train it again.", where=path)


def _moment(epoch: object, second: object) -> object:
    """Return a second of a log as a date, or as it is if it is none."""
    if isinstance(epoch, int) and isinstance(second, int):
        try:
            return datetime.fromtimestamp(epoch + second, UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            pass
    return second
