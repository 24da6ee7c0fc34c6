"""What every source promises, as checks that any implementation must pass.

A check takes a factory. To enter a new source, write its factory and parametrize a test over `SOURCE_CHECKS`:
see `tests/unit/streams/test_stream_contract.py`. Sinks have `tests/contracts/sinks.py`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Partition, Record
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.protocol import EndOfStream, Source

__all__ = [
    "FINITE_SOURCE_CHECKS",
    "GAP_CHECKS",
    "GAP_END",
    "RESUMABLE_SOURCE_CHECKS",
    "SOURCE_CHECKS",
    "MakeGap",
    "MakeSource",
    "read_records",
]

MANY = 10_000
PLENTY_BYTES = 1 << 30
GAP_END = 8
"""The first offset behind the deleted records of a gap."""
SILENT_READS = 100
"""An endless source that returned nothing so often in a row has nothing."""

VALUES = [b"page %d %s" % (number, b"x" * (number % 50)) for number in range(300)]


class MakeSource(Protocol):
    """Puts the values in place; returns a function that makes a source which reads them."""

    async def __call__(self, values: Sequence[bytes]) -> Callable[[], Source]: ...


class MakeGap(Protocol):
    """Returns a source over one partition of ten records, and what deletes those below `GAP_END`.

    A read before that returns no record of the gap's last ones, whatever it fetches ahead.
    """

    async def __call__(self) -> tuple[Source, Callable[[], Awaitable[None]]]: ...


async def read_records(
    source: Source, count: int = MANY, max_records: int = 64, silence: int = SILENT_READS
) -> list[Record]:
    """At most `count` records, fewer at the end of the stream or in a lasting silence."""
    records: list[Record] = []
    silent_reads = 0
    while len(records) < count and silent_reads < silence:
        try:
            more = await source.read(min(max_records, count - len(records)), PLENTY_BYTES)
        except EndOfStream:
            break
        silent_reads = 0 if more else silent_reads + 1
        records.extend(more)
    return records


async def check_every_record_is_read_once_and_in_order(make: MakeSource) -> None:
    async with (await make(VALUES))() as source:
        records = await read_records(source, len(VALUES))

    assert sorted(record.value or b"" for record in records) == sorted(VALUES)
    for run in _by_partition(records).values():
        assert [record.position.offset for record in run] == sorted(
            {record.position.offset for record in run}
        )


async def check_a_read_returns_at_most_max_records(make: MakeSource) -> None:
    async with (await make(VALUES))() as source:
        for max_records in (1, 2, 7, 100):
            assert len(await source.read(max_records, PLENTY_BYTES)) <= max_records


async def check_a_read_returns_at_most_max_bytes(make: MakeSource) -> None:
    values = [b"x" * 100] * 50

    async with (await make(values))() as source:
        records: list[Record] = []
        while len(records) < len(values):
            more = await source.read(MANY, 350)
            assert len(more) == 1 or sum(record.size_bytes for record in more) <= 350
            records.extend(more)

    assert len(records) == len(values)


async def check_a_record_larger_than_max_bytes_is_read_alone(make: MakeSource) -> None:
    values = [b"small", b"x" * 5000, b"also small"]

    async with (await make(values))() as source:
        reads: list[Sequence[Record]] = []
        while sum(map(len, reads)) < len(values):
            reads.append(await source.read(MANY, 1000))

    assert [len(read) for read in reads if values[1] in [record.value for record in read]] == [1]


async def check_a_cancelled_read_loses_nothing(make: MakeSource) -> None:
    async with (await make(VALUES))() as source:
        records: list[Record] = []
        for ticks in range(30):
            reading = asyncio.ensure_future(source.read(3, PLENTY_BYTES))
            for _ in range(ticks):
                await asyncio.sleep(0)  # let it come so far, and no further
            reading.cancel()
            records.extend(await _unless_cancelled(reading))
        records.extend(await read_records(source, len(VALUES) - len(records)))

    assert sorted(record.value or b"" for record in records) == sorted(VALUES)


async def check_a_commit_of_everything_read_is_accepted(make: MakeSource) -> None:
    async with (await make(VALUES))() as source:
        await source.commit(next_offsets(await read_records(source, len(VALUES))))
        await source.commit({})


async def check_a_note_of_what_was_read_is_accepted(make: MakeSource) -> None:
    async with (await make(VALUES))() as source:
        offsets = next_offsets(await read_records(source, len(VALUES)))

        assert set(await source.note_decided(offsets)) == set(offsets)
        assert set(await source.note_decided({})) == set()


async def check_a_note_commits_nothing(make: MakeSource) -> None:
    open_source = await make(VALUES)

    async with open_source() as source:
        finished = await read_records(source, 100)
        await source.commit(next_offsets(finished))
        await source.note_decided(next_offsets([*finished, *await read_records(source, 50)]))
    async with open_source() as source:
        rest = await read_records(source, len(VALUES) - len(finished))

    assert sorted(record.value or b"" for record in [*finished, *rest]) == sorted(VALUES)


async def check_the_same_input_opened_again_has_the_same_positions(make: MakeSource) -> None:
    open_source = await make(VALUES)

    async with open_source() as source:
        first = await read_records(source, len(VALUES))
    async with open_source() as source:
        second = await read_records(source, len(VALUES))

    assert {record.position: record.value for record in first} == {
        record.position: record.value for record in second
    }


async def check_the_end_is_raised_again_and_again(make: MakeSource) -> None:
    async with (await make([b"only"]))() as source:
        await read_records(source)

        for _ in range(3):
            with pytest.raises(EndOfStream):
                await source.read(1, 1)


async def check_an_empty_input_gives_nothing(make: MakeSource) -> None:
    async with (await make([]))() as source:
        assert await read_records(source, silence=5) == []


async def check_reading_resumes_behind_the_commit(make: MakeSource) -> None:
    open_source = await make(VALUES)

    async with open_source() as source:
        finished = await read_records(source, 100)
        await source.commit(next_offsets(finished))
        await read_records(source, 50)
    async with open_source() as source:
        rest = await read_records(source, len(VALUES) - len(finished))

    assert sorted(record.value or b"" for record in [*finished, *rest]) == sorted(VALUES)


async def check_a_commit_never_moves_backwards(make: MakeSource) -> None:
    open_source = await make(VALUES)

    async with open_source() as source:
        begun = await read_records(source, 50)
        more = await read_records(source, 50)
        await source.commit(next_offsets([*begun, *more]))
        await source.commit(next_offsets(begun))
    async with open_source() as source:
        rest = await read_records(source, len(VALUES) - 100)

    assert sorted(record.value or b"" for record in [*begun, *more, *rest]) == sorted(VALUES)


async def check_nothing_is_read_before_the_pipeline_has_begun(make: MakeSource) -> None:
    begun: list[list[Partition]] = []

    async def begin(partitions: Sequence[Partition]) -> None:
        begun.append(list(partitions))
        if len(begun) == 1:
            raise StreamUnavailable("the sink is unavailable")

    async with (await make(VALUES))() as source:
        source.on_begin(begin)
        with pytest.raises(StreamUnavailable, match="sink"):
            await read_records(source, 1)
        records = await read_records(source, len(VALUES))

    assert len(records) == len(VALUES)
    assert {record.position.partition for record in records} <= set(begun[1])


async def check_what_was_read_is_finished_before_a_gap_is_passed(make: MakeGap) -> None:
    """Once the offset behind the gap is committed, no consumer reads it again."""
    source, delete = await make()
    records: list[Record] = []
    finished: list[dict[Partition, int]] = []

    async def finish() -> None:
        offsets = next_offsets(records)
        assert set(await source.note_decided(offsets)) == set(offsets)
        assert await source.commit(offsets) == offsets
        finished.append(dict(offsets))

    async with source:
        source.on_gap(finish)
        records.extend(await read_records(source, 1))
        await delete()
        await _read_to_the_gap(source, records)

    before = [record for record in records if record.position.offset < GAP_END]
    assert finished[0] == next_offsets(before)


async def check_a_gap_is_not_passed_while_what_was_read_cannot_be_finished(make: MakeGap) -> None:
    source, delete = await make()
    records: list[Record] = []

    async def finish() -> None:
        raise StreamUnavailable("the sink is unavailable")

    async with source:
        source.on_gap(finish)
        records.extend(await read_records(source, 1))
        await delete()
        with pytest.raises(StreamUnavailable, match="sink"):
            await _read_to_the_gap(source, records)
        offsets = next_offsets(records)

        assert records[-1].position.offset < GAP_END
        assert set(await source.note_decided(offsets)) == set(offsets)
        assert await source.commit(offsets) == offsets


async def check_nothing_is_left_to_read_at_the_end(make: MakeSource) -> None:
    async with (await make(VALUES))() as source:
        await read_records(source, len(VALUES))

        assert sum(source.lag().values()) == 0


async def _read_to_the_gap(source: Source, records: list[Record]) -> None:
    """Append what is read, up to the first record behind the gap."""
    while records[-1].position.offset < GAP_END:
        records.extend(await source.read(1, PLENTY_BYTES))


def _by_partition(records: Sequence[Record]) -> dict[Partition, list[Record]]:
    runs: defaultdict[Partition, list[Record]] = defaultdict(list)
    for record in records:
        runs[record.position.partition].append(record)
    return runs


async def _unless_cancelled(reading: asyncio.Future[Sequence[Record]]) -> Sequence[Record]:
    try:
        return await reading
    except asyncio.CancelledError:
        return ()


SOURCE_CHECKS = [
    check_every_record_is_read_once_and_in_order,
    check_a_read_returns_at_most_max_records,
    check_a_read_returns_at_most_max_bytes,
    check_a_record_larger_than_max_bytes_is_read_alone,
    check_a_cancelled_read_loses_nothing,
    check_a_commit_of_everything_read_is_accepted,
    check_a_note_of_what_was_read_is_accepted,
    check_the_same_input_opened_again_has_the_same_positions,
    check_an_empty_input_gives_nothing,
    check_nothing_is_left_to_read_at_the_end,
]
"""For every source."""

FINITE_SOURCE_CHECKS = [check_the_end_is_raised_again_and_again]
"""For sources that end: memory and files."""

RESUMABLE_SOURCE_CHECKS = [
    check_reading_resumes_behind_the_commit,
    check_a_commit_never_moves_backwards,
    check_a_note_commits_nothing,
    check_nothing_is_read_before_the_pipeline_has_begun,
]
"""For sources that keep what is committed: memory and Kafka. Files start at the beginning."""

GAP_CHECKS = [
    check_what_was_read_is_finished_before_a_gap_is_passed,
    check_a_gap_is_not_passed_while_what_was_read_cannot_be_finished,
]
"""For sources whose records may be deleted before they are read: memory and Kafka."""
