import msgspec

from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.indexed import indexed_pages, scope_hash
from neardup_stream.stores.page_record import PageRecord

RECORD = PageRecord.first(
    page_id=PageId("page"),
    url="page",
    fingerprint=0x0123_4567_89AB_CDEF,
    text_fingerprint=1,
    position=Position(Partition("pages", 0), 0),
    seen_seconds=0,
    bands=bytes.fromhex("00000001 ffffffff"),
)


def test_a_page_compared_with_everything_is_indexed_as_it_is() -> None:
    (page,) = indexed_pages(Handle(7), RECORD)

    assert (page.handle, page.version, page.fingerprint) == (7, 1, 0x0123_4567_89AB_CDEF)
    assert tuple(page.bands) == (1, 0xFFFF_FFFF)


def test_a_page_without_bands_has_none() -> None:
    (page,) = indexed_pages(Handle(7), msgspec.structs.replace(RECORD, bands=b""))

    assert tuple(page.bands) == ()


def test_a_scope_turns_the_same_bits_of_every_page_in_it() -> None:
    (page,) = indexed_pages(Handle(7), msgspec.structs.replace(RECORD, scope="example.com"))
    mask = scope_hash("example.com")

    assert page.fingerprint == 0x0123_4567_89AB_CDEF ^ mask
    assert tuple(page.bands) == (1 ^ mask & 0xFFFF_FFFF, 0xFFFF_FFFF ^ mask & 0xFFFF_FFFF)


def test_only_everything_has_the_hash_that_changes_nothing() -> None:
    assert scope_hash("") == 0
    assert len({scope_hash(scope) for scope in ("", "-", "a", "ü", "example.com")}) == 5
