"""What is known of a job at submit, as plain values: what rules and features are made of."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from cpsched.model import columns as c

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.jobstore import JobStore
    from cpsched.model.jobtable import JobTable

# Names of this module are found faster than those of another.
_USER, _NAME, _QUEUE, _GROUP, _SHAPE = c.USER, c.NAME, c.QUEUE, c.GROUP, c.SHAPE
_REQUESTED_TIME, _UNITS, _NODES = c.REQUESTED_TIME, c.UNITS, c.NODES_MIN
_HANDLE, _SUBMIT = c.HANDLE, c.SUBMIT


class JobRecord(NamedTuple):
    """
    One job, categories as strings.

    The first seven fields are its full profile, so that parts of it are slices.

    Attributes
    ----------
    user, name, queue, group
        None where unknown.
    requested_time, units, nodes, handle, submit
        As in the job table; ``nodes`` is the fewest it may touch.
    needs
        What a unit needs of every resource kind, then what every node needs besides, shape
        ``(2 R,)``; memory is left out of both unless the reader was told to include it.
    prefix
        Of the name, None where it has none.
    """

    user: str | None
    name: str | None
    queue: str | None
    requested_time: int
    units: int
    nodes: int
    needs: tuple[int, ...]
    prefix: str | None
    group: str | None
    handle: int
    submit: int


class JobReader:
    """
    Reads job tables row by row.

    Parameters
    ----------
    prefix
        How a name's prefix is taken, see :func:`predictors.job_records.prefix_rule`.
    memory
        Whether memory is part of ``needs``.
    """

    def __init__(self, *, prefix: str = "stem", memory: bool = False) -> None:
        self._prefix = prefix_rule(prefix)
        self._memory = memory
        self._store: JobStore | None = None
        self._needs: list[tuple[int, ...]] = []

    def read(self, jobs: JobTable) -> list[JobRecord]:
        """Return the jobs of a table, in table order."""
        store = jobs.store
        if store is not self._store or len(store.shapes) != len(self._needs):
            self._read_shapes(store)
        labels = store.labels
        users, names = labels["user"], labels["name"]
        queues, groups = labels["queue"], labels["group"]
        # One row by its number is four times as fast as a table of one row.
        if len(jobs.rows) == 1:
            rows = [store.columns[jobs.rows.item(0)].tolist()]
        else:
            rows = store.columns[jobs.rows].tolist()
        read = []
        for row in rows:
            user, code, queue, group = row[_USER], row[_NAME], row[_QUEUE], row[_GROUP]
            name = names[code] if code >= 0 else None
            read.append(
                JobRecord(
                    users[user] if user >= 0 else None,
                    name,
                    queues[queue] if queue >= 0 else None,
                    row[_REQUESTED_TIME],
                    row[_UNITS],
                    row[_NODES],
                    self._needs[row[_SHAPE]],
                    None if name is None else self._prefix(name),
                    groups[group] if group >= 0 else None,
                    row[_HANDLE],
                    row[_SUBMIT],
                )
            )
        return read

    def _read_shapes(self, store: JobStore) -> None:
        """Keep what each distinct request needs; requests only ever come in addition."""
        if store is not self._store:
            self._store, self._needs = store, []
        kinds = store.resources
        used_kinds = [index for index, kind in enumerate(kinds) if self._memory or kind != "mem"]
        positions = [c.SHAPE_REQUEST + index for index in used_kinds]
        positions += [c.SHAPE_REQUEST + len(kinds) + index for index in used_kinds]
        new = store.shapes[len(self._needs) :, positions].tolist()
        self._needs.extend(tuple(amounts) for amounts in new)


#: What stands between the parts of a name.
_SEPARATORS = " _-.,:;+=#@()[]/"
_LONGEST = 256


def prefix_rule(setting: str) -> Callable[[str], str | None]:
    """
    Return the function that takes a name's prefix.

    Parameters
    ----------
    setting
        ``stem``: what stands before the first digit, without the separators at its end, so
        ``relax_012`` and ``relax-7b`` are both ``relax``. A number: so many characters of the
        beginning. ``none``: names have no prefix.

    Returns
    -------
    callable
        From a name to its prefix, None where it has none. A name of digits alone, as the archive
        logs have, is the number of an executable: its beginning says nothing, it has no prefix.

    Raises
    ------
    ValueError
        If the setting is none of these.
    """
    if setting == "none":
        return _none
    if setting == "stem":
        return _stem
    if not (setting.isascii() and setting.isdigit() and 1 <= int(setting) <= _LONGEST):
        raise ValueError(f"prefix is '{setting}', must be stem, none or a number from 1 to 256")
    return partial(_beginning, length=int(setting))


def _none(name: str) -> None:  # noqa: ARG001
    return None


def _beginning(name: str, length: int) -> str | None:
    return None if name.isdigit() else name[:length]


@lru_cache(maxsize=4096)
def _stem(name: str) -> str | None:
    for position, character in enumerate(name):
        if character.isdigit():
            return name[:position].rstrip(_SEPARATORS) or None
    return name.rstrip(_SEPARATORS) or None
