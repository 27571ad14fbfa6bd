"""Values written as TOML, for files with comments, which writers of TOML leave out."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    """
    Return a text, number, flag, list or mapping as TOML; a mapping is an inline table.

    Strings are JSON's, except that TOML does not allow the character DEL in them.
    """
    if isinstance(value, dict):
        return f"{{ {', '.join(toml_pairs(value))} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float):
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_pairs(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield ``key = value`` of a mapping; a key that is not a bare one is in quotes."""
    for key, value in content.items():
        yield f"{key if _BARE_KEY.fullmatch(key) else toml_value(key)} = {toml_value(value)}"
