"""
Arrow columns from NumPy, built from their buffers.

``pyarrow.array`` imports pandas whenever that is installed, which takes longer than writing most
runs; these do not.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cpsched.errors import ConfigError
from cpsched.util.native import load_core
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from cpsched.util.types import AnyArray, BoolArray, IntArray, StrArray

#: Of a row group: as pyarrow has them.
ROWS = 1 << 20
_TYPES = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "int8": pa.int8(),
    "float64": pa.float64(),
}

#: What reading a file may raise whose content may be anything.
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, MemoryError, RecursionError, pa.ArrowException),
)
_TOO_LONG = "a text column may hold at most 2 GB"
_MAX_ASCII = 127


def read_file(path: Path, columns: Sequence[str] | None = None, **how: Any) -> pa.Table:
    """
    Return a Parquet file, or some of its columns; ``pyarrow.parquet.read_table`` imports pandas.

    Parameters
    ----------
    how
        Arguments of ``pyarrow.parquet.ParquetFile``.
    """
    with pq.ParquetFile(path, **how) as file:
        return file.read(columns=None if columns is None else list(columns), use_threads=False)


def read_batches(path: Path, columns: Sequence[str], **how: Any) -> Iterator[pa.Table]:
    """Yield some columns of a Parquet file, some rows at a time; arguments as there."""
    with pq.ParquetFile(path, **how) as file:
        batches = file.iter_batches(ROWS, columns=list(columns), use_threads=False)
        # Nothing here holds on to a batch.
        yield from map(pa.Table.from_batches, zip(batches, strict=True))


def write_file(
    where: Path | IO[bytes],
    tables: Iterable[Mapping[str, pa.Array]],
    metadata: Mapping[str, str] | None = None,
    **how: Any,
) -> None:
    """
    Write a Parquet file of which not all need be in memory at once.

    Parameters
    ----------
    tables
        At least one: columns by name, the same ones, row after row.
    how
        Arguments of ``pyarrow.parquet.ParquetWriter``.
    """
    batches = (_table(columns) for columns in tables)
    rest = next(batches).replace_schema_metadata(metadata)
    numbered = repeating(rest)
    with pq.ParquetWriter(
        where, rest.schema, compression="zstd", use_dictionary=numbered, **how
    ) as writer:
        for batch in batches:
            while rest.num_rows >= ROWS:
                writer.write_table(rest[:ROWS].combine_chunks())
                rest = rest[ROWS:]
            rest = pa.concat_tables([rest, batch.cast(rest.schema)])
        writer.write_table(rest.combine_chunks(), row_group_size=ROWS)
    del rest
    release_unused()


def release_unused() -> None:
    """Hand memory back that the allocators of Arrow and C keep after large columns have gone."""
    pa.default_memory_pool().release_unused()
    load_core().release_unused_memory()


def _table(columns: Mapping[str, pa.Array]) -> pa.Table:
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def integers(table: pa.Table, name: str, none: int = MISSING) -> IntArray:
    """Return a column as int64, with ``none`` for nulls."""
    # pyarrow.scalar imports pandas.
    instead = numbers(np.array([none]))[0]
    return plain(table.column(name).cast(pa.int64()).fill_null(instead).combine_chunks())


def plain(array: pa.Array) -> IntArray:
    """Return int64 without nulls, from its buffer: pyarrow's own way imports pandas."""
    if not len(array):
        return np.empty(0, dtype=np.int64)
    values = np.frombuffer(array.buffers()[1], dtype=np.int64)
    return values[array.offset : array.offset + len(array)].copy()


def check_within(what: str, values: IntArray, low: int, high: int) -> None:
    """Raise ValueError where a value of a file is out of a range."""
    wrong = values[(values < low) | (values > high)]
    if len(wrong):
        raise ValueError(f"{what} is {wrong[0]}, must be from {low} to {high}")


def numbers(values: AnyArray, known: BoolArray | None = None) -> pa.Array:
    """
    Return numbers or flags as a column.

    Parameters
    ----------
    values
        int64, int32, int8, float64 or bool, shape ``(n,)``.
    known
        Where there is a value; null elsewhere. All, where None.
    """
    validity = None if known is None else _bits(known)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [validity, _bits(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_TYPES[values.dtype.name], len(values), [validity, data])


def strings(texts: Sequence[str | None]) -> pa.Array:
    """Return texts as a column, null where None."""
    known: BoolArray | None = None
    if None in texts:
        known = np.array([text is not None for text in texts], dtype=np.bool_)
    filled = texts if known is None else ["" if text is None else text for text in texts]
    joined = "".join(filled)  # type: ignore[arg-type]
    # One character a byte is usual; else each text has to say how long it is by itself.
    sizes = filled if joined.isascii() else [text.encode() for text in filled]  # type: ignore[union-attr]
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, sizes), np.int64, len(texts)), out=offsets[1:])  # type: ignore[arg-type]
    if offsets[-1] >= 2**31:
        raise ValueError(_TOO_LONG)
    return pa.StringArray.from_buffers(
        len(texts),
        pa.py_buffer(offsets.astype(np.int32)),
        pa.py_buffer(joined.encode()),
        None if known is None else _bits(known),
    )


def texts(values: StrArray) -> pa.Array:
    """Return an array of texts as a column; those of ASCII alone cost a tenth of others."""
    codes = np.frombuffer(values.tobytes(), dtype=np.uint32).reshape(
        len(values), values.dtype.itemsize // 4
    )
    used = codes != 0
    inside = bool((used[:, 1:] & ~used[:, :-1]).any())
    if not codes.size or inside or codes.max() > _MAX_ASCII or not values.dtype.isnative:
        return strings(values.tolist())
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(used, axis=1), out=offsets[1:])
    if offsets[-1] >= 2**31:
        raise ValueError(_TOO_LONG)
    data = codes[used].astype(np.uint8)
    return pa.StringArray.from_buffers(
        len(values), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)
    )


def coded(codes: AnyArray, values: Sequence[str]) -> pa.Array:
    """Return ``values[codes]`` as a column of texts, null where a code is negative."""
    indices = numbers(codes.astype(np.int64), codes >= 0)
    return pa.DictionaryArray.from_arrays(indices, strings(values)).dictionary_decode()


def repeating(table: pa.Table) -> list[str]:
    """
    Return the columns whose values Parquet should number: texts, but not the jobs' ids.

    Numbering numbers costs time and space; plain, zstd has them smaller.
    """
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    return [name for name in texts if name != "job_id"]


def _bits(flags: BoolArray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def data_frame(
    columns: Mapping[str, Any], *, times: Iterable[str] = (), epoch: int | None = None
) -> pd.DataFrame:
    """
    Return columns as a data frame.

    Parameters
    ----------
    columns
        Arrow arrays or sequences by name, all of the same length.
    times
        Names of columns that hold seconds of a log's clock.
    epoch
        Unix time of second 0. These columns become timestamps (UTC), or time deltas since second 0
        where it is None.

    Raises
    ------
    ConfigError
        If pandas is not installed.
    """
    try:
        import pandas  # noqa: F401, ICN001
    except ImportError as error:
        raise ConfigError(
            "needs pandas. Install it with: pip install 'cpsched[pandas]'", key="to_pandas"
        ) from error
    import pyarrow.compute as pc

    table = pa.table(dict(columns))
    for name in times:
        moments = table.column(name)
        if epoch is None:
            moments = moments.cast(pa.duration("s"))
        else:
            moments = pc.add(moments, epoch).cast(pa.timestamp("s", tz="UTC"))
        table = table.set_column(table.column_names.index(name), name, moments)
    frame: pd.DataFrame = table.to_pandas()
    return frame
