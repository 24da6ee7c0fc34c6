"""Pages that their source has decoded already."""

import pytest

from neardup_stream.errors import BadPage
from neardup_stream.message import Record, Skipped
from neardup_stream.page import Page, PageId
from neardup_stream.wire.pages import PageDecoder, PageLimits
from tests.unit.wire.decoding import decode
from tests.unit.wire.records import page_json, record


def decoded_record(decoded: Page | Skipped | BadPage, value: bytes = b"raw content") -> Record:
    raw = record(value)
    return Record(position=raw.position, key=None, value=value, decoded=decoded)


def test_a_page_that_its_source_decoded_is_taken_as_it_is() -> None:
    page = decode(page_json())

    assert PageDecoder().decode(decoded_record(page)) is page
    assert PageDecoder().decode(decoded_record(Skipped("warc_type"))) == Skipped("warc_type")


def test_what_a_source_found_wrong_is_raised() -> None:
    with pytest.raises(BadPage, match="no such charset"):
        PageDecoder().decode(decoded_record(BadPage("bad_encoding", "no such charset")))


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (PageLimits(max_page_bytes=10), "page"),
        (PageLimits(max_url_bytes=10), "url"),
        (PageLimits(max_id_bytes=10), "id"),
    ],
    ids=["page", "url", "id"],
)
def test_the_limits_hold_for_decoded_pages_too(limits: PageLimits, what: str) -> None:
    with pytest.raises(BadPage, match=what) as error:
        PageDecoder(limits).decode(decoded_record(decode(page_json())))

    assert error.value.reason == "over_limit"


def test_a_decoded_page_may_hold_no_half_of_a_surrogate_pair() -> None:
    page = Page(id=PageId("a\ud800"), url="http://a/", fetched_at_seconds=0, text="x")

    with pytest.raises(BadPage) as error:
        PageDecoder().decode(decoded_record(page))

    assert error.value.reason == "lone_surrogate"
