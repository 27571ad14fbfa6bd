"""Where compiled kernels are kept, and that they load without the compiler."""

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cpsched.kernels import compiling
from cpsched.kernels.compiling import cache_folder, key_of

pytestmark = pytest.mark.slow


HERE = Path(compiling.__file__).parent


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A user's cache folder and a temporary folder, both below the test's own."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "shared"))
    cache_folder.cache_clear()
    yield tmp_path
    cache_folder.cache_clear()


def test_cache_folder_is_keyed_by_the_sources(cache):
    """Below XDG_CACHE_HOME, and for us alone."""
    folder = cache_folder(HERE)
    assert folder == str(cache / "user" / "cpsched" / key_of(HERE))
    assert Path(folder).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("name", "text", "other"),
    [
        ("kernels.py", "from cpsched.kernels.compiling import kernel\n# changed\n", True),
        ("callees.py", "from cpsched.kernels.inner import inner\n", True),
        ("callers.py", "from package import kernels\n", False),
    ],
)
def test_kernels_of_a_package_are_keyed_by_all_of_its_folder(tmp_path, name, text, other):
    """What they call may be in another file; what is no kernel does not matter."""
    (tmp_path / "kernels.py").write_text("from cpsched.kernels.compiling import kernel\n")
    before = key_of(tmp_path)
    assert before != key_of(HERE)
    (tmp_path / name).write_text(text)
    assert (key_of(tmp_path) != before) == other


def test_numbas_own_variable_is_honoured(cache, monkeypatch):
    """NUMBA_CACHE_DIR says where, before anything else."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache / "chosen"))
    folder = cache_folder(HERE)
    assert folder == str(cache / "chosen" / "cpsched" / key_of(HERE))
    assert Path(folder).is_dir()


def test_numbas_own_variable_has_no_fallback(cache, monkeypatch):
    """Where the chosen folder cannot be made, nothing is kept elsewhere."""
    (cache / "file").write_text("not a folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache / "file"))
    assert cache_folder(HERE) is None


def _shared(given, _):
    given.mkdir()
    given.chmod(0o777)  # no sticky bit


def _filled(given, _):
    (given / "cpsched").mkdir(parents=True)
    (given / "cpsched").chmod(0o777)


def _elsewhere(given, _):
    given.mkdir()
    (given.parent / "planted").mkdir()
    (given / "cpsched").symlink_to(given.parent / "planted")


def _below(given, _):
    given.parent.chmod(0o777)


def _of_another(given, monkeypatch):
    (given / "cpsched").mkdir(parents=True)
    another = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: another)


@pytest.mark.parametrize("plant", [_shared, _filled, _elsewhere, _below, _of_another])
def test_numbas_own_variable_is_checked_like_any_other(cache, monkeypatch, plant):
    """A folder that others can write to, or replace, itself or one above, is not used."""
    (cache / "deep").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache / "deep" / "chosen"))
    plant(cache / "deep" / "chosen", monkeypatch)
    assert cache_folder(HERE) is None


def test_without_a_users_cache_a_private_temporary_folder_serves(cache):
    """Named after the user, and nobody else can enter it."""
    (cache / "user").write_text("not a folder")
    folder = cache / "shared" / f"cpsched-{os.getuid()}"
    assert cache_folder(HERE) == str(folder / key_of(HERE))
    assert folder.stat().st_mode & 0o777 == 0o700


def _of_somebody_else(folder, monkeypatch):
    another = os.getuid() + 1
    folder.with_name(f"cpsched-{another}").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: another)


def _open_to_all(folder, _):
    folder.mkdir()
    folder.chmod(0o777)


def _a_link(folder, _):
    (folder.parent / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "elsewhere")


def _replaceable(folder, _):
    folder.parent.chmod(0o777)  # no sticky bit: anybody may rename the folder


@pytest.mark.parametrize("plant", [_of_somebody_else, _open_to_all, _a_link, _replaceable])
def test_a_planted_folder_is_not_used(cache, monkeypatch, plant):
    """numba unpickles what it finds, so a folder others can write to would run their code."""
    (cache / "user").write_text("not a folder")
    plant(cache / "shared" / f"cpsched-{os.getuid()}", monkeypatch)
    assert cache_folder(HERE) is None


def test_a_planted_folder_of_these_sources_is_not_used(cache):
    """The inner folder, too, must be ours alone."""
    inner = cache / "user" / "cpsched" / key_of(HERE)
    inner.mkdir(parents=True)
    inner.chmod(0o770)
    assert str(cache_folder(HERE)).startswith(str(cache / "shared"))


def test_no_cache_where_nothing_can_be_written(cache, monkeypatch):
    """Kernels compile anew each time rather than fail."""
    (cache / "user").write_text("not a folder")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(cache / "user"))
    assert cache_folder(HERE) is None


def test_no_home_at_all_is_no_reason_to_fail(cache, monkeypatch):
    """A user without a home (a container run under a bare number) can import the kernels."""

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    assert str(cache_folder(HERE)).startswith(str(cache / "shared"))


def _functions():
    """Return the functions of all kernel modules, and how each is compiled."""
    found = {}
    for path in HERE.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                kinds = [one.id for one in node.decorator_list if isinstance(one, ast.Name)]
                found[node.name] = (kinds[0] if kinds else "", node)
    return found


def test_what_counts_no_references_calls_only_its_like():
    """An array that another function makes would never be given back."""
    functions = _functions()
    leaves = {name: node for name, (kind, node) in functions.items() if kind == "leaf"}
    assert len(leaves) > 40
    for name, node in leaves.items():
        called = {
            call.func.id
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        }
        kernels = {one for one in called if functions.get(one, ("",))[0] in ("kernel", "inner")}
        assert not kernels, name


KERNELS = """
import sys
import numpy as np
from cpsched.kernels.compiling import kernel

@kernel
def total(values):
    found = 0
    for value in values:
        found += value
    return found

@kernel
def twice(values):
    return 2 * total(values)

print(total(np.arange(5)), "numba.np.linalg" in sys.modules)
if len(sys.argv) > 1:
    print(twice(np.arange(5)), total(np.arange(3.0)), "numba.np.linalg" in sys.modules)
"""


def test_kernels_from_disk_need_no_compiler(tmp_path):
    """A second process loads what the first has compiled; what is new it can still compile."""
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*arguments):
        command = [sys.executable, str(script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout

    assert run() == "10 True\n"
    assert run() == "10 False\n"
    assert run("new") == "10 False\n20 3.0 True\n"
