"""A Slurm in memory, engines on it, and backends with a Slurm behind each."""

import pytest
from fake_slurm import FakeSlurm
from live_slurm import EURORA, Real, fake

from slurm_adapter.live.engine import Engine, Limits
from slurm_adapter.live.mirror import Mirror
from slurm_adapter.live.scontrol import Scontrol


@pytest.fixture
def any_slurm(request):
    """The fake Slurm or the private one; parametrized indirectly."""
    if request.param == "fake":
        return fake()
    slurm = request.getfixturevalue("private_slurm")
    return Real(slurm, Scontrol(slurm.environment))


@pytest.fixture
def slurm():
    """A Slurm in memory with the nodes of Eurora."""
    return FakeSlurm(EURORA)


@pytest.fixture
def make(slurm, tmp_path):
    """Make an engine, or the next one after a crash; ``said`` is what it says."""

    def made(dispatcher="prb", *, patience=0, starts=50, **given):
        said = []
        engine = Engine(
            slurm,
            Mirror(EURORA, dispatcher),
            say=said.append,
            **{
                "folder": tmp_path / "state", "act": True,
                "limits": Limits(patience=patience, starts=starts), **given,
            },
        )  # fmt: skip
        engine.said = said
        return engine

    return made


@pytest.fixture
def engine(make):
    """An engine that has its folder."""
    engine = make()
    with engine.opened():
        yield engine
