"""A workload as several tables, each with the jobs of one group, written in one pass over it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched.base import arrow
from cpsched.base.atomic_files import replacing
from cpsched.errors import TraceError
from cpsched.traces.table_metadata import metadata_of
from cpsched.traces.table_own import tables_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.base.types import IntArray
    from cpsched.model.workload import Workload

#: Files that are written at once: a process may have a thousand or so open.
_OPEN = 256


def write_groups(workload: Workload, codes: IntArray, paths: Sequence[Path]) -> None:
    """
    Write the jobs of each group as a Parquet table of its own.

    Of a long workload a part is in memory at a time. A table's jobs are in the workload's order,
    and what was set aside is in none of them.

    Parameters
    ----------
    codes
        The group of each job, shape ``(J,)``.
    paths
        The file of each group; a group without jobs has none.

    Raises
    ------
    TraceError
        If a file cannot be written, a job depends on one of another group, or as for
        :func:`cpsched.traces.write`.
    """
    needed = workload.dependency
    rows = np.flatnonzero(needed >= 0)
    apart = rows[codes[needed[rows]] != codes[rows]]
    if len(apart):
        job, other = workload.job_id[[apart[0], needed[apart[0]]]]
        raise TraceError(f"job {job} depends on job {other}, which is of another group")
    for first in range(0, len(paths), _OPEN):
        try:
            _write(workload, codes, first, paths[first : first + _OPEN])
        except OSError as error:
            raise TraceError(
                f"cannot be written: {error.strerror or error}", file=paths[first].parent
            ) from error


def _write(workload: Workload, codes: IntArray, first: int, paths: Sequence[Path]) -> None:
    """Write the files of some groups, of which the first has this code."""
    about: dict[str, Any] = {**metadata_of(workload), "set_aside": []}
    writers: dict[int, pq.ParquetWriter] = {}
    with ExitStack() as stack:
        at = 0
        for columns in tables_of(workload):
            table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
            own = codes[at : at + len(table)] - first
            at += len(table)
            order = np.argsort(own, kind="stable")
            begins = np.searchsorted(own[order], np.arange(len(paths) + 1)).tolist()
            table = table.take(arrow.numbers(order))
            for code, path in enumerate(paths):
                piece = table.slice(begins[code], begins[code + 1] - begins[code])
                if not len(piece):
                    continue
                if code not in writers:
                    said = json.dumps({**about, "title": path.stem})
                    writers[code] = stack.enter_context(
                        pq.ParquetWriter(
                            stack.enter_context(replacing(path)),
                            piece.schema.with_metadata({"cpsched": said}),
                            compression="zstd",
                            use_dictionary=arrow.repeating(table),
                        )
                    )
                writers[code].write_table(piece)
