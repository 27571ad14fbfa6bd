"""Backends, each with a Slurm behind it."""

from __future__ import annotations

import pytest
from live_slurm import Real, fake

from slurm_adapter.live.scontrol import Scontrol


@pytest.fixture
def any_slurm(request):
    """The fake Slurm or the private one; parametrized indirectly."""
    if request.param == "fake":
        return fake()
    slurm = request.getfixturevalue("private_slurm")
    return Real(slurm, Scontrol(slurm.environment))
