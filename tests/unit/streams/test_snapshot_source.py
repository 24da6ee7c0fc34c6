from collections.abc import AsyncIterator, Sequence

import pytest

from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.kafka.snapshot_source import SnapshotSource

PAGES = Partition("pages", 0)
NOW = 1_790_000_000.0


class Topic:
    """One record for each timestamp."""

    def __init__(self, timestamps_seconds: Sequence[float]) -> None:
        self._timestamps_seconds = timestamps_seconds

    async def records(self) -> AsyncIterator[Sequence[Record]]:
        for offset, seconds in enumerate(self._timestamps_seconds):
            position = Position(PAGES, offset)
            yield [Record(position=position, key=None, value=b"{}", timestamp_ms=int(1000 * seconds))]


@pytest.mark.parametrize(
    ("timestamps_seconds", "times_seconds"),
    [
        ([NOW - 9, NOW - 5, NOW - 7], [NOW - 9, NOW - 5, NOW - 5]),
        ([NOW - 9, 1000 * NOW, NOW - 7], [NOW - 9, NOW, NOW]),
    ],
    ids=["out of order", "in the future"],
)
async def test_the_time_of_a_recovery_follows_its_records_but_never_passes_the_clock(
    timestamps_seconds: list[float], times_seconds: list[float]
) -> None:
    source = SnapshotSource(Topic(timestamps_seconds), {PAGES: 3}, now_seconds=lambda: NOW)
    seen = []

    for _ in timestamps_seconds:
        await source.read(1, 1 << 20)
        seen.append(source.timestamp_seconds)

    assert seen == times_seconds
