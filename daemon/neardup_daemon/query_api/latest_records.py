"""Read the latest records of a topic for requests: a bounded number, once for all that ask at that time."""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from neardup_daemon.kafka_wiring import topic_snapshot
from neardup_daemon.query_api.shared_reading import SharedReading
from neardup_daemon.settings.settings import Settings
from neardup_stream.message import Record

__all__ = ["LatestRead", "LatestRecords"]

_REUSED_SECONDS: Final = 2.0
"""How long what was read answers further requests."""

Kept = TypeVar("Kept")


class LatestRead(NamedTuple, Generic[Kept]):
    """What was read.

    Attributes:
        kept: of the records, by their time, newest first.
        records: how many were read.
        is_complete: whether they are all that the topic retains.
    """

    kept: list[Kept]
    records: int
    is_complete: bool


class LatestRecords(Generic[Kept]):
    """Keeps what the latest records of a topic come to.

    Args:
        settings: the brokers, and how many records are read.
        topic: that is read.
        keep: returns what is kept of a record; None for nothing.
    """

    def __init__(self, settings: Settings, topic: str, keep: Callable[[Record], Kept | None]) -> None:
        self._settings, self.topic, self._keep = settings, topic, keep
        self._reading = SharedReading(self._read_topic, _REUSED_SECONDS)

    async def read(self) -> LatestRead[Kept]:
        """Return what the latest records come to; requests at the same time share one reading.

        Raises:
            StreamUnavailable: Kafka is unavailable.
            ConfigError: the topic does not exist, or may not be read.
        """
        return await self._reading.value()

    async def close(self) -> None:
        """Cancel the reading, if any."""
        await self._reading.close()

    async def _read_topic(self) -> LatestRead[Kept]:
        settings = self._settings
        found: list[tuple[tuple[int, int, int], Kept]] = []
        count = 0
        async with topic_snapshot(settings, self.topic, latest=settings.api.latest_records) as snapshot:
            async for records in snapshot.records():
                count += len(records)
                for record in records:
                    kept = self._keep(record)
                    if kept is not None:
                        position = record.position
                        place = record.timestamp_ms, position.partition.number, position.offset
                        found.append((place, kept))
            is_complete = snapshot.is_whole
        found.sort(key=lambda each: each[0], reverse=True)
        return LatestRead([kept for _, kept in found], count, is_complete)
