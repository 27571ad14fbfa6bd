"""
Tables of jobs: CSV (plain or gzip) and Parquet.

Two kinds of table, told apart by their columns: cpsched's own, which holds every column of a
workload (:mod:`cpsched.logs.tables.own`), and the tables of chunk requests that are published
with some SWF logs (:mod:`cpsched.logs.tables.chunks`), which are only read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.errors import TraceError
from cpsched.logs.text import head as first_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from cpsched.logs.rejects import RejectedRows
    from cpsched.model.workload import Workload

#: First bytes of every Parquet file.
_PARQUET = b"PAR1"


class TableFormat:
    """
    Tables of jobs as CSV (plain or gzip) or Parquet files, with one row per job.

    :mod:`cpsched.logs.tables.own` describes the columns.
    """

    name = "table"
    summary = (
        "table of jobs: CSV (plain or gzip) or Parquet, with the columns of cpsched or *.ext.csv"
    )
    suffixes = (".csv", ".parquet")

    def matches(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Tell whether a file is Parquet, or CSV with a header that names jobs."""
        if head.startswith(_PARQUET):
            return True
        lines = [line.strip() for line in head.split(b"\n")]
        header = next((line for line in lines if line and not line.startswith(b"#")), b"")
        names = {name.strip(b' "') for name in header.split(b",")}
        return b"job_id" in names or names >= {b"job", b"cores_per_node"}

    def read(self, path: Path, rejected: RejectedRows) -> Workload:
        """
        Read a table.

        Raises
        ------
        TraceError
            If the file cannot be read, has wrong columns or holds no job.
        """
        from cpsched.logs.tables import chunks, own
        from cpsched.logs.tables.files import read_csv, read_parquet

        is_parquet = first_bytes(path, len(_PARQUET)) == _PARQUET
        table = read_parquet(path) if is_parquet else read_csv(path, rejected)
        # A column may be missing; then the other one tells which table it was to be.
        if "cores_per_node" in table.columns or "job" in table.columns:
            return chunks.workload_of(table, rejected)
        return own.workload_of(table, rejected)

    def write(self, workload: Workload, path: Path) -> None:
        """
        Write a workload: Parquet where the name ends in ``.parquet``, else CSV.

        Reading the file gives an equal workload.

        Raises
        ------
        TraceError
            If the file cannot be written, or the workload cannot be a table: two jobs with the
            same id, or a NUL in a string.
        """
        from cpsched.logs.tables.files import write_csv, write_parquet
        from cpsched.logs.tables.own import metadata_of, tables_of

        write = write_parquet if path.suffix.lower() == ".parquet" else write_csv
        try:
            write(tables_of(workload), metadata_of(workload), path)
        except ValueError as error:
            raise TraceError(str(error), file=path) from error


TABLE = TableFormat()
