"""Why a topic does not answer: clients go on trying and say only that time ran out."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from neardup_stream.streams.kafka.admin import require_topics
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.errors import away

__all__ = ["explain"]

LOOK_SECONDS = 2.0
"""How long the brokers are asked: whoever waits for the answer has waited long enough already."""


async def explain(connection: KafkaConnection, topics: Sequence[str], right: str) -> bool:
    """Raise what is wrong with the topics.

    Args:
        connection: the cluster.
        topics: to look at.
        right: what was wanted: Read or Write.

    Returns:
        True if nothing is wrong, False if nobody tells in time.

    Raises:
        ConfigError: a topic is gone, or is not for us any more.
        StreamUnavailable: no broker lets us in, or partitions lack a leader or replicas.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            facts = await require_topics(connection, topics, right)
            for name, fact in facts.items():
                if fact.leaderless_count:
                    raise away("no_leader", f"{fact.leaderless_count} partitions of {name} have no leader")
                if fact.lacks_replicas and right == "Write":
                    raise away("too_few_replicas", f"{name} has too few replicas in sync to be written")
            return True
    return False
