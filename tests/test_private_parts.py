"""Libraries are used through what they document for users."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [
    "cpsched",
    "predictors",
    "accasim_adapter",
    "cpsched.batsim",
    "cpsched.slurm",
    "cpsched.papers",
]
#: Modules of the libraries that are documented for users.
PUBLIC = {"skops", "sklearn.ensemble", "sklearn.exceptions"}


def private_imports(file, library):
    """Return the modules and names of a library that a file imports and should not."""
    imports = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            imports += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            imports += [(alias.name, "") for alias in node.names]
    return [
        (module, name)
        for module, name in imports
        if module.split(".")[0] == library and (module not in PUBLIC or name.startswith("_"))
    ]


def users_of_private_parts(library):
    """Return the files that import private parts of a library."""
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    files = [file for file in files if library in file.read_text("utf-8")]
    return {file.relative_to(ROOT).as_posix() for file in files if private_imports(file, library)}


@pytest.mark.parametrize("library", ["sklearn", "skops"])
def test_libraries_are_used_through_their_public_interface(library):
    assert users_of_private_parts(library) == set()
