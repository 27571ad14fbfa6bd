"""The page's web server: four read-only addresses on this machine."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError

if TYPE_CHECKING:
    from slurm_adapter.live.page.watch import Watch

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


def server(watch: Watch, port: int) -> ThreadingHTTPServer:
    """
    Return a server of the page, which listens on this machine only.

    Raises
    ------
    ConfigError
        If the port is taken.
    """

    class Page(BaseHTTPRequestHandler):
        server_version, sys_version = "cpsched", ""

        def do_GET(self) -> None:
            if self.headers.get("Host", "").split(":")[0] not in _HOSTS:
                self.send_error(400, "Invalid host")
            elif self.path == "/queue.json":
                self._answer(json.dumps(watch.document).encode(), "application/json")
            elif self.path in _FILES:
                name, kind = _FILES[self.path]
                self._answer((_HERE / name).read_bytes(), kind)
            else:
                self.send_error(404)

        def _answer(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write no log: the command prints only where the page is."""

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), Page)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on 127.0.0.1:{port}: {error.strerror}", key="--port"
        ) from None
