"""
AccaSim 1.1.3 on a present-day Python: two of its modules are patched on import.

Nothing outside of the package ``accasim`` is touched, nothing is written to disk, and no other
process sees anything of it: a finder hands out loaders for these modules that replace a line of
source. Without it ``import accasim`` fails on Python 3.10 and later, and its box plots fail on
matplotlib 3.11.
"""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType, ModuleType

#: Replacements by module. A missing line means that AccaSim is fixed already.
MENDS: Mapping[str, tuple[tuple[bytes, bytes], ...]] = {
    "accasim.utils.misc": (
        (b"from collections import Mapping", b"from collections.abc import Mapping"),
    ),
    # Renamed in matplotlib 3.9; the old name was removed in 3.11.
    "accasim.utils.plot_factory": (
        (b"boxplot(data, labels=self._labels", b"boxplot(data, tick_labels=self._labels"),
    ),
}


class _Loader(SourceFileLoader):
    """Loads a module of AccaSim; patched code is neither read from nor written to a cache."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        """Report no cached bytecode, because it would not match the file."""
        if self.name in MENDS:
            raise OSError("mended modules are not cached")
        return super().path_stats(path)

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, **options: Any
    ) -> CodeType:
        """Compile the source with its lines replaced; it has escapes that Python warns of."""
        for old, new in MENDS.get(self.name or "", ()):
            data = data.replace(old, new)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = super().source_to_code(data, path, **options)
        return code


class Finder:
    """Finds the modules of the package ``accasim``, for :class:`_Loader` to load."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module of AccaSim is loaded; all others are left to the next finder."""
        if not name.startswith("accasim."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Make ``import accasim`` work in this process from now on."""
    if not any(finder is Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder)
