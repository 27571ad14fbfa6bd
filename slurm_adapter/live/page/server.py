"""The page on this machine: on a port of 127.0.0.1, or on a socket of its own; read-only."""

from __future__ import annotations

import hmac
import json
import os
import socket
import stat
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from cpsched.api.errors import ConfigError

if TYPE_CHECKING:
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


def server(watch: Watch, port: int = 0, *, path: Path | None = None, token: str = "") -> BaseServer:
    """
    Return a server of the page, which listens on this machine only.

    Parameters
    ----------
    port
        On 127.0.0.1, where every local account can connect.
    path
        Instead: of a Unix socket, to which only its owner can connect.
    token
        What a request must carry, as ``?token=`` or in the cookie that is set then; '': nothing.

    Raises
    ------
    ConfigError
        If the port is taken, or there is something else at the path.
    """

    class Page(BaseHTTPRequestHandler):
        server_version, sys_version = "cpsched", ""

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            given = parse_qs(url.query).get("token", [""])[0]
            if self.headers.get("Host", "").split(":")[0] not in _HOSTS:
                self.send_error(400, "Invalid host")
            elif token and not any(_same(one, token) for one in (given, self._kept())):
                self.send_error(403, "The token is missing: see what cpsched slurm serve prints")
            elif url.path == "/queue.json":
                self._answer(json.dumps(watch.document).encode(), "application/json")
            elif url.path in _FILES:
                name, kind = _FILES[url.path]
                self._answer((_HERE / name).read_bytes(), kind)
            else:
                self.send_error(404)

        def _kept(self) -> str:
            """Return the token of the cookie."""
            found = SimpleCookie(self.headers.get("Cookie", "")).get(_COOKIE)
            return found.value if found else ""

        def _answer(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}
            if token:
                headers["Set-Cookie"] = f"{_COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write no log: the command prints only where the page is."""

    try:
        return _OnSocket(path, Page) if path else ThreadingHTTPServer(("127.0.0.1", port), Page)
    except OSError as error:
        at, key = (str(path), "--socket") if path else (f"127.0.0.1:{port}", "--port")
        raise ConfigError(f"cannot listen on {at}: {error.strerror or error}", key=key) from None


def _same(one: str, other: str) -> bool:
    """Compare texts in a time that does not tell how much of them is equal."""
    return hmac.compare_digest(one.encode(), other.encode())


class _OnSocket(ThreadingMixIn, UnixStreamServer):
    """A server on a Unix socket of its owner alone, which goes with it."""

    daemon_threads = True

    def __init__(self, path: Path, handler: type[BaseHTTPRequestHandler]) -> None:
        self._path = path
        #: Whether what is at the path is this one's.
        self._bound = False
        _remove_left(path)
        super().__init__(str(path), handler)

    def server_bind(self) -> None:
        before = os.umask(0o177)
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
