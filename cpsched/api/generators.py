"""What a generator of logs is made of."""

from __future__ import annotations

from cpsched.generators.contract import LARGEST_SEED, check_number, check_whole, header, option
from cpsched.generators.sampling import (
    gaussian_arrivals,
    heavy_sizes,
    log_normal,
    persistent_normals,
    pick,
    stratified,
)
