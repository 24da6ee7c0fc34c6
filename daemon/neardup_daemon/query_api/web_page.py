"""Serve the web page: static files, with headers that allow a browser to load and run nothing else."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import resources
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from aiohttp import web

from neardup_daemon.query_api.access import Access
from neardup_daemon.query_api.problems import Refused

__all__ = ["WEB_HEADERS", "web_routes"]

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FIRST: Final = "index.html"

_POLICY: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",  # no script may turn text into markup
    "trusted-types 'none'",
)

WEB_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Security-Policy": "; ".join(_POLICY),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }
)
"""Of every file of the page."""

Route = tuple[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]


def web_routes(access: Access) -> Iterator[Route]:
    """Yield the path and the handler of each file of the web page.

    The files hold no data and need no token, as the page asks for it; the Host header is checked as for
    every request.
    """
    for file in resources.files(__package__).joinpath("web").iterdir():
        answer = _answer(file.read_bytes(), _TYPES[PurePath(file.name).suffix], access)
        yield f"/web/{file.name}", answer
        if file.name == _FIRST:
            yield "/", answer


def _answer(
    body: bytes, content_type: str, access: Access
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            access.check_host(request.headers.get("Host", ""))
        except Refused as refused:
            return web.Response(status=refused.problem.status, text=f"{refused}\n")
        return web.Response(body=body, headers={"Content-Type": content_type, **WEB_HEADERS})

    return answer
