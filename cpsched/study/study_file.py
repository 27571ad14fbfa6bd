"""
Studies as TOML files: the bundled ones by name, and any other in the same format.

The format is described in ``docs/reference/study.md``. Every key is checked before anything
is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import UnknownNameError
from cpsched.util import resources
from cpsched.util.documents import read_text

if TYPE_CHECKING:
    from cpsched.study.study import Study
    from cpsched.util.models import Source


def study_names() -> list[str]:
    """Return the names of the studies that come with cpsched, sorted."""
    return sorted(file.stem for file in resources.path("studies").glob("*.toml"))


def study_path(name_or_path: str | Path) -> Path:
    """
    Return the file of a study: a bundled one by name, or any path that ends in ``.toml``.

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    text = str(name_or_path)
    if text.endswith(".toml"):
        return Path(text)
    known = study_names()
    if text not in known:
        raise UnknownNameError("study", text, known)
    return resources.path("studies", f"{text}.toml")


def load_study(name_or_path: str | Path) -> Study:
    """
    Read a study.

    Raises
    ------
    UnknownNameError
        If no bundled study has that name; the message lists them.
    ConfigError
        If the file cannot be read, is not TOML, or does not describe a study; names file,
        key, value, and what would be right.
    """
    from cpsched.util.models import Source

    file = study_path(name_or_path)
    return parse_study(Source.of_toml(read_text(file), str(file)))


def parse_study(source: Source) -> Study:
    """
    Return the study that the content of a file, or of options, describes.

    Raises
    ------
    ConfigError
        As for :func:`load_study`.
    """
    from cpsched.study.study_models import StudyFile, study_of

    with source.blamed():
        file = source.read(StudyFile, folder=source.folder)
        return study_of(file, source.folder, Path(source.where).stem)
