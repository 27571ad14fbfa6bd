"""
Limits on the size of a job log, so that a small file cannot exhaust memory or time.

The limits are far above real logs; ``docs/reference/system-files.md`` lists them. Job ids are kept
in an array of fixed width and amounts in a table of all jobs and resource kinds, so one long id, or
a new kind of resource in every job, would cost as much in every row.
"""

from __future__ import annotations

#: Jobs (or rows) of one log. Equal rows take no room in Parquet: such a file may have so many, or
#: one for each of its bytes if that is more.
MAX_ROWS = 100_000_000
SMALL_ROWS = 10_000_000
#: Characters of a job id.
MAX_ID = 128
#: Kinds of resources of one log.
MAX_KINDS = 64
#: Columns of a table, fields of a line.
MAX_COLUMNS = 1_000
#: Bytes of one line, and of all comment lines together.
MAX_LINE = 16 * 2**20
MAX_COMMENTS = 16 * 2**20
#: Bytes of one file, unpacked.
MAX_UNPACKED = 64 * 2**30
#: Of a packed file: so many times its size, or the second number of bytes if that is more.
MAX_RATIO = 100
SMALL_UNPACKED = 2**27
