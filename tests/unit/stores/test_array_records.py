"""Page records in arrays keep the contract, and first versions in columns are records like others."""

from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.arrays.records import ArrayRecords, FirstVersions
from neardup_stream.stores.page_record import PageRecord, record_header
from neardup_stream.stores.protocol import RankWrite, RecordAnswer, RecordChange, RecordDrop, all_records
from tests.contracts.records import RECORD_CLAIMS

PARTITION = Partition("file:0", 0)
PAGES = 5_000
"""More than the first arrays hold."""

SHORT = 3
"""Every so many pages are too short to be judged."""


@pytest.mark.parametrize("claim", RECORD_CLAIMS, ids=lambda claim: claim.__name__)
async def test_array_records_keep_the_contract(claim: Callable[[ArrayRecords], Awaitable[None]]) -> None:
    await claim(ArrayRecords())


def handle(page: int) -> Handle:
    return Handle(page * 0x9E3779B97F4A7C15 % 2**64)


def first_versions(start: int, end: int) -> FirstVersions:
    rows = np.arange(start, end)
    return FirstVersions(
        handles=np.array([handle(row) for row in rows.tolist()], np.uint64),
        urls=[f"https://example.com/{row}" for row in rows.tolist()],
        other_ids=["" if row % 2 else str(row) for row in rows.tolist()],
        scopes=["" if row % 5 else "scope" for row in rows.tolist()],
        is_short=rows % SHORT == 0,
        fingerprints=rows.astype(np.uint64) + np.uint64(7),
        text_fingerprints=rows.astype(np.uint64) << np.uint64(40),
        shingle_counts=rows,
        sketches=np.repeat(rows.astype(np.uint8), 4).reshape(-1, 4),
        bands=np.repeat(rows.astype(np.uint32), 2).reshape(-1, 2),
        partition=PARTITION,
        offsets=rows * 10,
        seen_seconds=1_700_000_000,
        ranks=rows + 1,
    )


def expected(page: int) -> bytes:
    is_short = page % SHORT == 0
    fields = (
        {}
        if is_short
        else {
            "fingerprint": page + 7,
            "sketch": bytes([page % 256] * 4),
            "shingle_count": page,
            "bands": page.to_bytes(4, "big") * 2,
        }
    )
    record = PageRecord.first(
        page_id=PageId(f"https://example.com/{page}" if page % 2 else str(page)),
        url=f"https://example.com/{page}",
        text_fingerprint=page << 40,
        position=Position(PARTITION, page * 10),
        seen_seconds=1_700_000_000,
        scope="" if page % 5 else "scope",
        state="short" if is_short else "live",
        **fields,  # type: ignore[arg-type] # of two types
    )
    header = record_header(page + 1, 1)
    return header + record.pack()[len(header) :]


def filled() -> ArrayRecords:
    store = ArrayRecords(4, 4, 2)
    assert store.add(first_versions(0, 1000)) == 0
    assert store.add(first_versions(1000, PAGES)) == 1000
    return store


async def test_first_versions_are_the_records_that_registering_and_writing_ranks_makes() -> None:
    store = filled()

    assert await store.fetch([handle(page) for page in range(PAGES)]) == [
        expected(page) for page in range(PAGES)
    ]
    assert store.rows([handle(4999), handle(PAGES)]).tolist() == [4999, -1]


async def test_a_walk_finds_first_versions_and_what_was_written_one_by_one() -> None:
    store = filled()
    await store.replace(
        [RecordChange(handle(PAGES), None, b"new"), RecordChange(handle(7), expected(7), b"other")]
    )

    walked = [record async for part in all_records(store) for record in part.records]

    values = {handle(page): expected(page) for page in range(PAGES)} | {
        handle(7): b"other",
        handle(PAGES): b"new",
    }
    assert dict(walked) == values
    assert len(walked) == PAGES + 1


async def test_a_first_version_is_replaced_ranked_and_dropped_like_any_record() -> None:
    store = filled()

    assert await store.replace([RecordChange(handle(7), None, b"new")]) == [RecordAnswer(expected(7))]
    assert await store.replace([RecordChange(handle(7), expected(7), b"new")]) == [RecordAnswer(b"new")]
    await store.write_ranks([RankWrite(handle(8), 1, rank=99)])
    assert await store.fetch([handle(8)]) == [record_header(99, 1) + expected(8)[7:]]
    assert await store.drop([RecordDrop(handle(10), expected(10), floor=4)]) == [True]

    assert await store.fetch([handle(7), handle(10)]) == [b"new", None]
    assert store.known_floor(handle(10)) == 4
    assert not store.takes_first_versions


async def test_known_pages_are_those_with_a_record_of_either_kind() -> None:
    store = filled()
    await store.replace(
        [RecordChange(handle(PAGES), None, b"new"), RecordChange(handle(7), expected(7), b"other")]
    )

    for page in (0, 7, PAGES - 1, PAGES):
        assert store.knows_any([handle(PAGES + 1), handle(page)])
    assert not store.knows_any([handle(PAGES + 1), handle(PAGES + 2)])
