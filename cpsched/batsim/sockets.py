"""
The one module that imports pyzmq.

Batsim asks and connects (REQ), the scheduler answers and binds (REP).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Milliseconds between attempts to connect to a scheduler that does not listen yet.
_RECONNECT = 5


def _zmq() -> Any:
    try:
        import zmq
    except ImportError as error:
        raise ConfigError(
            f"pyzmq cannot be imported ({error}). Install it with: pip install 'cpsched[batsim]'"
        ) from error
    return zmq


class RequestSocket:
    """
    Batsim's end: it sends requests, and watches other file descriptors while it waits.

    Parameters
    ----------
    endpoint
        Where the scheduler listens, as ``tcp://localhost:28000``.

    Raises
    ------
    ConfigError
        If pyzmq is not installed, or there is no such endpoint.
    """

    def __init__(self, endpoint: str) -> None:
        self._zmq = _zmq()
        self._context = self._zmq.Context()
        self._socket = self._context.socket(self._zmq.REQ)
        self._socket.linger = 0
        self._patience = -1
        self._socket.reconnect_ivl = _RECONNECT
        self._poller = self._zmq.Poller()
        self._poller.register(self._socket, self._zmq.POLLIN)
        try:
            self._socket.connect(endpoint)
        except self._zmq.ZMQError as error:
            self.close()
            raise ConfigError(f"{error}", where=endpoint) from None

    def watch(self, descriptor: int) -> None:
        """Watch a file descriptor, too."""
        self._poller.register(descriptor, self._zmq.POLLIN)

    def unwatch(self, descriptor: int) -> None:
        """Stop watching it."""
        self._poller.unregister(descriptor)

    def send(self, text: str | bytes) -> None:
        """Ask."""
        self._socket.send(text.encode() if isinstance(text, str) else text)

    def answer(self, milliseconds: int) -> bytes | None:
        """Wait for an answer alone; return it, or None if there is none in time."""
        if milliseconds != self._patience:
            self._socket.rcvtimeo = self._patience = milliseconds
        try:
            answer: bytes = self._socket.recv()
        except self._zmq.Again:
            return None
        return answer

    def wait(self, seconds: float) -> set[int | None]:
        """Return what there is to read: file descriptors, and None for an answer."""
        ready = self._poller.poll(max(seconds, 0) * 1000)
        return {None if source is self._socket else source for source, _ in ready}

    def receive(self) -> bytes:
        """Return the answer, which must be there."""
        answer: bytes = self._socket.recv(self._zmq.NOBLOCK)
        return answer

    def close(self) -> None:
        """Close, whatever has not been sent."""
        self._context.destroy(linger=0)


@contextmanager
def answering(endpoint: str) -> Iterator[Any]:
    """
    Listen as a scheduler: yield a socket with ``recv`` and ``send_string``.

    Raises
    ------
    ConfigError
        If pyzmq is not installed, or nothing can listen there.
    """
    zmq = _zmq()
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        # Its last answer is still to arrive.
        socket.linger = 1000
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            raise ConfigError(f"{error}", where=endpoint) from None
        yield socket
