"""A Slurm in memory."""

import pytest
from fake_slurm import FakeSlurm
from live_slurm import EURORA


@pytest.fixture
def slurm():
    """A Slurm in memory with the nodes of Eurora."""
    return FakeSlurm(EURORA)
