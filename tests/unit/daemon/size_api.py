"""A query API with one operation, which answers how long a body is."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

import msgspec
from neardup_daemon.query_api.endpoints import Call, Endpoint, Reply
from neardup_daemon.query_api.index_reading import NoParams
from neardup_daemon.settings.query_api import Api

from tests.unit.daemon.api_clients import serving_endpoint

__all__ = ["size_api"]


class Size(msgspec.Struct, frozen=True):
    """Of a body."""

    size: int


@asynccontextmanager
async def size_api(api: Api) -> AsyncIterator[int]:
    """Serve `POST /read` for a minute at most; yield the port."""

    async def read(call: Call) -> Reply:
        return Reply(Size(len(call.body)))

    answers: Mapping[HTTPStatus, type[msgspec.Struct]] = {HTTPStatus.OK: Size}
    endpoint = Endpoint("POST", "/read", "page", "Reads.", NoParams, Size, answers, (), read)
    async with serving_endpoint(api, endpoint) as (port, _):
        yield port
