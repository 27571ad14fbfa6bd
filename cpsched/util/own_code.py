"""Which code is a user's own, what it raises in one line, and checks of what it returns."""

from __future__ import annotations

import os
import site
import sysconfig
import traceback
from functools import cache, wraps
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import FrameType

#: The top-level packages of this distribution.
PACKAGES = frozenset({"cpsched", "predictors", "accasim_adapter"})


@cache
def library_folders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the folders of installed distributions, and of the standard library."""
    paths = sysconfig.get_paths()
    installed = {paths["purelib"], paths["platlib"], *site.getsitepackages()}
    if site.ENABLE_USER_SITE:
        installed.add(site.getusersitepackages())
    standard = {paths["stdlib"], paths["platstdlib"]}
    return _resolved(installed), _resolved(standard)


def _resolved(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{os.path.realpath(folder)}{os.sep}" for folder in sorted(folders))


def fault_of(error: BaseException) -> str | None:
    """
    Return which method of a user's own code raised an error that cpsched met, on one line.

    None if the error is not of such code: neither raised there, nor in what it called.
    """
    entered, last = False, None
    for frame, line in traceback.walk_tb(error.__traceback__):
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if top == "cpsched":
            entered = True
        elif entered and _is_own(frame):
            last = frame, line
    if last is None:
        return None
    code, (kind, message) = last[0].f_code, described(error)
    where = f"{code.co_filename}, line {last[1]}"
    return f"{code.co_qualname} raises {kind}{': ' * bool(message)}{message} ({where})"


def described(error: BaseException) -> tuple[str, str]:
    """Return the type of an error, and its message on one line."""
    return type(error).__name__, " ".join(str(error).split())


def _is_own(frame: FrameType) -> bool:
    """Whether a frame is of code that is neither of cpsched nor of a library."""
    path = frame.f_code.co_filename
    if path.startswith("<frozen"):
        return False
    installed, standard = library_folders()
    if os.path.realpath(path).startswith((*installed, *standard)):
        return False
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] not in PACKAGES


def hidden_package() -> tuple[str, str] | None:
    """Return a package of this distribution that another module hides, and that module's file."""
    folder = Path(__file__).resolve().parents[2]
    for name in sorted(PACKAGES - {"cpsched"}):
        spec = find_spec(name)
        locations = [] if spec is None else [*(spec.submodule_search_locations or ())]
        if [Path(location).resolve() for location in locations] != [folder / name]:
            return name, "" if spec is None else str(spec.origin or next(iter(locations), ""))
    return None


def title(thing: Any) -> str:
    """Return what messages call an object of a named class: ``module:Class`` for a user's own."""
    kind = type(thing)
    if kind.__module__.partition(".")[0] in PACKAGES:
        return str(getattr(thing, "name", "") or kind.__qualname__)
    return f"{kind.__module__}:{kind.__qualname__}"


def name_of(thing: Any) -> str:
    """Return an object's name, behind ``module:Class:`` if its own class inherits the name."""
    kind, name = type(thing), str(getattr(thing, "name", ""))
    if not name:
        return title(thing)
    if "name" in vars(kind) or kind.__module__.partition(".")[0] in PACKAGES:
        return name
    return f"{title(thing)}: {name}"


def method_of(thing: Any, method: str) -> str:
    """Return which method of a user's own a message is about, ``module:Class.method:``; else ''."""
    if type(thing).__module__.partition(".")[0] in PACKAGES:
        return ""
    return f"{title(thing)}.{method}: "


def public_names(module: Any) -> Iterator[str]:
    """Give the names of the classes that a module defines."""
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__ and name[0] != "_":
            yield name


def check_returns(cls: Any, checks: Mapping[str, Callable[..., None]]) -> None:
    """
    Have what methods return checked, if a class is a user's own.

    Parameters
    ----------
    checks
        By method: gets the object, what it returns, and its arguments.
    """
    if cls.__module__.partition(".")[0] in PACKAGES:
        return
    for name, check in checks.items():
        method = cls.__dict__.get(name)
        if isinstance(method, FunctionType) and not getattr(method, "__isabstractmethod__", False):
            setattr(cls, name, _checked(method, check))


def _checked(method: Callable[..., Any], check: Callable[..., None]) -> Callable[..., Any]:
    @wraps(method)
    def checked(self: Any, *given: Any, **named: Any) -> Any:
        value = method(self, *given, **named)
        check(self, value, *given, **named)
        return value

    return checked


def repr_of(value: Any) -> str:
    """Return a value as it is shown in a message: short, on one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # the class of a stranger may fail at this, too
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
