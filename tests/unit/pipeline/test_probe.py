"""Pages stand in the index by content and by whole text: what finds what, and what leaves again."""

from random import Random

import msgspec
import pytest

from neardup_stream.bits.words import hamming_distance
from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.page import Handle
from neardup_stream.pipeline.indexed import indexed_pages
from neardup_stream.pipeline.probe import ProbingPage, insert, probe, probe_and_insert
from neardup_stream.stores.page_record import PageRecord
from tests.doubles.tables import MemoryTables
from tests.framed_pages import SKETCH, framed_record, prose

RANDOM = Random(1)
SHORT_FRAME, LONG_FRAME = [prose(RANDOM, 80)], [prose(RANDOM, 10) for _ in range(40)]
ARTICLE = prose(RANDOM, 25)


class Shelf:
    """An index in memory."""

    def __init__(self) -> None:
        self.tables = MemoryTables()
        self.index = PermutedIndex(self.tables, IndexLayout(IndexConfig(bands=SKETCH.bands)))

    async def found(self, page: ProbingPage) -> list[Handle]:
        return [candidate.handle for candidate in (await probe([page], self.index)).candidates[0]]


def unlike(record: PageRecord, number: int) -> PageRecord:
    """Return the page with a simhash that is far from that of others, so that only bands find it."""
    fingerprint = Random(number).getrandbits(64)
    return msgspec.structs.replace(record, fingerprint=fingerprint)


KNOWN_SHORT, UNKNOWN_SHORT = framed_record([ARTICLE], SHORT_FRAME), framed_record([*SHORT_FRAME, ARTICLE])
KNOWN_LONG, UNKNOWN_LONG = framed_record([ARTICLE], LONG_FRAME), framed_record([*LONG_FRAME, ARTICLE])


def probing(number: int, record: PageRecord, whole: PageRecord) -> ProbingPage:
    return ProbingPage(Handle(number), unlike(record, number), whole.bands)


def test_the_pages_of_these_tests_are_what_they_are_called() -> None:
    assert 0 < KNOWN_SHORT.whole_count <= SHORT_SHINGLES < KNOWN_LONG.whole_count
    assert hamming_distance(unlike(KNOWN_SHORT, 1).fingerprint64, unlike(KNOWN_SHORT, 2).fingerprint64) > 10


def test_a_short_framed_page_stands_in_the_index_by_content_and_by_whole_text() -> None:
    by_content, by_whole = indexed_pages(Handle(1), KNOWN_SHORT)

    assert (by_content.fingerprint, by_content.version) == (by_whole.fingerprint, by_whole.version)
    assert [bands.to_bytes(4, "big") for bands in by_content.bands] == [
        KNOWN_SHORT.bands[at : at + 4] for at in range(0, 48, 4)
    ]
    assert by_whole.bands == indexed_pages(Handle(1), UNKNOWN_SHORT)[0].bands


def test_other_pages_stand_there_once() -> None:
    for record in (UNKNOWN_SHORT, KNOWN_LONG, UNKNOWN_LONG):
        (page,) = indexed_pages(Handle(1), record)
        assert len(page.bands) == SKETCH.bands


@pytest.mark.parametrize(
    ("known", "unknown"), [(KNOWN_SHORT, UNKNOWN_SHORT), (KNOWN_LONG, UNKNOWN_LONG)], ids=["short", "long"]
)
async def test_a_page_finds_its_copy_from_before_its_frame_was_known(
    known: PageRecord, unknown: PageRecord
) -> None:
    shelf = Shelf()
    await probe_and_insert([probing(1, unknown, unknown)], shelf.index)

    assert await shelf.found(probing(2, known, unknown)) == [1]
    answer = await probe_and_insert([probing(2, known, unknown)], shelf.index)
    assert [candidate.handle for candidate in answer.candidates[0]] == [1]


async def test_a_page_without_known_frame_finds_short_framed_ones_only() -> None:
    shelf = Shelf()
    await insert([(Handle(1), unlike(KNOWN_SHORT, 1)), (Handle(2), unlike(KNOWN_LONG, 2))], shelf.index)

    assert await shelf.found(probing(3, UNKNOWN_SHORT, UNKNOWN_SHORT)) == [1]
    assert await shelf.found(probing(4, UNKNOWN_LONG, UNKNOWN_LONG)) == []


async def test_a_long_framed_page_looks_for_its_whole_text_and_is_not_found_by_it() -> None:
    shelf = Shelf()

    await probe_and_insert([probing(1, KNOWN_LONG, UNKNOWN_LONG)], shelf.index)

    assert await shelf.found(probing(2, UNKNOWN_LONG, UNKNOWN_LONG)) == []
    assert await shelf.found(probing(3, KNOWN_LONG, UNKNOWN_LONG)) == [1]


async def test_copies_on_sites_with_other_frames_meet_by_their_content() -> None:
    elsewhere = framed_record([ARTICLE], [prose(Random(2), 10) for _ in range(30)])
    shelf = Shelf()
    await insert([(Handle(1), unlike(elsewhere, 1))], shelf.index)

    assert await shelf.found(ProbingPage(Handle(2), unlike(KNOWN_LONG, 2))) == [1]


async def test_a_candidate_that_is_found_in_two_ways_is_one() -> None:
    shelf = Shelf()
    await insert([(Handle(1), KNOWN_SHORT)], shelf.index)

    probed = await probe([ProbingPage(Handle(2), KNOWN_SHORT, KNOWN_SHORT.whole_bands)], shelf.index)

    assert [(each.handle, each.version_byte) for each in probed.candidates[0]] == [(1, 1)]


@pytest.mark.parametrize("repeat", [1, 2], ids=["at-first", "when-repeated"])
async def test_pages_of_one_batch_find_those_before_them_in_either_way(repeat: int) -> None:
    shelf = Shelf()
    batch = [
        probing(9, KNOWN_SHORT, UNKNOWN_SHORT),
        probing(8, UNKNOWN_SHORT, UNKNOWN_SHORT),
        probing(7, KNOWN_LONG, UNKNOWN_LONG),
        probing(6, UNKNOWN_LONG, UNKNOWN_LONG),
        probing(5, KNOWN_LONG, UNKNOWN_LONG),
    ]

    for _ in range(repeat):
        probed = await probe_and_insert(batch, shelf.index)

    found = [{candidate.handle for candidate in of_page} for of_page in probed.candidates]
    by_content = {9, 7}  # the same article in both frames
    assert found == [set(), {9}, {9}, set(), by_content | {6}]


async def test_probing_stores_nothing() -> None:
    shelf = Shelf()

    await probe([probing(1, KNOWN_SHORT, UNKNOWN_SHORT)], shelf.index)

    assert shelf.tables.groups() == []


async def test_no_pages_are_probed_and_inserted_without_harm() -> None:
    shelf = Shelf()
    await insert([], shelf.index)

    assert (await probe([], shelf.index)).candidates == []
    assert (await probe_and_insert([], shelf.index)).candidates == []


@pytest.mark.parametrize("record", [KNOWN_SHORT, KNOWN_LONG, UNKNOWN_SHORT], ids=["short", "long", "whole"])
async def test_of_a_page_that_is_removed_no_entry_stays(record: PageRecord) -> None:
    shelf = Shelf()
    scoped = msgspec.structs.replace(record, scope="example.com")
    await insert([(Handle(1), record), (Handle(2), scoped)], shelf.index)
    assert shelf.tables.groups()

    await shelf.index.remove(indexed_pages(Handle(1), record))
    await shelf.index.remove(indexed_pages(Handle(2), scoped))

    assert [group for group in shelf.tables.groups() if group] == []


async def test_what_probe_saw_of_a_stale_candidate_is_removed_in_both_ways() -> None:
    shelf = Shelf()
    await insert([(Handle(1), KNOWN_SHORT)], shelf.index)
    probed = await probe([ProbingPage(Handle(2), KNOWN_SHORT, UNKNOWN_SHORT.bands)], shelf.index)

    await shelf.index.remove_stale(probed, {(Handle(1), 1)})

    assert [group for group in shelf.tables.groups() if group] == []
