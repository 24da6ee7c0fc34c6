"""What a batch finds in the permuted tables."""

from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.match import Candidate
from neardup_stream.page import Fingerprint64, Handle
from tests.doubles.tables import MemoryTables

HERE, ELSEWHERE = Fingerprint64(0x0123456789ABCDEF), Fingerprint64(0xFEDCBA9876543210)


def page(handle: int, version: int, fingerprint: Fingerprint64, bands: tuple[int, ...] = ()) -> IndexedPage:
    return IndexedPage(Handle(handle), version, fingerprint, bands)


async def test_a_page_finds_what_others_stored_of_a_page_that_comes_later_in_its_batch() -> None:
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig()))
    await index.probe_and_insert([page(2, 3, HERE)])
    probed = await index.probe_and_insert([page(1, 1, HERE), page(2, 2, ELSEWHERE)])
    assert probed.candidates == [(Candidate(Handle(2), 3),), ()]


async def test_a_page_does_not_find_the_version_that_comes_later_in_its_batch_even_when_asked_again() -> None:
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig()))
    batch = [page(1, 1, HERE), page(2, 2, HERE)]
    for _ in range(2):
        probed = await index.probe_and_insert(batch)
        assert probed.candidates == [(), (Candidate(Handle(1), 1),)]


async def test_a_page_that_meets_an_oversized_bucket_keeps_the_candidates_that_share_the_most_bands() -> None:
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig(bands=3, bucket_cap=20)))
    oversized = [page(handle, 1, ELSEWHERE, (1 << 30, handle << 8, handle << 16)) for handle in range(1, 40)]
    some = [page(handle, 1, ELSEWHERE, (handle << 8, 2 << 30, handle << 16)) for handle in range(40, 50)]
    close = page(99, 1, ELSEWHERE, (99 << 8, 2 << 30, 3 << 30))
    await index.probe_and_insert([*oversized, *some, close])

    probed = await index.probe([page(100, 1, HERE, (1 << 30, 2 << 30, 3 << 30))])

    assert probed.truncated_rows == {0}
    assert probed.candidates[0][0].handle == 99
