"""Pages decoded from JSON with the default limits."""

from neardup_stream.page import Page
from neardup_stream.wire.pages import PageDecoder
from tests.unit.wire.records import record

__all__ = ["decode"]


def decode(value: bytes, decoder: PageDecoder | None = None) -> Page:
    page = (decoder or PageDecoder()).decode(record(value))
    assert isinstance(page, Page)
    return page
