"""The page on this machine: on a port of 127.0.0.1, or on a socket of its own; read-only."""

from __future__ import annotations

import hmac
import os
import pwd
import socket
import stat
import struct
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from cpsched.api.errors import ConfigError
from cpsched.api.tools import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from socketserver import BaseServer

    from slurm_adapter.live.page.page import Watch

_HERE = Path(__file__).resolve().parent
_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
#: Loads nothing from elsewhere, sends nothing, and cannot be framed.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
        " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
#: The accepted host names; others could be an attack from another page.
_HOSTS = ("localhost", "127.0.0.1")
_COOKIE = "cpsched-token"
#: The kernel's structure of who is at the other end of a Unix socket: process, user, group.
_PEER = struct.Struct("3i")


def server(
    watch: Watch,
    port: int = 0,
    *,
    path: Path | None = None,
    token: str = "",
    shared: bool = False,
) -> BaseServer:
    """
    Return a server of the page, which listens on this machine only.

    Parameters
    ----------
    port
        On 127.0.0.1, where every local account can connect.
    path
        Instead: of a Unix socket, to which only its owner can connect.
    token
        What a request must carry, as ``?token=``, in the cookie that is set then, or as
        ``Authorization: Bearer``; '': nothing.
    shared
        Whether everybody can connect to the Unix socket, to see their own jobs only; root and
        this process's own account see all.

    Raises
    ------
    ConfigError
        If the port is taken, or there is something else at the path.
    """
    handler = type("Page", (_Page,), {"watch": watch, "token": token, "shared": shared})
    try:
        if path:
            return _OnSocket(path, handler, shared=shared)
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        option = "--shared" if shared else "--socket"
        at, key = (str(path), option) if path else (f"127.0.0.1:{port}", "--port")
        raise ConfigError(f"cannot listen on {at}: {error.strerror or error}", key=key) from None


class _Page(BaseHTTPRequestHandler):
    """What one server answers; a subclass says of what, and to whom."""

    watch: Watch
    token: str
    shared: bool
    server_version, sys_version = "cpsched", ""

    def do_GET(self) -> None:
        """Answer a request."""
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if self.headers.get("Host", "").split(":")[0] not in _HOSTS:
            self.send_error(400, "Invalid host")
        elif self.token and not self._has_token(asked.get("token", "")):
            self.send_error(403, "The token is missing: see what cpsched slurm serve prints")
        elif url.path in _FILES:
            name, kind = _FILES[url.path]
            self._answer((_HERE / name).read_bytes(), kind)
        elif url.path == "/metrics" and not self.shared:
            self._tell_metrics()
        else:
            user = _peer(self.connection) if self.shared else None
            known = None
            if url.path == "/queue.json":
                known = self.watch.shown_to(user)
            elif url.path == "/job.json":
                known = self.watch.job(asked.get("job", ""), user)
            self._tell(known)

    def _tell(self, known: Mapping[str, Any] | None) -> None:
        if known is None:
            self.send_error(404)
        else:
            self._answer(json_text(known).encode(), "application/json")

    def _tell_metrics(self) -> None:
        if self.watch.metrics is None:
            self.send_error(501, "Install prometheus-client: pip install 'cpsched[metrics]'")
        else:
            self._answer(*self.watch.metrics.text(self.headers.get("Accept", "")))

    def _has_token(self, given: str) -> bool:
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return any(_same(one, self.token) for one in (given, self._kept(), bearer))

    def _kept(self) -> str:
        """Return the token of the cookie."""
        found = SimpleCookie(self.headers.get("Cookie", "")).get(_COOKIE)
        return found.value if found else ""

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}
        if self.token:
            headers["Set-Cookie"] = f"{_COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write no log: the command prints only where the page is."""


def _same(one: str, other: str) -> bool:
    """Compare texts in a time that does not tell how much of them is equal."""
    return hmac.compare_digest(one.encode(), other.encode())


def _peer(connection: socket.socket) -> str | None:
    """Return who is at the other end of a Unix socket; None: root, or our own account."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, uid, _ = _PEER.unpack(told)
    if uid in (0, os.geteuid()):
        return None
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


class _OnSocket(ThreadingMixIn, UnixStreamServer):
    """A server on a Unix socket, which goes with it: of its owner alone, or shared."""

    daemon_threads = True

    def __init__(self, path: Path, handler: type[BaseHTTPRequestHandler], *, shared: bool) -> None:
        self._path, self._mask = path, 0o111 if shared else 0o177
        #: Whether what is at the path is this one's.
        self._bound = False
        _remove_left(path)
        super().__init__(str(path), handler)

    def server_bind(self) -> None:
        before = os.umask(self._mask)
        try:
            super().server_bind()
            self._bound = True
        finally:
            os.umask(before)

    def server_close(self) -> None:
        super().server_close()
        if self._bound:
            self._path.unlink(missing_ok=True)


def _remove_left(path: Path) -> None:
    """Remove a socket on which nobody listens any more."""
    if not path.exists() or not stat.S_ISSOCK(path.stat().st_mode):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)):
            path.unlink()
