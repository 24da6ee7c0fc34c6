"""Serve HTTP on the ports of the process: a client's mistake is answered with a problem, and not logged."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

import msgspec
from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from neardup_daemon.query_api.problems import PROBLEM_TYPE, Problem

__all__ = ["SAFE_HEADERS", "http_protocols", "problem_answer", "without_versions"]

SAFE_HEADERS: Final = MappingProxyType({"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"})
"""Of answers that no browser may take for something else, and no proxy may keep."""

_SERVER: Final = "neardup-stream"
"""The header `Server` of every answer; that of the library would name its version and that of Python."""


def http_protocols(
    server: web.Server, logger: logging.Logger, **options: float
) -> Callable[[], asyncio.Protocol]:
    """Return what makes a protocol for each connection.

    Args:
        server: takes the requests.
        logger: where our own faults go.
        options: of `aiohttp.web.RequestHandler`, other than its defaults.
    """
    logger.addFilter(_is_no_fault_of_clients)
    loop = asyncio.get_running_loop()
    arguments: dict[str, Any] = {"logger": logger, "access_log": None, **options}

    def make_protocol() -> asyncio.Protocol:
        return _HttpProtocol(server, loop=loop, **arguments)

    return make_protocol


async def without_versions(_request: web.Request, response: web.StreamResponse) -> None:
    """Set the header `Server` of an answer; a handler of `on_response_prepare`."""
    response.headers[hdrs.SERVER] = _SERVER


def problem_answer(problem: Problem, headers: Mapping[str, str]) -> web.Response:
    """Return an answer with a problem document."""
    return web.Response(
        body=msgspec.json.encode(problem),
        status=problem.status,
        headers={hdrs.CONTENT_TYPE: PROBLEM_TYPE, **SAFE_HEADERS, **headers},
    )


class _HttpProtocol(web.RequestHandler):
    """Answers with a problem document what is no request, or has a body that cannot be decoded."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer, and close the connection behind it."""
        super().handle_error(request, status, exc, message)  # logs it; raises if an answer has begun
        detail = (
            "the request is not what HTTP or its headers say" if status < 500 else "a fault of the server"
        )
        return _last_answer(HTTPStatus(status), detail)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer; the library's own to the header `Expect` is a plain text."""
        if isinstance(resp, web.HTTPExpectationFailed):
            resp = _last_answer(HTTPStatus.BAD_REQUEST, "the header Expect may say 100-continue alone")
        return await super().finish_response(request, resp, start_time)


def _last_answer(status: HTTPStatus, detail: str) -> web.Response:
    """Return a problem document behind which the connection is closed."""
    problem = Problem(title=status.phrase, status=status, detail=detail)
    response = problem_answer(problem, {hdrs.SERVER: _SERVER})
    response.force_close()
    return response


def _is_no_fault_of_clients(record: logging.LogRecord) -> bool:
    """Return whether a line of the HTTP server is about ourselves: clients could fill the log with others."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError | ConnectionError)
