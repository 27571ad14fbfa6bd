"""
The source that a class rests on: its module, and every module that this imports.

One rule for all that a specification names:

- *Own code* is known by its content: a module of a folder on the path or of an editable
  installation. What it imports counts too, in functions and branches as well, and so do classes
  (``mine:Own``) and registered names that its text mentions.
- An *installed distribution* and the standard library are known by name and version. What an
  installed plug-in registers is known by the content of its package too.
- What no source says is *unknown*: a built extension, ``exec``, a module without a file, a computed
  import. Its runs are made every time.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import os
import pkgutil
import re
import struct
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpsched.simulation.imports import Import, Imports, imports_of
from cpsched.util import registry
from cpsched.util.own_code import PACKAGES, library_folders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec

#: Parts of cpsched that only read runs: no run depends on them.
_READERS = {"api", "checks", "cli", "forecast", "report", "verification"}
#: Groups of what decides in a run.
NAMED = ("dispatchers", "allocators", "priorities", "predictors", "runtime_models", "outages")
_CLASS = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*):[A-Za-z_]\w*")
_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_BYTECODE = tuple(importlib.machinery.BYTECODE_SUFFIXES)


class Code(NamedTuple):
    """
    The code that something rests on.

    Attributes
    ----------
    digest
        Of all that is known of it, 16 digits.
    unknown
        What is not known, a clause each.
    """

    digest: str
    unknown: tuple[str, ...]


@cache
def source_digest(package: str) -> str:
    """Return a digest of a package's source, 16 digits; of cpsched without readers of runs."""
    spec = _spec_of(package)
    if spec is None:
        return ""
    sha = hashlib.sha256()
    places = spec.submodule_search_locations
    if places is None:
        sha.update(Path(str(spec.origin)).read_bytes())
        return sha.hexdigest()[:16]
    for root in sorted(map(Path, places)):
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root)
            if package != "cpsched" or inside.parts[0] not in _READERS:
                sha.update(f"{inside.as_posix()}\0".encode() + path.read_bytes())
    return sha.hexdigest()[:16]


def code_of(module: str) -> Code:
    """
    Return the code that a module of a named class, which is loaded already, rests on.

    Parameters
    ----------
    module
        Its full name.
    """
    search = _Search()
    search.begin(module)
    sha = hashlib.sha256()
    for name, digest in sorted(search.digests.items()):
        sha.update(f"{name}\0{digest}\0".encode())
    return Code(sha.hexdigest()[:16], tuple(sorted(search.unknown)))


@dataclass
class _Search:
    """
    A walk over modules along their imports.

    Attributes
    ----------
    digests
        Of everything known so far, by what it is.
    unknown
        Reasons, a clause each.
    """

    digests: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)
    _left: list[str] = field(default_factory=list)

    def begin(self, module: str) -> None:
        """Walk from a module on."""
        top = module.partition(".")[0]
        if _is_installed(_spec_of(top)):
            # A plug-in may be edited where it is installed.
            self.digests[f"package {top}"] = source_digest(top)
        self._left.append(module)
        while self._left:
            self._visit(self._left.pop())

    def _visit(self, name: str) -> None:
        if name in self._seen:
            return
        self._seen.add(name)
        top, above = name.partition(".")[0], name.rpartition(".")[0]
        if top == "cpsched":
            return  # it is part of the versions
        if top in PACKAGES:
            self.digests[f"package {top}"] = source_digest(top)
            return
        if above:
            self._left.append(above)
        spec = _spec_of(name)
        if spec is None:
            self._visit_without_spec(name)
        elif _is_standard(spec):
            return
        elif _is_installed(spec):
            self.digests[f"library {top}"] = _library(top)
        elif spec.origin is None or not spec.has_location:
            # A folder without __init__.py has no code of its own.
            if spec.submodule_search_locations is None:
                self.unknown.add(f"module {name} has no file")
        else:
            self._read(name, spec)

    def _visit_without_spec(self, name: str) -> None:
        """Visit a module that the import system does not find: a script, or made by code."""
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is None or file is None or not str(file).endswith(".py"):
            self.unknown.add(f"module {name} has no file")
            return
        loader = importlib.machinery.SourceFileLoader(name, str(file))
        self._read(name, importlib.machinery.ModuleSpec(name, loader, origin=str(file)))

    def _read(self, name: str, spec: ModuleSpec) -> None:
        """Read a module of one's own."""
        origin = str(spec.origin)
        label = Path(origin).name
        source = None
        if origin.endswith(_EXTENSIONS):
            self.unknown.add(f"{label} is a built library without source")
        elif origin.endswith(_BYTECODE):
            self.unknown.add(f"{label} is bytecode without its source")
        else:
            source = _source(name, spec)
            if source is None:
                self.unknown.add(f"module {name} ({label}) has no source that can be read")
        if source is None:
            return
        text, is_stale = _as_loaded(name, source, spec)
        if is_stale:
            self.unknown.add(
                f"{label} has changed since this process loaded it (reload the module, or start"
                " Python again)"
            )
        self.digests[f"module {name}"] = hashlib.sha256(text).hexdigest()
        imports = _imports(text)
        self.unknown.update(f"{label} {reason}" for reason in imports.unknown)
        package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
        for wanted in imports.imports:
            self._follow(wanted, package, label)
        for mentioned in imports.texts:
            self._left.extend(_modules_named(mentioned))

    def _follow(self, wanted: Import, package: str, label: str) -> None:
        """Note what an import statement imports."""
        name = wanted.module
        if wanted.level:
            parts = package.split(".")
            above = parts[: len(parts) - wanted.level + 1]
            name = ".".join([*above, name] if name else above)
        if not name:
            return
        spec = _spec_of(name)
        if spec is None and name not in sys.modules:
            if wanted.is_optional:
                self.digests[f"absent {name}"] = ""
            else:
                self.unknown.add(f"{label} imports {name}, which is not found here")
            return
        self._left.append(name)
        own = spec is not None and not (_is_standard(spec) or _is_installed(spec))
        if not own or spec is None or spec.submodule_search_locations is None:
            return
        below = [module for module in wanted.names if module != "*"]
        if "*" in wanted.names:
            below += [
                module.name for module in pkgutil.iter_modules(spec.submodule_search_locations)
            ]
        if not below and spec.origin is None:
            self.unknown.add(
                f"{label} imports the folder {name}as a namespace package without naming a module"
            )
        self._left.extend(
            full for module in below if _spec_of(full := f"{name}.{module}") is not None
        )


def _modules_named(text: str) -> Iterator[str]:
    """Give the modules of classes and registered names that a text in a program mentions."""
    for match in _CLASS.finditer(text):
        if (spec := _spec_of(match[1])) is not None and not _is_standard(spec):
            yield match[1]
    name = text.partition(":")[0]
    for group in NAMED:
        entry = registry.entries(group).get(name)
        if entry is not None:
            yield entry.target.partition(":")[0]


def _spec_of(name: str) -> ModuleSpec | None:
    """Return where a module is, without running any code of its package; None: nowhere."""
    module = sys.modules.get(name)
    if module is not None:
        spec: ModuleSpec | None = getattr(module, "__spec__", None)
        return spec
    path = None
    above = name.rpartition(".")[0]
    if above:
        parent = _spec_of(above)
        path = getattr(sys.modules.get(above), "__path__", None)
        if path is None and parent is not None:
            path = parent.submodule_search_locations
        if path is None:
            return None
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        try:
            module_spec = None if find is None else find(name, path, None)
        except ImportError:
            # A module of this project that was removed.
            return None
        if module_spec is not None:
            return module_spec  # type: ignore[no-any-return]
    return None


def _source(name: str, spec: ModuleSpec) -> bytes | None:
    """Return a module's source, also out of an archive; None if it has none."""
    try:
        return Path(str(spec.origin)).read_bytes()
    except OSError:
        pass
    try:
        text = spec.loader.get_source(name)  # type: ignore[union-attr]
    except (AttributeError, ImportError, OSError):
        return None
    return None if text is None else str(text).encode()


#: Of each module that is loaded: its spec, which a reload replaces, and its source then.
_loaded: dict[str, tuple[ModuleSpec, bytes]] = {}


def _as_loaded(name: str, source: bytes, spec: ModuleSpec) -> tuple[bytes, bool]:
    """Return the source of a module as this process runs it, and whether it is another now."""
    if name not in sys.modules:
        return source, False
    before = _loaded.get(name)
    if before is None or before[0] is not spec:
        _loaded[name] = (spec, source)
        return source, _was_compiled_of_another(spec)
    return before[1], before[1] != source


def _was_compiled_of_another(spec: ModuleSpec) -> bool:
    """Whether a module's bytecode, which its import wrote, is of another source than there is."""
    if sys.dont_write_bytecode or not spec.cached:
        return False
    cached = Path(spec.cached)
    try:
        header = cached.read_bytes()[:16]
        about = Path(str(spec.origin)).stat()
    except OSError:
        return False
    if len(header) < 16 or not os.access(cached.parent, os.W_OK):
        return False
    flags, modified, size = struct.unpack("<4xLLL", header)
    written = int(about.st_mtime) & 0xFFFFFFFF, about.st_size & 0xFFFFFFFF
    return not flags and (modified, size) != written


_known_imports: dict[bytes, Imports] = {}


def _imports(source: bytes) -> Imports:
    """Return what a module's source imports; each source is parsed once."""
    key = hashlib.sha256(source).digest()
    if key not in _known_imports:
        _known_imports[key] = imports_of(source)
    return _known_imports[key]


# --- installed or not ----------------------------------------------------------------------------


def _place(spec: ModuleSpec) -> str:
    """Return the file or the first folder of a module."""
    places = spec.submodule_search_locations
    place = spec.origin if spec.has_location or not places else next(iter(places), "")
    return os.path.join(os.path.realpath(os.path.dirname(str(place))), os.path.basename(str(place)))  # noqa: PTH118, PTH119, PTH120


def _is_standard(spec: ModuleSpec) -> bool:
    """Whether a module is of the standard library."""
    if spec.origin in ("built-in", "frozen"):
        return True
    installed, standard = library_folders()
    place = _place(spec)
    return place.startswith(standard) and not place.startswith(installed)


def _is_installed(spec: ModuleSpec | None) -> bool:
    """Whether a module is of an installed distribution, and lies where these lie."""
    if spec is None or not _place(spec).startswith(library_folders()[0]):
        return False
    return spec.name.partition(".")[0] in _distributions()


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


@cache
def _library(package: str) -> str:
    """Return the distributions of an installed package by name, version and what was installed."""
    described = []
    for name in sorted(set(_distributions()[package])):
        about = distribution(name)
        record = (about.read_text("RECORD") or "").splitlines()
        lines = sorted(line for line in record if ".dist-info/" not in line)
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
        described.append(f"{name} {about.version} {digest}")
    return ", ".join(described)


@cache
def distribution_of(name: str) -> str:
    """Return a distribution's name and version; of what is none, its name."""
    try:
        return f"{name} {distribution(name).version}"
    except (PackageNotFoundError, ValueError):
        return name
