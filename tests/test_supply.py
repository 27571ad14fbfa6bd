"""The licences of what is installed, and the versions that ``.ci/versions`` asks for."""

import re
import runpy
import tomllib
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LICENCES = runpy.run_path(str(ROOT / "docs" / "_ext" / "licences.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIRED = [Requirement(text) for text in PROJECT["dependencies"]] + [
    Requirement(text) for texts in PROJECT["optional-dependencies"].values() for text in texts
]
#: Of the extra with torch, which is not installed for tests.
TRAINING = {Requirement(text).name for text in PROJECT["optional-dependencies"]["train"]}


def stating(*lines, name="thing"):
    """Return an installed package that says these things of its licence."""
    metadata = Message()
    for line in lines:
        field, _, value = line.partition(": ")
        metadata[field] = value
    return SimpleNamespace(name=name, metadata=metadata)


def test_all_that_is_installed_has_an_allowed_licence(capsys):
    assert LICENCES["main"]() == 0, capsys.readouterr().out
    names = {canonicalize_name(package.name) for package in LICENCES["installed"]()}
    named = {canonicalize_name(requirement.name) for requirement in REQUIRED}
    assert named - names <= TRAINING - {"gymnasium"}
    # What requirements need in turn: those of pandas and Sphinx.
    assert {"tzdata", "docutils"} <= names


@pytest.mark.parametrize(
    ("lines", "licence", "allowed"),
    [
        (["License-Expression: MIT OR Apache-2.0", "License: GPL"], "MIT OR Apache-2.0", True),
        (["License-Expression: (MIT AND ISC)"], "(MIT AND ISC)", True),
        (["License-Expression: MIT OR GPL-3.0-only"], "MIT OR GPL-3.0-only", False),
        (["License: Apache 2.0"], "Apache-2.0", True),
        (["License: BSD 3-Clause License\n\nAll rights"], "BSD-3-Clause", True),
        (["License: Copyright", "Classifier: License :: OSI Approved :: MIT License"], "MIT", True),
        (
            ["Classifier: License :: OSI Approved :: MIT License", "Classifier: License :: X"],
            "MIT AND X",
            False,
        ),
        (["License: GPLv3"], "GPLv3", False),
        (["Classifier: Topic :: Text"], "", False),
    ],
)
def test_what_a_package_states(lines, licence, allowed):
    assert LICENCES["licence_of"](stating(*lines)) == licence
    assert LICENCES["Package"]("thing", "1", licence, "").is_allowed == allowed


def test_a_licence_that_is_not_allowed_is_named(monkeypatch, capsys):
    bad = [LICENCES["Package"]("thing", "1.2", "GPLv3", "plots")]
    monkeypatch.setitem(LICENCES["main"].__globals__, "installed", lambda: bad)
    assert LICENCES["main"]() == 1
    line, count = capsys.readouterr().out.splitlines()
    assert line.startswith("thing 1.2: GPLv3; read it, and add it to docs/_ext/licences.py")
    assert count == "1 packages, 1 with a licence that is not allowed"


def test_pins_are_within_the_bounds():
    """Each requirement has a lower bound, which ``.ci/versions lowest`` installs, and a pin."""
    pins = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text()))
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    for requirement in REQUIRED:
        assert {bound.operator for bound in requirement.specifier} & {">=", "=="}, requirement
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), (
            requirement
        )


def test_a_bound_is_the_same_wherever_a_package_is_required():
    """Two would leave the lower one untried."""
    bounds = {}
    for requirement in REQUIRED:
        assert bounds.setdefault(requirement.name, str(requirement.specifier)) == str(
            requirement.specifier
        ), requirement.name
