"""Laws of pages as the index stores them, alone and in columns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.indexed import banded_columns, banded_page
from neardup_stream.stores.page_record import PageRecord

BANDS = 3
POSITION = Position(Partition("pages", 0), 0)

pages = st.tuples(
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 2**32 - 1), min_size=BANDS, max_size=BANDS),
    st.sampled_from(["", "example.com", "de", "é"]),
)


@given(st.lists(pages, min_size=1, max_size=8))
def test_columns_of_pages_are_what_each_page_is_alone(given_pages: list[tuple[int, list[int], str]]) -> None:
    fingerprints, bands, scopes = zip(*given_pages, strict=True)

    columns = banded_columns(np.array(fingerprints, np.uint64), np.array(bands, np.uint32), scopes)

    alone = [
        banded_page(Handle(1), record(fingerprint, scope), np.array(words, ">u4").tobytes())
        for fingerprint, words, scope in given_pages
    ]
    assert columns[0].tolist() == [int(page.fingerprint) for page in alone]
    assert columns[1].tolist() == [list(page.bands) for page in alone]


def record(fingerprint: int, scope: str) -> PageRecord:
    return PageRecord.first(
        page_id=PageId("a"),
        url="a",
        position=POSITION,
        fingerprint=fingerprint,
        text_fingerprint=0,
        seen_seconds=0,
        scope=scope,
    )
