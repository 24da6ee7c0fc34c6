import pytest

from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.meeting import Meeting, meeting
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.page import Fingerprint64, Handle
from tests.doubles.tables import MemoryTables

LAYOUT = IndexLayout(IndexConfig(bands=2))
FINGERPRINT = 0x0123_4567_89AB_CDEF
BANDS = (0x0123_4567, 0x89AB_CDEF)


def page(handle: int, flipped: int = 0, bands: tuple[int, int] = BANDS) -> IndexedPage:
    return IndexedPage(Handle(handle), 1, Fingerprint64(FINGERPRINT ^ flipped), bands)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(page(2), Meeting((0, 1, 2, 3), (0, 1)), id="equal"),
        pytest.param(page(2, flipped=1), Meeting((0, 1, 2), (0, 1)), id="last-block-differs"),
        pytest.param(page(2, flipped=1 | 1 << 63, bands=(0, 0)), Meeting((1, 2), ()), id="two-blocks-differ"),
        pytest.param(page(2, flipped=0b1111, bands=(0, BANDS[1])), Meeting((), (1,)), id="beyond-distance"),
        pytest.param(page(2, flipped=0b1111, bands=(0, 0)), Meeting((), ()), id="nowhere"),
    ],
)
async def test_pages_meet_in_the_tables_in_which_a_probe_finds_them(
    other: IndexedPage, expected: Meeting
) -> None:
    index = PermutedIndex(MemoryTables(), LAYOUT)
    await index.probe_and_insert([page(1)])
    probed = await index.probe([other])

    assert meeting([page(1)], [other], LAYOUT) == meeting([other], [page(1)], LAYOUT) == expected
    assert bool(probed.candidates[0]) == expected.is_found


def test_what_is_not_kept_of_a_band_does_not_keep_pages_apart() -> None:
    """Of 32 bits the leading byte, the bucket and fifteen more are kept."""
    dropped_bits = 32 - 8 - LAYOUT.band_bucket_bits - LAYOUT.band_suffix_bits

    assert dropped_bits > 0
    almost = page(2, flipped=0b1111, bands=(BANDS[0] ^ 1, 0))
    assert meeting([page(1)], [almost], LAYOUT).bands == (0,)
