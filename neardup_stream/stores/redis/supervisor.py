"""Keeps a working client of Redis: one that fails again and again is closed and replaced.

The libraries' clients recover from most failures, but not from all: a slot map may still name dead nodes, a
pool may keep connections to a server that is no master any more.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from neardup_stream.errors import StoreReason, StoreUnavailable
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.errors import redis_errors
from neardup_stream.stores.redis.topologies import connect, disconnect

__all__ = ["FAILURES_OF_A_CLIENT", "Supervisor"]

FAILURES_OF_A_CLIENT: Final = 3
"""So many calls in a row may fail before the client itself is suspected."""

_ANSWERED: Final[frozenset[StoreReason]] = frozenset({"loading", "out_of_memory", "busy", "index_lost"})
"""Reasons that the right server gave: another client would get the same answer."""

_ANSWERED_ALONE: Final[frozenset[StoreReason]] = frozenset({"disk", "too_few_replicas", "not_replicated"})
"""The same of a server without successors; a master that gives them may have been replaced."""

_logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Tenure:
    """A client, who uses it now, and how often in a row it failed."""

    client: Any
    user_count: int = 0
    failure_count: int = 0


class Supervisor:
    """Hands out the client, and replaces it.

    Args:
        config: where Redis is.
    """

    def __init__(self, config: RedisConfig) -> None:
        self._config = config
        self._tenure = _Tenure(connect(config))
        self._logged: set[StoreReason] = set()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Any]:
        """Yield the client, for one call; its errors are raised as ours.

        Raises:
            StoreUnavailable: see `errors`, here and below.
            ConfigError: the server refuses us.
            CorruptData: a key holds another type than ours.
        """
        tenure = self._tenure
        tenure.user_count += 1
        try:
            with redis_errors(is_cluster=self._config.is_cluster):
                yield tenure.client
            tenure.failure_count = 0
            if tenure is self._tenure:
                self._logged.clear()
        except StoreUnavailable as error:
            self._judge(tenure, error)
            raise
        finally:
            tenure.user_count -= 1
            if tenure is not self._tenure and not tenure.user_count:
                await disconnect(tenure.client)

    async def aclose(self) -> None:
        """Close every connection; no task uses the client any more."""
        await disconnect(self._tenure.client)

    def _judge(self, tenure: _Tenure, error: StoreUnavailable) -> None:
        has_successors = self._config.is_cluster or self._config.is_watched
        answered = _ANSWERED if has_successors else _ANSWERED | _ANSWERED_ALONE
        tenure.failure_count += error.reason not in answered
        if tenure is self._tenure and tenure.failure_count >= FAILURES_OF_A_CLIENT:
            self._tenure = _Tenure(connect(self._config, _known_nodes(tenure.client)))
            if error.reason not in self._logged:  # else every three seconds of an outage
                _logger.info("redis_client_replaced", extra={"fields": {"reason": error.reason}})
                self._logged.add(error.reason)


def _known_nodes(client: Any) -> list[tuple[str, int]]:
    """Return the nodes of a cluster beyond those that the URL names: all of these may be gone."""
    return [(node.host, node.port) for node in client.get_nodes()] if hasattr(client, "get_nodes") else []
