"""What determines a run, as names and digests."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.spec import Spec, is_file
from cpsched.versions import versions

if TYPE_CHECKING:
    from cpsched.simulation.simulate import Settings

#: Of a file's name, before the hash.
_LONGEST_NAME = 90


def run_name(
    dispatcher: str, predictor: str, settings: Settings, workload: str, system: str
) -> str:
    """
    Return a readable folder name with a hash of everything that determines the run.

    Parameters
    ----------
    workload, system
        Their digests.
    """
    what = json.dumps(
        [
            dispatcher,
            predictor,
            vars(settings),
            workload,
            system,
            versions(),
            *(digests for spec in (dispatcher, predictor) if (digests := file_digests(spec))),
        ],
        sort_keys=True,
    )
    slug = slug_of(f"{dispatcher} {predictor}")
    return f"{slug}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"


def slug_of(text: str) -> str:
    """Return a text as part of a file's name; ``a+`` is not ``a``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace("+", "-plus ")).strip("-")


def slug(text: str) -> str:
    """
    Return text as a file's name, or an identifier: letters, digits, ``+`` and hyphens.

    Six digits of a hash are added where other characters than spaces went.
    """
    plain = text.lower().replace(" ", "-")
    name = re.sub(r"[^a-z0-9+]+", "-", plain).strip("-")[:_LONGEST_NAME]
    return name if name == plain else f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def file_digests(spec: str) -> list[str]:
    """
    Return the SHA-256 (hex) of the files that a specification's options name: a trained model.

    Raises
    ------
    ConfigError
        If one cannot be read.
    """
    paths = [Path(value) for _, value in Spec.parse(spec).options if not _is_number(value)]
    return [file_digest(path) for path in paths if is_file(path)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file (hex)."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", where=path) from error
