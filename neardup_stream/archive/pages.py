"""Define what an archive stores of a page."""

from typing import NamedTuple

import msgspec

from neardup_stream.archive.log_blocks import LoggedPage

__all__ = ["FrozenPage", "pack_page", "unpack_page"]


class FrozenPage(NamedTuple):
    """A page to be frozen.

    Attributes:
        logged: URL, id and time.
        fingerprint: simhash; 0 for a page that is too short to be judged.
        text_fingerprint: equal means the same text; 0 for a page that is too short.
        sketch: of the content; empty for a page that is too short.
        shingle_count: shingles of the content.
        whole: of the whole text, where a frame was taken out; else empty.
        whole_count: shingles of the whole text, where a frame was taken out; else 0.
        scope: 64 bits of the scope within which the page is compared; 0 for everything.
        keys: under which it is found, uint64 little-endian one after the other; none for a page that is too
            short.
        text: visible text, UTF-8 (lone surrogates encoded like other code points), where texts are kept.
        terms: hashes of its distinct tokens, uint64 little-endian, where terms are searched.
        token_count: tokens of the visible text, where any part is made of texts.
        passages: hashes of its selective fingerprint, uint64 little-endian; empty where no passages are
            kept, or the page is too short for one.
        prefixes: its words counted by prefix, as `fingerprints.fuzzy` does, where it is found by fuzzy codes.
    """

    logged: LoggedPage
    fingerprint: int = 0
    text_fingerprint: int = 0
    sketch: bytes = b""
    shingle_count: int = 0
    whole: bytes = b""
    whole_count: int = 0
    scope: int = 0
    keys: bytes = b""
    text: bytes = b""
    terms: bytes = b""
    token_count: int = 0
    passages: bytes = b""
    prefixes: bytes = b""


def pack_page(page: FrozenPage) -> bytes:
    """Return the page on its way through a temporary file."""
    return _encoder.encode(page)


def unpack_page(packed: bytes) -> FrozenPage:
    """Read what `pack_page` wrote."""
    return _decoder.decode(packed)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(FrozenPage)
