"""What is remembered by key, in bounded memory: the newest values, the newest runtimes."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

#: Keys remembered, unless set otherwise.
LIMIT = 50_000
#: A job's user, or name, or profile: strings and numbers, nested tuples of them.
Key: TypeAlias = Any
Value = TypeVar("Value")


class Remembered(OrderedDict[Key, Value]):
    """
    Values by key.

    Parameters
    ----------
    limit
        Keys remembered, at least 1; beyond that, the key is forgotten that has gone longest
        without news. Every operation takes constant time.
    """

    # With defaults, so that copies can be made.
    def __init__(self, limit: int = LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit}, must be at least 1")
        super().__init__()
        self._limit = limit

    def put(self, key: Key, value: Value) -> None:
        """Remember the value of a key of which there is news."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._limit:
            self.popitem(last=False)

    def dump(self) -> str:
        """Return everything as JSON, oldest key first; values with slots as lists."""
        return json.dumps(list(self.items()), separators=(",", ":"), default=_of_slots)

    def take(self, text: str, make: Callable[[Any], Value]) -> None:
        """Restore what :meth:`dump` returned; ``make`` makes a value of its JSON."""
        self.clear()
        for key, value in json.loads(text):
            self[frozen(key)] = make(value)


class RecentRuntimes(Remembered[tuple[int, ...]]):
    """
    The newest few runtimes by key, oldest first.

    Parameters
    ----------
    keep
        Runtimes remembered of a key, at least 1.
    limit
        As for :class:`Remembered`.
    """

    def __init__(self, keep: int = 1, limit: int = LIMIT) -> None:
        if keep < 1:
            raise ValueError(f"keep is {keep}, must be at least 1")
        super().__init__(limit)
        self._keep = keep

    def add(self, key: Key, runtime: int) -> None:
        """Remember a runtime as the newest of a key, in seconds."""
        self.put(key, (*self.get(key, ()), runtime)[-self._keep :])

    def load(self, text: str) -> None:
        """Restore what :meth:`dump` returned."""
        self.take(text, lambda runtimes: tuple(int(runtime) for runtime in runtimes))


def frozen(value: Any) -> Any:
    """Turn the lists JSON made of tuples back into tuples."""
    return tuple(frozen(part) for part in value) if isinstance(value, list) else value


def _of_slots(value: Any) -> list[Any]:
    return [getattr(value, name) for name in value.__slots__]
