"""Errors that a signal has caused."""

import signal

import pytest

from cpsched.util.interruption import Interruption, is_interruption


def raised(before, error, *, caused=False):
    """Return an error that was raised while another was handled, or because of it."""
    try:
        try:
            raise before
        except BaseException as handled:
            if caused:
                raise error from handled
            raise error  # noqa: B904
    except BaseException as caught:
        return caught


@pytest.mark.parametrize("caused", [False, True])
def test_an_error_that_replaces_an_interruption_is_one(caused):
    """As of joblib, which joins a thread that it could not start any more."""
    error = raised(KeyboardInterrupt(), RuntimeError("cannot join thread"), caused=caused)
    assert is_interruption(error)
    assert is_interruption(raised(error, ValueError("later")))


def test_other_errors_are_none():
    assert is_interruption(KeyboardInterrupt())
    assert not is_interruption(SystemExit(130))
    assert not is_interruption(raised(KeyError(1), ValueError(2)))


def test_after_a_signal_every_error_is_one(monkeypatch):
    """As of pydantic, whose SchemaError has the interruption only in its text."""
    handler = Interruption()
    monkeypatch.setattr(signal, "getsignal", {signal.SIGTERM: handler}.get)
    assert not is_interruption(ValueError())
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGINT)
    assert is_interruption(ValueError())
