"""Knows which captures the `revisit` records of WARC files refer to, so that these are kept in full.

A revisit names a capture by its record id, by its URI and date, or by both. One without URI and date names
every capture of the same payload too, by its digest: the id may be that of another crawl.
"""

from array import array
from base64 import b32encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Final

import numpy as np

from neardup_stream.errors import BadPage
from neardup_stream.streams.files.warc_framing import FramedRecord
from neardup_stream.wire.urls import canonical_url

__all__ = ["References"]

_DATE_DIGITS: Final = 14
"""A date to the second: fractions may be left out where a record refers to another."""

_SHA1_HEX_DIGITS: Final = 40


class References:
    """Names of captures to which revisits refer.

    Two names may have the same key: then a capture seems to be referred to that is not.

    Args:
        records: of archives; those that are no revisit, or damaged, refer to nothing.

    Cost: some 9 bytes a name, of which a revisit has one or two; 15 µs a revisit, and 20 µs a capture.
    """

    def __init__(self, records: Iterable[FramedRecord]) -> None:
        keys = array("Q", (_key(name) for record in records for name in _names(record)))
        self._keys = np.asarray(keys)  # the same memory
        self._keys.sort()

    def include(self, record_id: str, page_id: str, date: str, digests: Iterable[str]) -> bool:
        """Return whether a revisit refers to a capture.

        Args:
            record_id: `WARC-Record-ID` of the capture.
            page_id: canonical URL of its URI.
            date: `WARC-Date`.
            digests: of its payload, with the names of the functions; empty ones name nothing.
        """
        names = (_id_name(record_id), _date_name(page_id, date), *map(_digest_name, filter(None, digests)))
        keys = np.array([_key(name) for name in names], np.uint64)
        places = np.searchsorted(self._keys, keys)
        is_inside = places < len(self._keys)
        return bool((self._keys[places[is_inside]] == keys[is_inside]).any())


def _names(record: FramedRecord) -> Iterator[str]:
    """Yield what a record says of the capture to which it refers."""
    headers = record.headers
    if record.fault or headers.get("warc-type", "").lower() != "revisit":
        return
    if record_id := headers.get("warc-refers-to"):
        yield _id_name(record_id)
    url, date = headers.get("warc-refers-to-target-uri"), headers.get("warc-refers-to-date")
    if url and date:
        with suppress(BadPage):  # a capture of this URL is no page, and is not compared with others
            yield _date_name(canonical_url(url.removeprefix("<").removesuffix(">")), date)
    elif digest := headers.get("warc-payload-digest"):
        yield _digest_name(digest)


def _id_name(record_id: str) -> str:
    return f"id {record_id.removeprefix('<').removesuffix('>')}"


def _date_name(page_id: str, date: str) -> str:
    digits = "".join(filter(str.isdigit, date))
    return f"date {digits[:_DATE_DIGITS]} {page_id}"


def _digest_name(digest: str) -> str:
    """Return a digest in one spelling: SHA-1 is written in base32 by most crawlers, and in hex by others."""
    function, _, value = digest.upper().partition(":")
    if function == "SHA1" and len(value) == _SHA1_HEX_DIGITS:
        with suppress(ValueError):
            value = b32encode(bytes.fromhex(value)).decode()
    return f"digest {function}:{value}"


def _key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
