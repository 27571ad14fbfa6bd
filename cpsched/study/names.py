"""Parts of file names, made from texts."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 90


def plain(text: str) -> str:
    """Return text as letters, digits, ``+`` and hyphens; different texts may become the same."""
    return re.sub(r"[^a-z0-9+]+", "-", text.lower()).strip("-")[:_LONGEST].strip("-")


def slug(text: str) -> str:
    """
    Return text as a file name, or an identifier, that is unique to it.

    Six digits of a hash are added if characters other than spaces were removed.
    """
    name = plain(text)
    if name == text.lower().replace(" ", "-"):
        return name
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
