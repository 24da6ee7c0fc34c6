"""Takes a request through its checks to its endpoint, and makes an answer of what that returns or raises."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from http import HTTPStatus
from time import perf_counter

import msgspec
from aiohttp import web

from neardup_daemon.http_protocol import SAFE_HEADERS, problem_answer
from neardup_daemon.logs import log_event
from neardup_daemon.query_api.access import Access
from neardup_daemon.query_api.admission import Admission
from neardup_daemon.query_api.bodies import JSON, Bodies
from neardup_daemon.query_api.endpoints import NO_HEADERS, Call, Endpoint
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.parameters import read_parameters
from neardup_daemon.query_api.problems import RETRY_SOON, Problem, Refused
from neardup_daemon.redaction import redact
from neardup_daemon.settings.query_api import Api
from neardup_stream.errors import ConfigError, CorruptData, Unavailable

__all__ = ["Answering", "json_answer", "no_index", "problems_of_routing"]

_logger = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Answering:
    """Answers requests.

    Args:
        api: limits.
        access: which clients may ask.
        metrics: where each answer is counted.
    """

    def __init__(self, api: Api, access: Access, metrics: ApiMetrics) -> None:
        self._api, self._access, self._metrics = api, access, metrics
        self._admission = Admission(api.max_concurrent_requests, api.max_queued_requests, metrics)
        self._bodies = Bodies(api.max_body_bytes, api.max_concurrent_requests)

    def handler(self, endpoint: Endpoint) -> Handler:
        """Return what answers the requests of an endpoint."""

        async def answer(request: web.Request) -> web.StreamResponse:
            begin = perf_counter()
            try:
                response = await self._answer(endpoint, request)
            except ConnectionError:  # the client has left, and gets no answer
                raise
            except Exception:  # our own bug: the server logs it, and answers with 500
                status = HTTPStatus.INTERNAL_SERVER_ERROR
                self._metrics.answered(endpoint.name, status, perf_counter() - begin)
                raise
            self._metrics.answered(endpoint.name, response.status, perf_counter() - begin)
            return response

        return answer

    def checked(self, handler: Handler) -> Handler:
        """Return the handler for those who may ask."""

        async def answer(request: web.Request) -> web.StreamResponse:
            try:
                self._check(request)
            except Refused as refused:
                return problem_answer(refused.problem, refused.headers)
            return await handler(request)

        return answer

    def _check(self, request: web.Request) -> None:
        self._access.check(request.headers.get("Authorization", ""), request.headers.get("Host", ""))

    async def _answer(self, endpoint: Endpoint, request: web.Request) -> web.Response:
        begun: list[str] = []
        try:
            self._check(request)
            async with asyncio.timeout(self._api.request_timeout_seconds) as clock:
                return await self._admitted(endpoint, request, clock, begun.append)
        except Refused as refused:
            return problem_answer(refused.problem, refused.headers)
        except TimeoutError:
            seconds = self._api.request_timeout_seconds
            late = f"the request took longer than {seconds:g} seconds (api.request_timeout_seconds)"
            return _unavailable(late, begun)
        except (Unavailable, ConfigError) as error:  # Redis or Kafka is unavailable, or refuses us
            return _unavailable(redact(str(error)), begun)
        except CorruptData as error:
            log_event(_logger, "corrupt_data_found", level=logging.ERROR, error=str(error))
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, redact(str(error)))

    async def _admitted(
        self, endpoint: Endpoint, request: web.Request, clock: asyncio.Timeout, begun: Callable[[str], None]
    ) -> web.Response:
        query = {name: request.query.getall(name) for name in request.query}
        params = read_parameters(endpoint.params, request.match_info, query)
        async with self._bodies.received(request) if endpoint.body else nullcontext(b"") as body:
            place = await self._admission.enter()

        def release() -> None:
            place.release()
            clock.reschedule(None)

        try:
            reply = await endpoint.handle(Call(params, body, request.headers, release, begun))
        finally:
            place.release()
        return json_answer(msgspec.json.encode(reply.value), reply.status, reply.headers)


@web.middleware
async def problems_of_routing(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer with a problem document where no endpoint has this path or this method."""
    try:
        return await handler(request)
    except web.HTTPMethodNotAllowed as error:
        allowed = ", ".join(sorted(error.allowed_methods))
        detail = f"{request.path} takes {allowed}"
        return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, detail, {"Allow": allowed})
    except web.HTTPNotFound:
        detail = f"there is no {request.path}; GET /openapi.json lists what there is"
        return _refusal(HTTPStatus.NOT_FOUND, detail)


async def no_index(_request: web.Request) -> web.StreamResponse:
    """Answer while there is no index."""
    detail = "nothing is stored yet, or Redis is unavailable; try again later"
    return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, detail, RETRY_SOON)


def json_answer(
    body: bytes, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] = NO_HEADERS
) -> web.Response:
    """Return an answer with a JSON body."""
    return web.Response(body=body, status=status, headers={"Content-Type": JSON, **SAFE_HEADERS, **headers})


def _unavailable(detail: str, begun: Sequence[str]) -> web.Response:
    return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "; ".join([detail, *begun]), RETRY_SOON)


def _refusal(status: HTTPStatus, detail: str, headers: Mapping[str, str] = NO_HEADERS) -> web.Response:
    return problem_answer(Problem(title=status.phrase, status=status.value, detail=detail), headers)
