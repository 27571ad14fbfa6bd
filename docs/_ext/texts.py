"""Text of docstrings as Markdown."""

from __future__ import annotations

import re

_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


def markdown(text: str) -> str:
    """Return reStructuredText of a docstring's sentence as Markdown."""
    text = _ROLE.sub(r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").replace("|", r"\|")
