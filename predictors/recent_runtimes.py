"""The newest runtimes of each of many keys, in bounded memory."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any, TypeAlias

#: A job's user, or name, or profile: strings and numbers, nested tuples of them.
Key: TypeAlias = Any


class RecentRuntimes:
    """
    Remembers the newest few runtimes by key.

    Parameters
    ----------
    keep
        Runtimes remembered of a key, at least 1.
    limit
        Keys remembered, at least 1; beyond that, the key is forgotten that has gone longest
        without a new runtime. Every operation takes constant time.
    """

    def __init__(self, keep: int, limit: int) -> None:
        if keep < 1 or limit < 1:
            raise ValueError(f"keep and limit must be at least 1, they are {keep} and {limit}")
        self._keep = keep
        self._limit = limit
        self._values: OrderedDict[Key, tuple[int, ...]] = OrderedDict()
        self.get = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def add(self, key: Key, runtime: int) -> None:
        """Remember a runtime as the newest of a key, in seconds."""
        values = self._values
        if self._keep == 1:
            values[key] = (runtime,)
        else:
            values[key] = (*values.get(key, ()), runtime)[-self._keep :]
        values.move_to_end(key)
        if len(values) > self._limit:
            values.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()

    def dump(self) -> str:
        """Return everything as JSON, oldest key first."""
        return json.dumps(list(self._values.items()), separators=(",", ":"))

    def load(self, text: str) -> None:
        """Restore what :meth:`dump` returned."""
        self._values.clear()
        for key, runtimes in json.loads(text):
            self._values[frozen(key)] = tuple(int(runtime) for runtime in runtimes)


def frozen(value: Any) -> Any:
    """Turn the lists JSON made of tuples back into tuples."""
    return tuple(frozen(part) for part in value) if isinstance(value, list) else value
