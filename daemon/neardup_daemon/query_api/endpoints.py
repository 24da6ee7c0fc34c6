"""Define endpoints: enough to route requests to them, to check them, and to describe them in OpenAPI."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

__all__ = ["NO_HEADERS", "Call", "Endpoint", "EndpointName", "Reply"]

EndpointName = Literal[
    "page",
    "cluster",
    "links",
    "clusters",
    "merges",
    "query",
    "explain",
    "compare",
    "hosts",
    "dead_letters",
    "decide",
    "decision",
]

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Call(NamedTuple):
    """A request that passed all checks.

    Attributes:
        params: of path and query, as the endpoint's `params` has them.
        body: as it came; empty where the endpoint takes none.
        headers: of the request.
        release: gives the request's place among the concurrent ones to the next; for requests that wait.
        begun: takes what the request has begun: an answer adds it that the request takes too long, or that
            Redis or Kafka is unavailable, from now on.
    """

    params: Any
    body: bytes
    headers: Mapping[str, str]
    release: Callable[[], None]
    begun: Callable[[str], None]


class Reply(NamedTuple):
    """What a request is answered with.

    Attributes:
        value: encoded as JSON.
        status: one of the endpoint's `answers`.
        headers: besides those of every answer.
    """

    value: msgspec.Struct
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = NO_HEADERS


class Endpoint(NamedTuple):
    """One operation of the API.

    Attributes:
        method: of HTTP.
        path: with the names of its parameters in braces.
        name: the operation's, also the label of its metrics.
        summary: one sentence.
        params: struct of the parameters of path and query.
        body: struct of the body; None where there is none.
        answers: struct of the body by status, problems left out.
        problems: statuses of problems that only this operation has.
        handle: answers a call.
    """

    method: Literal["GET", "POST"]
    path: str
    name: EndpointName
    summary: str
    params: type[msgspec.Struct]
    body: type[msgspec.Struct] | None
    answers: Mapping[HTTPStatus, type[msgspec.Struct]]
    problems: tuple[HTTPStatus, ...]
    handle: Callable[[Call], Awaitable[Reply]]
