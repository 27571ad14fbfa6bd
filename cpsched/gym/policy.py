"""
Trained policies: a small network, evaluated with NumPy, and the file it is kept in.

A file is a ZIP of ``policy.json`` (what is decided, the features, what it was trained on) and the
weights as ``.npy`` arrays. Nothing is pickled, and loading one runs nothing.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import ConfigError
from cpsched.gym.features import FEATURES, IS_JOB
from cpsched.gym.options import Options
from cpsched.util.archive import read_arrays
from cpsched.util.atomic_files import replacing
from cpsched.util.documents import read_json
from cpsched.util.versions import versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.util.types import AnyArray, BoolArray

#: Of the layout of files and the meaning of features; files of other formats are refused.
FORMAT = 1
_KIND = "cpsched policy"
_HEADER = "policy.json"
#: Bytes of all arrays together; a thousand times what such a network needs.
_MAX_BYTES = 2**26
#: A moment for all members, so that equal policies are equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True, eq=False)
class PolicyNetwork:
    """
    A network over what is shown, and what it decides.

    Where jobs are chosen, the same layers score each row of an observation, as in RLScheduler [1]_.
    Where rules are, they take the mean and the maximum of the rows of jobs and score the rules.

    Parameters
    ----------
    options
        What it decides.
    layers
        Weights ``(n, m)`` and biases ``(m,)`` from the first layer to the last; what is below 0
        between them counts as 0.
    trained
        What it was trained on; for people.

    References
    ----------
    .. [1] Zhang et al. (2020). RLScheduler: An automated HPC batch job scheduler using
       reinforcement learning. SC.
    """

    options: Options
    layers: Sequence[tuple[AnyArray, AnyArray]]
    trained: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wide = len(FEATURES) * (2 if self.options.action == "rule" else 1)
        last = self.options.num_actions if self.options.action == "rule" else 1
        for weights, bias in self.layers:
            if weights.ndim != 2 or weights.shape[0] != wide or bias.shape != weights.shape[1:]:
                raise ValueError(f"a layer of shape {weights.shape} does not follow {wide} values")
            if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
                raise ValueError("a weight is not a number")
            wide = weights.shape[1]
        if not self.layers or wide != last:
            raise ValueError(f"the last layer gives {wide} values, must give {last}")

    def scores(self, rows: AnyArray) -> AnyArray:
        """
        Return a score of each action.

        Parameters
        ----------
        rows
            One observation, ``(A, F)``, or many where jobs are chosen, ``(E, A, F)``.

        Returns
        -------
        ndarray
            Shape ``(A,)`` or ``(E, A)``.
        """
        values = pooled(rows) if self.options.action == "rule" else rows
        for weights, bias in self.layers[:-1]:
            values = np.maximum(values @ weights + bias, 0)
        weights, bias = self.layers[-1]
        values = values @ weights + bias
        return values if self.options.action == "rule" else values[..., 0]

    def choose(self, rows: AnyArray, mask: BoolArray) -> int:
        """Return the possible action with the highest score, the first of several."""
        return int(np.where(mask, self.scores(rows), -np.inf).argmax())


def pooled(rows: AnyArray) -> AnyArray:
    """Return the mean and the maximum over the rows of jobs, shape ``(2 * F,)``."""
    jobs = rows[rows[:, IS_JOB] > 0]
    if not len(jobs):
        return np.zeros(2 * rows.shape[1], dtype=rows.dtype)
    return np.concatenate([jobs.mean(axis=0), jobs.max(axis=0)])


def save(path: Path, policy: PolicyNetwork) -> None:
    """Write a policy, whole or not at all."""
    header = {
        "kind": _KIND,
        "format": FORMAT,
        "features": list(FEATURES),
        "options": policy.options.as_data(),
        "layers": len(policy.layers),
        "versions": versions(),
        "trained": dict(policy.trained),
    }
    members = {_HEADER: json.dumps(header, indent=1).encode()}
    for number, layer in enumerate(policy.layers):
        for name, values in zip(("weights", "bias"), layer, strict=True):
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(values, dtype=np.float32), allow_pickle=False)
            members[f"{name}-{number}.npy"] = buffer.getvalue()
    with replacing(Path(path)) as partial, zipfile.ZipFile(partial, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)


def load(path: Path) -> PolicyNetwork:
    """
    Read a policy back.

    Raises
    ------
    ConfigError
        If the file is missing, damaged, no policy, of another format, or made of other features.
    """
    if path.is_dir():
        raise ConfigError("is a folder, not a policy file", where=path)
    if not path.is_file():
        raise ConfigError("no such policy file. examples/train_ppo.py writes one.", where=path)
    try:
        arrays = read_arrays(path, _MAX_BYTES)
        header = read_json(arrays[_HEADER].decode())
        kind = header["kind"]
    except _DAMAGE as error:
        raise ConfigError(
            f"is not a policy of cpsched, or is damaged ({error})", where=path
        ) from error
    if kind != _KIND:
        raise ConfigError(f"is not a policy of cpsched but '{kind}'", where=path)
    if header.get("format") != FORMAT:
        raise ConfigError(
            f"is a policy of format {header.get('format')}, and this cpsched reads {FORMAT}."
            " Train it again.",
            where=path,
        )
    if header.get("features") != list(FEATURES):
        raise ConfigError("was trained on other features. Train it again.", where=path)
    try:
        return PolicyNetwork(
            Options.from_data(header["options"]),
            [
                (arrays[f"weights-{number}"], arrays[f"bias-{number}"])
                for number in range(header["layers"])
            ],
            header["trained"],
        )
    except _DAMAGE as error:
        raise ConfigError(f"is damaged: {error}", where=path) from error
