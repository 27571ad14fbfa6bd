"""Private parts of a library are used in one file, and the installed version has them."""

import ast
import importlib
import inspect
import re
from importlib.metadata import version
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
#: For each library the file, what it leans on without importing it, and the distribution.
HOMES = {
    "numba": ("cpsched/kernels/linking.py", {"numba.core.dispatcher"}, "numba"),
}
#: Modules of the libraries that are documented for users.
PUBLIC = {"numba", "numba.extending", "skops", "sklearn.ensemble", "sklearn.exceptions"}


def private_imports(file, library):
    """Return the modules and names of a library that a file imports and should not."""
    found = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return [
        (module, name)
        for module, name in found
        if module.split(".")[0] == library and (module not in PUBLIC or name.startswith("_"))
    ]


def private_names(file):
    """Return what a file overrides, and the private attributes that it uses, with a line of each."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.bases]
    methods = [item for node in classes for item in node.body if isinstance(item, ast.FunctionDef)]
    attributes = [(node.attr, node.lineno) for node in nodes if isinstance(node, ast.Attribute)]
    # Of named tuples, "_replace" is public.
    private = {n: line for n, line in attributes if re.match("_[a-z]", n) and n != "_replace"}
    return private | {method.name: method.lineno for method in methods}


def users_of_private_parts(library):
    """Return the files that import private parts of a library."""
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    files = [file for file in files if library in file.read_text("utf-8")]
    return {file.relative_to(ROOT).as_posix() for file in files if private_imports(file, library)}


@pytest.mark.parametrize("library", HOMES)
def test_private_parts_are_used_in_one_file(library):
    assert users_of_private_parts(library) <= {HOMES[library][0]}


@pytest.mark.parametrize("library", ["sklearn", "skops"])
def test_other_libraries_are_used_through_their_public_interface(library):
    assert users_of_private_parts(library) == set()


@pytest.mark.parametrize("library", HOMES)
def test_the_installed_version_has_the_private_parts(library):
    """A new version that lacks one is named, with the line that needs it."""
    home, modules, distribution = HOMES[library]
    lacking = []
    for module, name in private_imports(ROOT / home, library):
        try:
            found = importlib.import_module(module)
        except ImportError:
            lacking.append(f"{module} (imported)")
            continue
        modules = modules | {module} if module not in PUBLIC else modules
        if not hasattr(found, name):
            lacking.append(f"{module}.{name} (imported)")
    text = "".join(inspect.getsource(importlib.import_module(module)) for module in modules)
    known = set(re.findall(r"\w+", text))
    lacking += [
        f"{name} (line {line})"
        for name, line in private_names(ROOT / home).items()
        if name not in known
    ]
    assert not lacking, (
        f"{distribution} {version(distribution)} lacks what {home} uses: {', '.join(lacking)}. "
        f"Mend that file, or keep {distribution} below this version in pyproject.toml."
    )
