"""The decode stage: from the bytes of a record to a page, a forget, or the reason why it is neither. Pure."""

from typing import NamedTuple

from neardup_stream.errors import BadPage
from neardup_stream.message import Record, Skipped
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Forget, Rejected, SkippedRecord, metadata_of
from neardup_stream.wire.pages import PageDecoder, forget_ids

__all__ = ["Decode", "DecodedPage"]


class DecodedPage(NamedTuple):
    """A page and its record."""

    record: Record
    page: Page


class Decode:
    """Decodes records.

    Args:
        decoder: bytes to pages, within the limits.
    """

    def __init__(self, decoder: PageDecoder) -> None:
        self._decoder = decoder

    def decode(self, record: Record) -> DecodedPage | Forget | SkippedRecord | Rejected:
        """Return a record as a page or forget, or as skipped or rejected. Cost: see `PageDecoder.decode`."""
        try:
            if record.value is None:
                return Forget(metadata_of(record), forget_ids(record.key))
            page = self._decoder.decode(record)
        except BadPage as error:
            return Rejected(record, error)
        if isinstance(page, Skipped):
            return SkippedRecord(metadata_of(record), page.reason)
        return DecodedPage(record, page)
