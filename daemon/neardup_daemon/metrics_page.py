"""Serves `/metrics` in the format that the scraper takes; many requests at once share one rendering."""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["MANY_CONNECTIONS", "MetricsPage"]

MANY_CONNECTIONS: Final = 16
"""With more connections that wait for an answer, requests share a rendering."""

_SHARED_SECONDS: Final = 1.0


class MetricsPage:
    """Answers requests for the metrics.

    A rendering takes milliseconds of the event loop. While there are more connections than any usual set-up
    has, one made in the last second is the answer, whole and in Prometheus' text format, whatever format was
    asked for.

    Args:
        registry: rendered on the loop of the request.
        connection_count: returns how many connections may wait for an answer now.
        now_seconds: a monotonic clock.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        connection_count: Callable[[], int],
        now_seconds: Callable[[], float] = monotonic,
    ) -> None:
        self._registry = registry
        self._connection_count = connection_count
        self._now_seconds = now_seconds
        self._shared = b""
        self._shared_until_seconds = float("-inf")

    async def answer(self, request: "web.Request") -> "web.Response":
        """Render, or return what was rendered a moment ago."""
        from aiohttp import hdrs, web  # noqa: PLC0415 - 0.2 s that commands without a port do not pay

        if self._connection_count() > MANY_CONNECTIONS:
            return web.Response(body=self._shared_text(), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
        names = request.query.getall("name[]", [])
        registry = self._registry.restricted_registry(names) if names else self._registry
        try:
            render, content_type = choose_encoder(",".join(request.headers.getall(hdrs.ACCEPT, [])))
        except (TypeError, ValueError):  # a version that is no number
            render, content_type = generate_latest, CONTENT_TYPE_PLAIN_0_0_4
        response = web.Response(body=render(registry), headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    def _shared_text(self) -> bytes:
        now = self._now_seconds()
        if now >= self._shared_until_seconds:
            self._shared = generate_latest(self._registry)
            self._shared_until_seconds = now + _SHARED_SECONDS
        return self._shared
