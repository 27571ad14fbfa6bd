"""One table of a study file: like a system file's, with flags, seeds, labels and times."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from cpsched.systems.section import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_SEEDS = 10_000
_LARGEST_SEED = 2**31 - 1


class StudySection(Section):
    """See :class:`~cpsched.systems.section.Section`."""

    def whole(self, key: str, least: int, most: int, default: int) -> int:
        """Return a whole number within bounds."""
        value = self._get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._wrong(key, value, f"a whole number from {least} to {most}")
        return value

    def seeds(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return distinct seeds: a list, or a number n that stands for 1 to n."""
        value = self._get(key)
        if value is None:
            return default
        right = f"a number of seeds from 1 to {_MOST_SEEDS}, or a list such as [1, 2, 3]"
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_SEEDS:
            return tuple(range(1, value + 1))
        if not isinstance(value, list) or not value or not all(map(_is_seed, value)):
            raise self._wrong(key, value, right)
        twice = next((seed for i, seed in enumerate(value) if seed in value[:i]), None)
        if twice is not None:
            raise self.error(key, f"{twice} is listed twice")
        return tuple(value)

    def labelled(self, key: str, default: Sequence[str]) -> list[tuple[str | None, str]]:
        """Return labels and texts: a list of texts (no labels), or a table ``label = text``."""
        value = self._get(key)
        if value is None and default:
            return [(None, text) for text in default]
        right = 'a list such as ["fifo", "easy"], or a table such as EBF = "easy"'
        pairs: list[tuple[str | None, Any]]
        if isinstance(value, dict):
            pairs = list(value.items())
        elif isinstance(value, list):
            pairs = [(None, text) for text in value]
        else:
            raise self._wrong(key, value, right)
        if not pairs or not all(isinstance(text, str) and text.strip() for _, text in pairs):
            raise self._wrong(key, value, right)
        return pairs

    def moment(self, key: str) -> int | str | None:
        """Return seconds of the log's clock, or a date as text."""
        value = self._get(key)
        if value is None:
            return None
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        try:
            return datetime.fromisoformat(value).isoformat()
        except (TypeError, ValueError):
            raise self._wrong(
                key, value, "seconds of the log's clock, or a date such as 2014-03-31"
            ) from None

    def plain(self, key: str) -> Any:
        """Return a value unchecked, None if it is missing."""
        return self._get(key)


def _is_seed(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_SEED
