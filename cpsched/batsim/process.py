"""A scheduler in a process of its own, and the socket to it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from cpsched.batsim import version5
from cpsched.batsim.messages import Event, written
from cpsched.batsim.sockets import RequestSocket
from cpsched.errors import ConfigError, DispatchError
from cpsched.util.words import duration, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What stands for the socket in a command.
SOCKET = "{socket}"
#: Bytes of what a scheduler has written last to stderr.
_TAIL = 4096
#: Seconds in which a scheduler that was told the end should have ended.
_GRACE = 2.0
#: Milliseconds in which an answer is likely.
_SOON = 50
#: Messages after which its stderr is read.
_OFTEN = 16


def words_of(command: str) -> list[str]:
    """
    Return the words of a command.

    Raises
    ------
    ConfigError
        If quotes are left open.
    """
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"{quoted(command)}: {error}", key="command") from None


class Scheduler:
    """
    A running scheduler: it is asked, and ends when it is told so, or is killed.

    What it writes to stdout is thrown away; the last line on stderr is in errors.

    Parameters
    ----------
    command
        The words of the command; ``{socket}`` stands for the endpoint, which is otherwise appended
        as ``--socket-endpoint=...``. Empty: a scheduler that runs already.
    endpoint
        Where it listens; empty: a socket in a folder of its own.
    timeout
        Seconds that it may take for an answer, the time to begin included.
    protocol
        4, which is that of version 3, too; or 5.

    Raises
    ------
    ConfigError
        If pyzmq is not installed, or there is no such command or endpoint.
    DispatchError
        If it does not introduce itself as it should, in protocol 5.

    Attributes
    ----------
    now
        Second up to which the simulation has come, as the owner says.
    """

    def __init__(
        self, command: Sequence[str], endpoint: str, timeout: float, protocol: int = 4
    ) -> None:
        self.now = 0.0
        self._written = version5.written if protocol == 5 else written
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: RequestSocket | None = None
        self._waits = False
        self._num_requests = 0
        self._errors = b""
        self._folder = "" if endpoint else tempfile.mkdtemp(prefix="cpsched-batsim-")
        try:
            endpoint = endpoint or f"ipc://{self._folder}/s"
            self._socket = RequestSocket(endpoint)
            if command:
                self._process = _started(command, endpoint)
                os.set_blocking(self._stderr, False)
                self._socket.watch(self._stderr)
            if protocol == 5:
                version5.check_hello(self.request(version5.opening()))
        except BaseException:
            self.kill()
            raise

    @property
    def _stderr(self) -> int:
        assert self._process is not None
        assert self._process.stderr is not None
        return self._process.stderr.fileno()

    def request(self, text: str | bytes) -> bytes:
        """
        Send a message and return the answer.

        Raises
        ------
        DispatchError
            If the scheduler has ended, or does not answer in time.
        """
        assert self._socket is not None
        self._socket.send(text)
        self._waits = True
        # It is likely to answer at once, and may have written a line for every message: reading
        # each of them as it comes would cost more than the answer.
        answer = self._socket.answer(_SOON)
        if answer is not None:
            self._waits = False
            self._drain()
            return answer
        until = monotonic() + self._timeout
        while True:
            ready = self._socket.wait(until - monotonic())
            if None in ready:
                self._waits = False
                return self._socket.receive()
            if ready:
                self._listen()
            elif monotonic() >= until:
                raise DispatchError(
                    f"batsim: the scheduler has not answered for {duration(self._timeout)}"
                    f" (timeout={self._timeout:g}){self._last_words()}"
                )

    def _drain(self) -> None:
        """Read what the scheduler has written to stderr, now and then."""
        self._num_requests += 1
        if self._process is not None and self._num_requests % _OFTEN == 0:
            with suppress(BlockingIOError):
                self._errors = (self._errors + os.read(self._stderr, 1 << 20))[-_TAIL:]

    def _listen(self) -> None:
        """Read what the scheduler has written to stderr; raise if it has ended."""
        assert self._process is not None
        assert self._socket is not None
        output = b""
        with suppress(BlockingIOError):
            output = os.read(self._stderr, 1 << 20)
        self._errors = (self._errors + output)[-_TAIL:]
        if output:
            return
        self._socket.unwatch(self._stderr)
        # Closed: it has ended, or is about to, or is one that closes its stderr.
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=1)
            how = f"by signal {-code}" if code < 0 else f"with status {code}"
            raise DispatchError(f"batsim: the scheduler has ended {how}{self._last_words()}")

    def _last_words(self) -> str:
        lines = [
            line for line in self._errors.decode("utf-8", "replace").splitlines() if line.strip()
        ]
        return f": {quoted(lines[-1].strip()[-200:])}" if lines else ""

    def end(self) -> None:
        """Tell the scheduler that the simulation has ended, and see that it does; never raises."""
        try:
            if not self._waits and self._socket is not None:
                self._timeout = min(self._timeout, _GRACE)
                self.request(self._written(self.now, [Event(self.now, "SIMULATION_ENDS", {})]))
                if self._process is not None:
                    self._process.communicate(timeout=_GRACE)
        except (DispatchError, OSError, subprocess.SubprocessError):
            # All is done that it was for.
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """Leave nothing behind: neither process nor socket nor folder."""
        if self._process is not None:
            # With whatever it has started itself.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _started(command: Sequence[str], endpoint: str) -> subprocess.Popen[bytes]:
    words = [word.replace(SOCKET, endpoint) for word in command]
    if not any(SOCKET in word for word in command):
        words.append(f"--socket-endpoint={endpoint}")
    try:
        return subprocess.Popen(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # Sets of text are in the same order every time.
            env={"PYTHONHASHSEED": "0", **os.environ},
            # Ctrl-C is for us, who see to its end; and all that it starts can be killed.
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigError(f"{quoted(words[0])}: {error.strerror}", key="command") from None
