"""Bodies that a crawler has cut off, in each coding: what is left is a page where the archive says so."""

import zlib

import pytest
from backports import zstd

from neardup_stream.errors import BadPage
from neardup_stream.streams.files.content_coding import decode_body

LIMIT = 1 << 20
TEXT = b"<html><body><p>" + b" ".join(b"word%d" % (number * number % 977) for number in range(30_000))


def raw_deflate(text: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(text) + compressor.flush()


def chunked(text: bytes, size: int) -> bytes:
    parts = (text[at : at + size] for at in range(0, len(text), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


CUT = {
    "raw deflate": ("deflate", raw_deflate(TEXT)),
    "zlib": ("deflate", zlib.compress(TEXT)),
    "zstd": ("zstd", b"".join(zstd.compress(TEXT[at : at + 5000]) for at in range(0, len(TEXT), 5000))),
    "chunks": ("chunked", chunked(TEXT, 8192)),
    "one chunk": ("chunked", chunked(TEXT, len(TEXT))),
    "one chunk of gzip": ("gzip, chunked", chunked(zlib.compress(TEXT, wbits=31), len(TEXT))),
}


@pytest.mark.parametrize(("coding", "body"), CUT.values(), ids=CUT)
def test_the_beginning_is_what_is_left(coding: str, body: bytes) -> None:
    left = decode_body(body[: len(body) // 2], coding, LIMIT, may_be_cut=True)

    assert len(left) > 2000
    assert TEXT.startswith(left)


@pytest.mark.parametrize("name", ["raw deflate", "one chunk of gzip"])
def test_without_the_word_of_the_archive_it_is_damaged(name: str) -> None:
    coding, body = CUT[name]

    with pytest.raises(BadPage, match="cut off"):
        decode_body(body[: len(body) // 2], coding, LIMIT)


@pytest.mark.parametrize("coding", ["deflate", "br"])
def test_a_text_that_was_archived_decoded_stays_as_it_is(coding: str) -> None:
    assert decode_body(TEXT[:1000], coding, LIMIT, may_be_cut=True) == TEXT[:1000]
