"""The extension of the site that makes parts of pages from the code."""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_ext"


@cache
def extension(name):
    """Return a module of ``docs/_ext``; without Sphinx the test is skipped."""
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(EXTENSIONS))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(EXTENSIONS))
        # Their names are common words, which no other module of the tests is to find.
        for file in EXTENSIONS.glob("*.py"):
            sys.modules.pop(file.stem, None)
