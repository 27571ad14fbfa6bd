"""What a module's source imports, read without running it; and what its source does not say."""

from __future__ import annotations

import ast
from typing import NamedTuple

#: Calls that run or load what the source does not say, by their last name, and what they do.
_LOADS = {
    **dict.fromkeys(("exec", "eval", "compile"), "runs text as code ({})"),
    **dict.fromkeys(
        (
            *("run_path", "run_module", "spec_from_file_location", "spec_from_loader"),
            *("exec_module", "load_module", "SourceFileLoader", "SourcelessFileLoader"),
            *("ExtensionFileLoader", "entry_points", "iter_entry_points"),
        ),
        "loads code by {}",
    ),
    **dict.fromkeys(
        ("CDLL", "PyDLL", "WinDLL", "LoadLibrary", "dlopen", "load_library"),
        "loads a built library ({})",
    ),
}
#: Functions of modules that start other programs.
_PROGRAMS = {
    "subprocess": ("run", "call", "check_call", "check_output", "Popen", "getoutput"),
    "os": ("system", "popen", "execv", "execve", "execvp", "posix_spawn", "spawnv", "spawnl"),
    "asyncio": ("create_subprocess_exec", "create_subprocess_shell"),
}
#: Of these, a method of the same name on something else says nothing.
_PLAIN_ONLY = ("exec", "eval", "compile")
_IMPORTERS = ("import_module", "__import__")
_CATCH_ALL = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
#: A text that is longer names no class.
_LONGEST = 1000


class Import(NamedTuple):
    """
    An import.

    Attributes
    ----------
    module, level
        As written: the name, and the number of dots in front of it.
    names
        What is imported from the module, ``*`` for all.
    is_optional
        Whether the module goes on without it.
    """

    module: str
    level: int = 0
    names: tuple[str, ...] = ()
    is_optional: bool = False


class Imports(NamedTuple):
    """
    What a source says of its imports.

    Attributes
    ----------
    unknown
        What it does that the source does not tell, a verb phrase each.
    texts
        Its texts, which may name classes.
    """

    imports: tuple[Import, ...]
    unknown: tuple[str, ...]
    texts: tuple[str, ...]


def imports_of(source: bytes) -> Imports:
    """Return the imports of a module's source, wherever in it they are."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return Imports((), ("cannot be parsed",), ())
    reader = _Reader(tree)
    reader.visit(tree)
    return Imports(tuple(reader.imports), tuple(reader.unknown), tuple(sorted(reader.texts)))


class _Reader(ast.NodeVisitor):
    """Reads a tree."""

    def __init__(self, tree: ast.AST) -> None:
        self.imports: list[Import] = []
        self.unknown: list[str] = []
        self.texts: set[str] = set()
        self._optional = 0
        self._aliases = _aliases(tree)

    def _add(self, module: str, level: int = 0, names: tuple[str, ...] = ()) -> None:
        self.imports.append(Import(module, level, names, bool(self._optional)))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._add(node.module or "", node.level, tuple(alias.name for alias in node.names))

    def visit_Try(self, node: ast.Try) -> None:
        catches = any(
            handler.type is None or _CATCHERS.intersection(_names_in(handler.type))
            for handler in node.handlers
        )
        self._optional += catches
        for child in node.body:
            self.visit(child)
        self._optional -= catches
        rest: list[ast.AST] = [*node.handlers, *node.orelse, *node.finalbody]
        for other in rest:
            self.visit(other)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in _names_in(node.test) and isinstance(
            node.test, ast.Name | ast.Attribute
        ):
            # It is never run.
            for child in node.orelse:
                self.visit(child)
            return
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and len(node.value) <= _LONGEST:
            self.texts.add(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        name = self._aliases.get(node.id, node.id)
        if name in _PLAIN_ONLY and isinstance(node.ctx, ast.Load):
            self._note(node, _LOADS[name].format(name))

    def visit_Call(self, node: ast.Call) -> None:
        name = self._dotted(node.func)
        module, _, last = name.rpartition(".")
        if last in _IMPORTERS:
            self._import_call(node, last)
        elif last in _PROGRAMS.get(module, ()):
            self._note(node, f"runs another program ({name})")
        elif last in _LOADS and (last not in _PLAIN_ONLY or module == "builtins"):
            self._note(node, _LOADS[last].format(last))
        self.generic_visit(node)

    def _import_call(self, node: ast.Call, name: str) -> None:
        """Note an import by a function, whose argument may be computed."""
        given = node.args[0] if node.args else None
        given = given or next((word.value for word in node.keywords if word.arg == "name"), None)
        if not (isinstance(given, ast.Constant) and isinstance(given.value, str)):
            self._note(node, f"imports a module of a computed name ({name})")
            return
        text = given.value
        level = len(text) - len(text.lstrip("."))
        package = node.args[1] if len(node.args) > 1 else None
        package = package or next((k.value for k in node.keywords if k.arg == "package"), None)
        if level and not (isinstance(package, ast.Name) and package.id == "__package__"):
            self._note(node, f"imports a module of a computed name ({name})")
            return
        self._add(text[level:], level)

    def _dotted(self, node: ast.AST) -> str:
        """Return the full name of a function, as far as it is written."""
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self._dotted(node.value)}.{node.attr}"
        return ""

    def _note(self, node: ast.AST, what: str) -> None:
        self.unknown.append(f"{what} in line {getattr(node, 'lineno', 0)}")


_CATCHERS = frozenset(_CATCH_ALL)


def _names_in(node: ast.AST) -> set[str]:
    """Return the names in an expression, of attributes the last."""
    return {
        child.id if isinstance(child, ast.Name) else child.attr
        for child in ast.walk(node)
        if isinstance(child, ast.Name | ast.Attribute)
    }


def _aliases(tree: ast.AST) -> dict[str, str]:
    """Return what names stand for that imports give."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    return {name: full.removeprefix("builtins.") for name, full in names.items()}
