"""What a generator of logs is made of."""

from __future__ import annotations

from cpsched.generators.contract import (
    LARGEST_SEED,
    check_number,
    check_whole,
    header,
    heavy_sizes,
    log_normal,
    option,
    pick,
    stratified,
    streams,
)
from cpsched.model.arrays import let_go, shared
