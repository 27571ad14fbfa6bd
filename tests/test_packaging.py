"""What pyproject.toml declares is what the code imports."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"cpsched", "predictors", "accasim_adapter"}
#: Looked for by name, when asked for; the second line by ``docs/conf.py``.
BY_NAME = {
    "accasim",
    *("furo", "myst-nb", "numpydoc", "sphinx-copybutton"),
}
#: What ``examples/train_ppo.py`` alone imports: too large to be installed for tests.
TRAINING = {"sb3-contrib", "stable-baselines3", "torch"}
#: Run by make and by CI, imported by nothing.
TOOLS = {
    *("clang-format", "clang-tidy", "nanobind"),
    *("import-linter", "mypy", "pre-commit", "pytest-timeout", "pytest-xdist", "ruff"),
}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _names(requirements):
    """Return what the requirements name, as packages are compared."""
    return {re.match(r"[\w.-]+", text)[0].lower().replace("_", "-") for text in requirements}


def _imported(*folders):
    """Return which distributions the Python files of some folders import."""
    modules = set()
    for file in chain.from_iterable((ROOT / folder).rglob("*.py") for folder in folders):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules.add(node.module.partition(".")[0])
    installed = packages_distributions()
    beside = {file.stem for folder in folders for file in (ROOT / folder).rglob("*.py")}
    foreign = modules - OURS - beside - set(sys.stdlib_module_names)
    foreign -= {name.replace("-", "_") for name in TRAINING}
    assert foreign <= set(installed), "imported and not installed"
    return _names(chain.from_iterable(installed[name] for name in foreign))


def test_declared_dependencies_are_the_imported_ones(project):
    """Nothing arrives by luck with another package, nothing is installed for nothing."""
    extras = project["optional-dependencies"]
    optional = [text for extra, texts in extras.items() if extra != "dev" for text in texts]
    declared = _names(project["dependencies"]) | _names(optional)
    # Sphinx brings docutils and Jinja2 MarkupSafe; pictures are made with tools of the tests.
    site = _imported("docs") - {"docutils", "pillow", "selenium"}
    assert declared == (_imported(*OURS) - {"markupsafe"}) | site | BY_NAME | TRAINING


def test_the_development_extra_is_what_tests_import(project):
    """And it holds every extra of the product but training, so that no test skips for want of one."""
    extras = project["optional-dependencies"]
    optional = _names(chain.from_iterable(texts for name, texts in extras.items() if name != "dev"))
    optional -= TRAINING
    needed = _imported("tests", "benchmarks", "examples", "docs/pictures")
    needed -= _names(project["dependencies"])
    # AccaSim and OR-tools bring what is imported beside them.
    needed -= {"protobuf"}
    assert _names(extras["dev"]) == needed | optional | TOOLS


def test_no_dependency_has_an_upper_bound(project):
    assert not [text for text in project["dependencies"] if "<" in text]


def test_the_citation_has_the_version_of_the_package():
    project = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"', project, re.M)[1]
    for page in ("CITATION.cff", "docs/project/cite.md"):
        assert re.search(rf"version *[:=] *\{{?{re.escape(version)}\b", (ROOT / page).read_text())
