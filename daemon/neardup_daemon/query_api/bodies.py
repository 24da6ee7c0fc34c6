"""Reads bodies of requests before these take their turn, so that a slow client keeps no other one waiting."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from io import BytesIO
from typing import Final

from aiohttp import web

from neardup_daemon.query_api.problems import RETRY_SOON, Refused

__all__ = ["JSON", "Bodies"]

JSON: Final = "application/json"


class Bodies:
    """Reads bodies, which together hold no more bytes than those of the requests that are worked on may.

    Args:
        max_bytes: of one.
        max_concurrent_requests: that are worked on.
    """

    def __init__(self, max_bytes: int, max_concurrent_requests: int) -> None:
        self._max_bytes = max_bytes
        self._max_held_bytes = max_bytes * max_concurrent_requests
        self._held_bytes = 0

    @asynccontextmanager
    async def received(self, request: web.Request) -> AsyncIterator[bytes]:
        """Read a body; it is held while the block runs.

        Raises:
            Refused: it is too large, of another type, not what its headers say, or there is no room for it.
        """
        if request.content_type != JSON:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the header Content-Type must be {JSON}")
        self._require_size(request.content_length or 0)  # before it comes, if it does
        body = BytesIO()
        try:
            async for chunk in request.content.iter_any():
                self._held_bytes += body.write(chunk)
                self._require_size(body.tell())
                self._require_room()
            yield body.getvalue()
        except web.RequestPayloadError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, "the body is not what its headers say") from error
        finally:
            self._held_bytes -= body.tell()

    def _require_size(self, size_bytes: int) -> None:
        if size_bytes > self._max_bytes:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body has more than {self._max_bytes} bytes (api.max_body_bytes)",
            )

    def _require_room(self) -> None:
        if self._held_bytes > self._max_held_bytes:
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"bodies of {self._max_held_bytes} bytes are received already (api.max_concurrent_requests,"
                " each of api.max_body_bytes); try again later",
                headers=RETRY_SOON,
            )
