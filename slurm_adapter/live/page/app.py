"""The page's web application: four read-only addresses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.api.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurm_adapter.live.page.watch import Watch

_HERE = Path(__file__).resolve().parent
_FILES = {"/": "page.html", "/page.css": "page.css", "/page.js": "page.js"}
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
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


def application(watch: Watch, hosts: tuple[str, ...] = ("localhost", "127.0.0.1")) -> Any:
    """
    Return the application.

    Parameters
    ----------
    hosts
        The accepted host names; others could be an attack from another page.

    Raises
    ------
    ConfigError
        If Starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        raise ConfigError(
            f"the page needs starlette ({error}); install it with: pip install 'cpsched[serve]'"
        ) from error

    def file(name: str) -> Callable[[Any], Response]:
        path = _HERE / name
        content = path.read_bytes()
        return lambda _: Response(content, media_type=_TYPES[path.suffix], headers=_HEADERS)

    def queue(_: Any) -> Response:
        return JSONResponse(watch.document, headers=_HEADERS)

    routes = [Route(where, file(name)) for where, name in _FILES.items()]
    routes.append(Route("/queue.json", queue))
    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )


def serve(watch: Watch, port: int) -> None:
    """
    Serve the page on this machine until SIGTERM or Ctrl-C.

    Raises
    ------
    ConfigError
        If Uvicorn is not installed.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise ConfigError(
            f"the page needs uvicorn ({error}); install it with: pip install 'cpsched[serve]'"
        ) from error
    watch.start()
    try:
        uvicorn.run(application(watch), host="127.0.0.1", port=port, log_level="warning")
    finally:
        watch.stop()
