"""The sample log that comes with cpsched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cpsched import traces
from cpsched.base import resources
from cpsched_papers.generators.eurora import EURORA, EuroraOptions

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = resources.path("logs", "eurora-sample.csv.gz")
OPTIONS = EuroraOptions(jobs=5000, seed=14, load=0.6)
AGAIN = "cpsched workload generate eurora --jobs 5000 --seed 14 --load 0.6 -o FILE"


def test_sample_is_what_the_generator_makes() -> None:
    """If this fails after a deliberate change of the generator, count up its VERSION."""
    if traces.read(SAMPLE).digest() != EURORA.generate(OPTIONS).digest():
        pytest.fail(f"the bundled sample is out of date; make it again with: {AGAIN}")


def test_sample_can_be_made_again_byte_for_byte(tmp_path: Path) -> None:
    """No time of writing and no file name may get into the gzip."""
    written = tmp_path / "another-name.csv.gz"
    traces.write(EURORA.generate(OPTIONS), written)
    assert written.read_bytes() == SAMPLE.read_bytes()
