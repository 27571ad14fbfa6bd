"""Own code determines a run: of every class that is named, and of every module that it imports."""

import importlib
import py_compile
import re
import sys
import zipfile
from itertools import count

import pytest
from tiny import jobs, machine

from cpsched.errors import ConfigError
from cpsched.simulation.code import code_of
from cpsched.simulation.identity import identify
from cpsched.simulation.simulate import Checkpoint, Settings, simulate
from cpsched.util import registry
from cpsched.util.registry import RegistryEntry

PRIORITY = """\
from cpsched import Priority
{imports}
class Own(Priority):
    name = "own"
    def keys(self, jobs, now):
        return (jobs.units,)
"""
DISPATCHER = "from cpsched.dispatch.rules import Fifo\nclass Mine(Fifo):\n    name = 'mine'\n"
_numbers = count()


class Folder:
    """A folder on the path; its modules have a name of their own in each test."""

    def __init__(self, path):
        self.path, self.suffix = path, f"_{next(_numbers)}"

    def name(self, stem):
        return stem + self.suffix

    def write(self, stem, text):
        """Write a module; ``@name`` in its text is another module here."""
        path = self.path / f"{self.name(stem)}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(text))
        return path

    def text(self, text):
        """Return a text with the names of modules here."""
        return re.sub(r"@(\w+)", lambda match: self.name(match[1]), text)

    def fresh(self):
        """Forget what is loaded, as another process would not have it."""
        for name in [
            module for module in sys.modules if module.partition(".")[0].endswith(self.suffix)
        ]:
            del sys.modules[name]
        importlib.invalidate_caches()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    made = Folder(tmp_path)
    yield made
    made.fresh()


def own_code(dispatcher="easy", predictor="requested", readers=(), **settings):
    return identify("w", "s", dispatcher, predictor, Settings(**settings), readers)


NAMED = [
    "easy:order={}:Own",
    "easy:backfill={}:Own",
    "greedy:order={}:Own",
    "conservative:order={}:Own",
    "speculative:dispatcher=easy,dispatcher.order={}:Own",
    "speculative:dispatcher=easy,dispatcher.backfill={}:Own,dispatcher.estimate=requested",
    "speculative:dispatcher=easy,dispatcher.order={}:Own,dispatcher.backfill=sjf",
    "preempt:dispatcher=conservative,dispatcher.order={}:Own",
]


@pytest.mark.parametrize("spec", NAMED)
def test_an_own_class_counts_wherever_a_specification_names_it(folder, spec):
    """Only the package of the outer dispatcher used to be looked at."""
    spec = spec.format(folder.name("mine"))
    source = PRIORITY.format(imports="")
    folder.write("mine", source)
    before = own_code(spec)
    assert before.unknown == ()
    assert own_code(spec) == before
    folder.write("mine", source.replace("jobs.units,", "-jobs.units,"))
    folder.fresh()
    assert own_code(spec).digest != before.digest


IMPORTS = {
    "plain": "import @helper",
    "from": "from @helper import VALUE",
    "in a function": "def later():\n    import @helper",
    "in a branch": "if len('x') > 2:\n    import @helper",
    "guarded": "try:\n    import @helper\nexcept ImportError:\n    pass",
    "by a function": "import importlib\nx = importlib.import_module('@helper')",
    "by a renamed function": "from importlib import import_module as get\nx = get('@helper')",
    "by another": "import @between",
    "a class as text": "TEXT = 'easy:order=@helper:Own'",
}


@pytest.mark.parametrize("how", IMPORTS)
def test_what_an_own_module_imports_counts(folder, how):
    folder.write("between", "import @helper\n")
    folder.write("helper", "VALUE = 1\nclass Own: pass\n")
    folder.write("mine", PRIORITY.format(imports=folder.text(IMPORTS[how])))
    spec = f"easy:order={folder.name('mine')}:Own"
    before = own_code(spec)
    assert before.unknown == ()
    folder.write("helper", "VALUE = 2\nclass Own: pass\n")
    folder.fresh()
    assert own_code(spec).digest != before.digest


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("from .rules import VALUE", "rules"),
        ("from . import rules", "rules"),
        ("from .deep.deeper import VALUE", "deep/deeper"),
        ("from .deep import *", "deep/deeper"),
        ("import importlib\nx = importlib.import_module('.rules', __package__)", "rules"),
        ("", "__init__"),
    ],
)
def test_packages_and_relative_imports_count(folder, text, changed):
    package = folder.path / folder.name("pack")
    for name in ("__init__", "rules", "deep/__init__", "deep/deeper"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_text("VALUE = 1\n")
    (package / "mine.py").write_text(PRIORITY.format(imports=text))
    spec = f"easy:order={folder.name('pack')}.mine:Own"
    before = own_code(spec)
    assert before.unknown == ()
    (package / f"{changed}.py").write_text("VALUE = 2\n")
    folder.fresh()
    assert own_code(spec).digest != before.digest
    (package / f"{changed}.py").write_text("VALUE = 1\n")
    (package / "unused.py").write_text("VALUE = 3\n")
    folder.fresh()
    if "*" not in text:
        assert own_code(spec) == before


def test_a_folder_without_init_has_modules_that_are_known(folder):
    names = folder.path / folder.name("names")
    names.mkdir()
    (names / "rules.py").write_text("VALUE = 1\n")
    folder.write("mine", PRIORITY.format(imports=folder.text("from @names import rules")))
    spec = f"easy:order={folder.name('mine')}:Own"
    before = own_code(spec)
    assert before.unknown == ()
    (names / "rules.py").write_text("VALUE = 2\n")
    folder.fresh()
    assert own_code(spec).digest != before.digest
    folder.write("mine", PRIORITY.format(imports=folder.text("import @names")))
    folder.fresh()
    assert "without naming a module" in own_code(spec).unknown[0]


UNKNOWN = {
    "exec('')": "runs text as code (exec) in line 2",
    "x = eval('1')": "runs text as code (eval)",
    "run = exec": "runs text as code (exec)",
    "import importlib\nx = importlib.import_module('js' + 'on')": "computed name (import_module)",
    "x = __import__('js' + 'on')": "computed name (__import__)",
    "import runpy\nf = lambda: runpy.run_path('x.py')": "loads code by run_path",
    "import ctypes\nf = lambda: ctypes.CDLL('x.so')": "loads a built library (CDLL)",
    "import subprocess\nf = lambda: subprocess.run(['x'])": "another program (subprocess.run)",
    "from os import system as go\nf = lambda: go('x')": "another program (os.system)",
    "def later():\n    import not_here_at_all": "imports not_here_at_all, which is not found here",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_no_source_says_is_unknown(folder, text):
    folder.write("mine", PRIORITY.format(imports=text))
    name = folder.name("mine")
    ((reason),) = own_code(f"easy:order={name}:Own").unknown
    assert reason.startswith(f"{name}:Own: its code is not known: {name}.py ")
    assert UNKNOWN[text] in reason


def test_what_looks_like_it_is_known(folder):
    """Regular expressions are compiled, models are evaluated, types are imported for checks."""
    text = """\
import re
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import not_here_at_all
try:
    import not_here_either
except ImportError:
    pass
PATTERN = re.compile("x")
def evaluated(model):
    return model.eval(), model.run()
import numpy as np
"""
    folder.write("mine", PRIORITY.format(imports=text))
    assert own_code(f"easy:order={folder.name('mine')}:Own").unknown == ()


def test_bytecode_and_built_modules_are_unknown(folder):
    source = folder.write("helper", "VALUE = 1\n")
    py_compile.compile(str(source), cfile=str(source.with_suffix(".pyc")))
    source.unlink()
    folder.write("mine", PRIORITY.format(imports=folder.text("import @helper")))
    spec = f"easy:order={folder.name('mine')}:Own"
    assert "bytecode without its source" in own_code(spec).unknown[0]
    source.with_suffix(".pyc").unlink()
    source.with_suffix(".abi3.so").write_bytes(b"")
    guarded = "try:\n    import @helper\nexcept ImportError:\n    pass"
    folder.write("mine", PRIORITY.format(imports=folder.text(guarded)))
    folder.fresh()
    assert "is a built library without source" in own_code(spec).unknown[0]


def test_a_module_without_a_file_is_unknown(folder):
    folder.write("mine", PRIORITY.format(imports=folder.text("import @made")))
    sys.modules[folder.name("made")] = type(sys)(folder.name("made"))
    spec = f"easy:order={folder.name('mine')}:Own"
    assert f"module {folder.name('made')} has no file" in own_code(spec).unknown[0]


def test_a_module_in_an_archive_is_known(folder, monkeypatch):
    archive = folder.path / "code.zip"
    monkeypatch.syspath_prepend(archive)
    for value in (1, 2):
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr(f"{folder.name('helper')}.py", f"VALUE = {value}\n")
        sys.path_importer_cache.clear()
        folder.write("mine", PRIORITY.format(imports=folder.text("import @helper")))
        folder.fresh()
        made = own_code(f"easy:order={folder.name('mine')}:Own")
        assert made.unknown == ()
        if value == 1:
            before = made
    assert made.digest != before.digest


def test_two_modules_of_one_name_are_two(folder, monkeypatch):
    spec = f"easy:order={folder.name('mine')}:Own"
    folder.write("mine", PRIORITY.format(imports=""))
    before = own_code(spec)
    other = Folder(folder.path / "other")
    other.suffix = folder.suffix
    other.write("mine", PRIORITY.format(imports="VALUE = 1"))
    monkeypatch.syspath_prepend(other.path)
    folder.fresh()
    assert own_code(spec).digest != before.digest


def test_a_module_that_changed_since_it_was_loaded_is_unknown_until_it_is_reloaded(folder):
    """What runs is what was loaded, as in a notebook."""
    spec = f"easy:order={folder.name('mine')}:Own"
    folder.write("mine", PRIORITY.format(imports=""))
    before = own_code(spec)
    folder.write("mine", PRIORITY.format(imports="VALUE = 1"))
    stale = own_code(spec)
    assert "has changed since this process loaded it" in stale.unknown[0]
    assert stale.digest == before.digest
    importlib.reload(sys.modules[folder.name("mine")])
    after = own_code(spec)
    assert after.unknown == ()
    assert after.digest != before.digest


def test_a_module_that_was_loaded_by_somebody_else_and_changed_is_unknown(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder.write("mine", PRIORITY.format(imports=""))
    importlib.import_module(folder.name("mine"))
    folder.write("mine", PRIORITY.format(imports="VALUE = 1"))
    made = own_code(f"easy:order={folder.name('mine')}:Own")
    assert "has changed since this process loaded it" in made.unknown[0]


def test_every_kind_of_own_class_counts(folder):
    """Dispatchers, predictors, allocators, runtime models, outages, and changes to a log."""
    source = """\
from cpsched import Allocator
from cpsched.dispatch.rules import Fifo
from cpsched.model.estimates import Requested
from cpsched.simulation.outages import NoOutages
from cpsched.simulation.runtime_models import Recorded
from cpsched.study.changes import Change
class Decides(Fifo): name = "own"
class Predicts(Requested): name = "own"
class Outs(NoOutages): name = "own"
class Lasts(Recorded): name = "own"
class Changes(Change): name = "own"
"""
    folder.write("mine", source)
    name = folder.name("mine")

    def all_of():
        return [
            own_code(f"{name}:Decides"),
            own_code(predictor=f"{name}:Predicts"),
            own_code(outages=f"{name}:Outs"),
            own_code(runtime_model=f"{name}:Lasts"),
            own_code(readers=[("changes", f"{name}:Changes")]),
            own_code(f"easy:allocator={name}:Decides"),
        ]

    before = all_of()
    folder.write("mine", source + "VALUE = 1\n")
    folder.fresh()
    after = all_of()
    assert all(first.digest != second.digest for first, second in zip(before, after, strict=True))


def test_a_file_that_an_inner_dispatcher_names_counts(tmp_path):
    """That of the outer one alone used to be looked at."""
    (tmp_path / "model").write_bytes(b"one")
    spec = f"speculative:dispatcher=learned,dispatcher.file={tmp_path}/model"
    before = own_code(spec).digest
    (tmp_path / "model").write_bytes(b"two")
    assert own_code(spec).digest != before


def test_installed_distributions_are_known_by_version(folder):
    folder.write("mine", "import numpy\nimport json\n")
    importlib.import_module(folder.name("mine"))
    assert code_of(folder.name("mine")).unknown == ()


def test_a_reader_of_logs_of_another_package_counts(folder, monkeypatch):
    """Which format reads a log decides what its jobs are."""
    folder.write("mine", "FORMAT = 1\n")
    real, target = registry.entries, f"{folder.name('mine')}:FORMAT"
    mine = {"mine": RegistryEntry("mine", target, "somebody")}
    monkeypatch.setattr(registry, "entries", lambda group: {**real(group), **mine})
    before = own_code(readers=[("log_formats", "mine")])
    folder.write("mine", "FORMAT = 2\n")
    folder.fresh()
    assert own_code(readers=[("log_formats", "mine")]).digest != before.digest


def test_a_checkpoint_of_unknown_code_is_refused(folder, tmp_path):
    """Nothing says that it is continued by the code that began it."""
    folder.write("mine", PRIORITY.format(imports="exec('')"))
    work, system = jobs((0, 3, 2)), machine((2,))
    with pytest.raises(
        ConfigError, match="a checkpoint needs code that can be identified.*runs text as code"
    ):
        simulate(
            work,
            system,
            dispatcher=f"easy:order={folder.name('mine')}:Own",
            checkpoint=Checkpoint(tmp_path / "state"),
        )
