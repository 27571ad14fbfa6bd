"""Backends, each with a Slurm behind it."""

from __future__ import annotations

import pytest
from live_slurm import Real, fake

from slurm_adapter.live.scontrol import Scontrol
from slurm_adapter.live.slurmrestd import Slurmrestd


@pytest.fixture
def rest(private_slurm):
    """The private Slurm's slurmrestd."""
    backend = Slurmrestd(private_slurm.folder / "run" / "rest.sock", private_slurm.environment)
    yield backend
    backend.close()


@pytest.fixture
def any_slurm(request):
    """The fake Slurm, or the private one behind a real backend; parametrized indirectly."""
    if request.param == "fake":
        return fake()
    slurm = request.getfixturevalue("private_slurm")
    if request.param == "scontrol":
        return Real(slurm, Scontrol(slurm.environment))
    return Real(slurm, request.getfixturevalue("rest"))
