"""Arrays and tables in files."""

from __future__ import annotations

from cpsched.base import arrow
from cpsched.base.archive import flattened, read_arrays, unflattened
