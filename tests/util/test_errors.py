"""Errors travel from one process to another."""

import pickle

import pytest

from cpsched.errors import (
    ConfigError,
    DispatchError,
    InfeasibleRequestError,
    RunError,
    TraceError,
    UnknownNameError,
    VerificationError,
)


@pytest.mark.parametrize(
    "error",
    [
        TraceError("no number", file="a.swf", line=3, field="runtime", value="x"),
        ConfigError("is 0", where="plan.toml", line=3, key="jobs"),
        UnknownNameError("dispatcher", "fifi", ["fifo", "easy"]),
        InfeasibleRequestError("7", "asks for 9 cores"),
        DispatchError("job 3"),
        RunError("run.json"),
        VerificationError("job 1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_pickles(error):
    """Class, message and every detail."""
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))
