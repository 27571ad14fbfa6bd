"""pandas data frames of Arrow columns; pandas is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd


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
            "needs pandas; install it with: pip install 'cpsched[pandas]'", key="to_pandas"
        ) from error
    table = pa.table(dict(columns))
    for name in times:
        seconds = table.column(name)
        moments = _moments(seconds, epoch)
        table = table.set_column(table.column_names.index(name), name, moments)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _moments(seconds: pa.ChunkedArray, epoch: int | None) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    if epoch is None:
        return seconds.cast(pa.duration("s"))
    return pc.add(seconds, epoch).cast(pa.timestamp("s", tz="UTC"))
