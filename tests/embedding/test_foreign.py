"""A package of somebody else, ``tests/foreign_plugin``: all of it is found, works and is checked."""

import sys
import tomllib
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from cpsched.checks import CheckError
from cpsched.checks.of_predictors import check_predictor
from cpsched.checks.plug_ins import check_plug_ins
from cpsched.study import load_run
from cpsched.util import registry

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[1] / "foreign_plugin"
LOG = "plain\n0 5 2 5\n1 50 1 50\n2 5 2 5\n"
SYSTEM = 'resources = ["core"]\n[[nodes]]\ngroup = "g"\ncount = 1\ncore = 2\n[log]\nprocessors = "packed"\n'


def write_info(folder, name, groups):
    """Write what an installer writes about a distribution: its name and its entry points."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{entry} = {target}\n" for entry, target in entries.items())
        for group, entries in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def foreign(tmp_path, monkeypatch, cpsched):
    """Install the package, and run commands in a folder with a log and a system."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    write_info(tmp_path, project["name"], project["entry-points"])
    (tmp_path / "log.plain").write_text(LOG)
    (tmp_path / "two.toml").write_text(SYSTEM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    registry.entries.cache_clear()

    def run(*arguments):
        code, out, err = cpsched(*arguments)
        assert code == 0, err
        return out

    yield run
    registry.entries.cache_clear()
    sys.modules.pop("foreign_plugin", None)


SIMULATE = ("simulate", "log.plain", "--system", "two.toml")


def test_it_registers_one_of_each(foreign):
    """So every group that is read is tried here, and no other."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert set(project["entry-points"]) == set(registry.PLUG_INS.values())


def test_it_passes_the_check_suite(foreign):
    """All that it registers, with one call."""
    check_plug_ins("foreign-plugin")
    check_predictor(import_module("foreign_plugin").Half)


def test_its_names_work_on_the_command_line(foreign):
    """With options of its own, on a log of its own format; the run verifies, and is read back."""
    spec = "by-size:allocator=last-fit"
    foreign(*SIMULATE, "-d", spec, "-p", "half", "--out", "out")
    assert ", OK" in foreign("verify", "out")
    run = load_run(next(Path("out/runs").iterdir()))
    assert (run.about["dispatcher"], run.predictor) == (spec, "half")
    assert run.schedule.runtime_estimate.tolist() == [2, 25, 2]


def test_its_order_is_an_option_of_our_dispatchers(foreign):
    """Job 1 has the first two seconds alone; the wide job 3 goes before job 2."""
    foreign(*SIMULATE, "-d", "easy:order=widest", "--out", "out")
    run = load_run(next(Path("out/runs").iterdir()))
    assert run.schedule.start.tolist() == [0, 10, 5]


def test_a_run_is_observed_by_a_class_without_a_name(foreign):
    """The smallest area first is job 3, the fewest units job 2; job 1 was alone."""
    for area, order in (("no", "1 2 3"), ("yes", "1 3 2")):
        observer = f"foreign_plugin:Starts:file={area}.txt"
        foreign(*SIMULATE, "-d", f"by-size:area={area}", "--observe", observer)
        assert Path(f"{area}.txt").read_text().split() == order.split()


@pytest.mark.parametrize(
    ("group", "source", "reason"),
    [
        ("dispatchers", "thing = 1", "is not a class"),
        ("dispatchers", "import nowhere", "No module named 'nowhere'"),
        ("allocators", "thing = None", "'odd' is None"),
        ("commands", "thing = 1", "'odd' is in the unknown group cpsched.commands"),
    ],
)
def test_the_check_suite_says_what_is_wrong(tmp_path, monkeypatch, group, source, reason):
    """Each in a distribution of its own."""
    write_info(tmp_path, "odd", {f"cpsched.{group}": {"odd": "odd_one:thing"}})
    (tmp_path / "odd_one.py").write_text(source + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "odd_one", raising=False)
    registry.entries.cache_clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            with pytest.raises(CheckError, match=reason):
                check_plug_ins("odd")
    finally:
        registry.entries.cache_clear()


def test_a_group_that_is_gone_is_named_in_a_warning(tmp_path, monkeypatch):
    """A package that was written for entry points of commands says nothing else of itself."""
    write_info(tmp_path, "old", {"cpsched.commands": {"greet": "old:register"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.entries.cache_clear()
    try:
        with pytest.warns(
            RuntimeWarning, match=r"old registers 'greet' in the entry-point group cpsched\.comm"
        ):
            registry.names("dispatchers")
    finally:
        registry.entries.cache_clear()
