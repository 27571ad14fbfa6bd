"""Names to things, with plug-ins that are written to a folder and found as installed ones are."""

import importlib
import re
import sys

import pytest

from cpsched.dispatch.backfilling import Easy
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.util import registry
from predictors.last import Last


@pytest.fixture(autouse=True)
def fresh():
    """Look entry points up anew before and after each test."""
    registry.entries.cache_clear()
    yield
    registry.entries.cache_clear()


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a distribution: its entry points and its module."""

    def _install(name, entry_points, source="", module=None):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [
            f"[cpsched.{group}]\n{entry} = {target}\n" for group, entry, target in entry_points
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        (tmp_path / f"{module or name}.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, module or name, raising=False)

    return _install


@pytest.mark.parametrize("group", registry.GROUPS)
def test_every_built_in_can_be_loaded(group):
    """Nothing is registered that is not there."""
    for name in registry.names(group):
        assert registry.load(group, name) is not None


@pytest.mark.parametrize(
    ("group", "kind"), [("dispatchers", "dispatcher"), ("log_formats", "log format")]
)
def test_unknown_names_list_what_there_is(group, kind):
    """The closest names, at most three, and the command that lists all."""
    first, *_ = registry.names(group)
    message = f"unknown {kind} '{first}x'. Did you mean '{first}'"
    command = f"? All names: cpsched list {group}"
    with pytest.raises(UnknownNameError, match=f"^{re.escape(message)}.*{re.escape(command)}"):
        registry.load(group, f"{first}x")


def test_a_plug_in_is_not_imported_before_it_is_asked_for(install):
    """Listing names runs nobody's code."""
    install("loud", [("dispatchers", "loud", "loud:Loud")], "raise SystemExit('imported')\n")
    assert "loud" in registry.names("dispatchers")
    assert registry.load("dispatchers", "easy") is Easy
    assert "loud" not in sys.modules


@pytest.mark.parametrize(
    ("target", "source", "reason"),
    [
        ("broken:Thing", "import no_such_module\n", "No module named 'no_such_module'"),
        ("broken:Thing", "Other = 1\n", "has no attribute 'Thing'"),
        ("nowhere:Thing", "", "No module named 'nowhere'"),
        # Whatever a module does when it is imported, it cannot be imported.
        ("broken:Thing", "raise RuntimeError('no licence')\n", "no licence"),
        ("broken:Thing", "class Thing:\n", "expected an indented block"),
    ],
)
def test_a_broken_plug_in_is_named(install, target, source, reason):
    """Asked for by name it is an error with target, distribution and reason; others still work."""
    install("broken", [("allocators", "torn", target)], source)
    with pytest.raises(
        ConfigError, match=rf"'torn' \({target}, from broken\) cannot be loaded: .*{reason}"
    ):
        registry.load("allocators", "torn")
    assert registry.load("allocators", "best-fit").__name__ == "BestFit"


@pytest.mark.parametrize(
    ("kind", "name", "ours"), [("dispatcher", "easy", Easy), ("predictor", "last", Last)]
)
def test_a_plug_in_cannot_replace_what_is_ours(install, kind, name, ours):
    """Registered as plug-ins are or built in, whoever is first on the path; the warning names both."""
    install("greedy", [(f"{kind}s", name, "greedy:Mine")], "class Mine: pass\n")
    warning = f"greedy: its {kind} '{name}' is ignored, as the name is taken"
    with pytest.warns(RuntimeWarning, match=warning):
        loaded = registry.load(f"{kind}s", name)
    assert loaded is ours


def test_two_plug_ins_of_one_name(install):
    """One of them is kept, the other named."""
    install("first", [("allocators", "mine", "first:A")], "class A: pass\n")
    install("second", [("allocators", "mine", "second:A")], "class A: pass\n")
    with pytest.warns(RuntimeWarning, match="its allocator 'mine' is ignored"):
        names = registry.names("allocators")
    assert names.count("mine") == 1


def test_the_same_thing_twice_is_no_collision(install):
    """An installed and an editable copy register the same target: nothing to warn of."""
    install("again", [("dispatchers", "easy", registry.BUILT_IN["dispatchers"]["easy"])], "")
    assert registry.load("dispatchers", "easy") is Easy
