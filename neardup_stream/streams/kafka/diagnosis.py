"""Find out why a topic does not answer: clients keep retrying and report only a timeout."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from neardup_stream.streams.kafka.admin import require_topics
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.errors import unavailable

__all__ = ["explain"]

LOOK_SECONDS = 2.0
"""How long to wait for the brokers; the caller has already waited for a timeout."""


async def explain(connection: KafkaConnection, topics: Sequence[str], right: str) -> bool:
    """Raise the reason why the topics do not answer.

    Args:
        connection: the cluster.
        topics: to check.
        right: what was wanted: Read or Write.

    Returns:
        True if nothing is wrong, False if no broker answers in time.

    Raises:
        ConfigError: a topic does not exist, or access is denied.
        StreamUnavailable: no broker accepts us, or partitions lack a leader or replicas.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            facts = await require_topics(connection, topics, right)
            for name, fact in facts.items():
                if fact.leaderless_count:
                    raise unavailable(
                        "no_leader", f"{fact.leaderless_count} partitions of {name} have no leader"
                    )
                if fact.lacks_replicas and right == "Write":
                    raise unavailable(
                        "too_few_replicas", f"{name} has too few replicas in sync to be written"
                    )
            return True
    return False
