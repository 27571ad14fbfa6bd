"""The native core is compiled, from the sources that lie here, and they determine a run."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cpsched
from cpsched import _core
from cpsched.errors import ConfigError
from cpsched.simulation import identity as identities
from cpsched.simulation.simulate import Settings
from cpsched.util import native

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cpsched", "predictors", "accasim_adapter")


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the sources of the core."""
    shutil.copytree(ROOT / "cpsched" / "cpp", tmp_path / "cpsched" / "cpp")
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    return tmp_path


def test_the_core_has_the_hash_of_its_sources():
    """CMake computes it, Python again."""
    assert native.source_hash(ROOT) == _core.SOURCE_HASH


def test_the_core_names_its_compiler():
    assert re.fullmatch(r"\w+ [\d.]+", _core.COMPILER)


@pytest.mark.parametrize("name", ["CMakeLists.txt", "cpsched/cpp/build.h", "cpsched/cpp/new.cpp"])
def test_the_hash_differs_if_a_source_does(checkout, name):
    with (checkout / name).open("a") as file:
        file.write("\n")
    assert native.source_hash(checkout) != _core.SOURCE_HASH


def test_the_hash_differs_if_a_source_has_another_name(checkout):
    (checkout / "cpsched/cpp/build.h").rename(checkout / "cpsched/cpp/other.h")
    assert native.source_hash(checkout) != _core.SOURCE_HASH


def test_an_installed_package_has_no_sources(tmp_path):
    assert native.source_hash(tmp_path) is None


@pytest.mark.skipif(not shutil.which("cmake"), reason="CMake is not installed outside of builds")
def test_cmake_computes_the_hash_again_if_a_source_differs(checkout):
    (checkout / "cpsched/cpp/new.h").write_text("int number;\n")
    output = checkout / "hash.cpp"
    script = checkout / "cpsched/cpp/source_hash.cmake"
    command = ["cmake", f"-DROOT={checkout}", f"-DOUTPUT={output}", "-P", str(script)]
    subprocess.run(command, check=True)
    assert f'"{native.source_hash(checkout)}"' in output.read_text()


def test_the_sources_of_the_core_determine_a_run(monkeypatch):
    def identity():
        identities.versions_here.cache_clear()
        return identities.identity("jobs", "system", "easy", "requested", Settings())

    monkeypatch.setattr(native, "source_hash", lambda root: None)
    before = identity()
    monkeypatch.setattr(_core, "SOURCE_HASH", "0" * 64)
    assert identity() != before
    monkeypatch.undo()
    assert identity() == before


def test_a_core_of_other_sources_is_an_error(monkeypatch):
    monkeypatch.setattr(_core, "SOURCE_HASH", "0" * 64)
    native.load_core.cache_clear()
    with pytest.raises(ConfigError, match="compiled from other sources than .* run 'make core'"):
        native.load_core()


def test_a_core_that_is_absent_is_an_error_where_it_is_imported():
    code = "import sys; sys.modules['cpsched._core'] = None; from cpsched import _core"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "the native core of cpsched cannot be loaded" in process.stderr.splitlines()[-1]


def test_modules_import_the_core_where_it_is_checked():
    """``from cpsched import _core`` says what to do if the core is absent; other ways do not."""
    for file in (file for name in PACKAGES for file in (ROOT / name).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert "cpsched._core" not in names, file


def test_python_files_are_found_in_the_checkout(tmp_path):
    """An editable installation uses its files, and PYTHONPATH can name another checkout."""
    assert Path(cpsched.__file__).parent == Path(_core.__file__).parent
    code = "import cpsched; print(cpsched.__file__)"
    another = tmp_path / "cpsched" / "__init__.py"
    another.parent.mkdir()
    another.touch()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-P", "-c", code]
    assert subprocess.check_output(command, env=environment, text=True) == f"{another}\n"
