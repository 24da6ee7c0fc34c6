"""Bodies that a crawler has cut off, in each coding: what is left is a page where the archive says so."""

import zlib
from random import Random

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


def brotli(text: bytes, size: int) -> bytes:
    """Return a text in uncompressed blocks, which need no compressor."""
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    heads = [len(part) - 1 << 3 | 1 << 19 for part in parts]  # 4 nibbles of the length, and a flag
    heads[0] <<= 1  # behind a window of 2^16 bytes
    blocks = (head.to_bytes(3, "little") + part for head, part in zip(heads, parts, strict=True))
    return b"".join(blocks) + b"\3"


CUT = {
    "gzip": ("gzip", zlib.compress(TEXT, wbits=31)),
    "brotli": ("br", brotli(TEXT, 4096)),
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


@pytest.mark.parametrize("into", range(-3, 8))
def test_a_cut_within_or_beside_the_size_of_a_chunk_leaves_the_chunks_before_it(into: int) -> None:
    first = len(b"2000\r\n") + 8192

    left = decode_body(chunked(TEXT, 8192)[: first + into], "chunked", LIMIT, may_be_cut=True)

    assert left == TEXT[: 8192 + min(into, 0)]


def test_an_empty_chunk_without_a_line_end_ends_a_body() -> None:
    assert decode_body(chunked(TEXT, 8192).removesuffix(b"\r\n\r\n"), "chunked", LIMIT) == TEXT


@pytest.mark.parametrize("name", ["gzip", "brotli", "raw deflate", "one chunk of gzip"])
def test_without_the_word_of_the_archive_it_is_damaged(name: str) -> None:
    coding, body = CUT[name]

    with pytest.raises(BadPage, match=r"cut off|Invalid Data"):
        decode_body(body[: len(body) // 2], coding, LIMIT)


@pytest.mark.parametrize("coding", ["deflate", "br"])
def test_a_text_that_was_archived_decoded_stays_as_it_is(coding: str) -> None:
    assert decode_body(TEXT[:1000], coding, LIMIT, may_be_cut=True) == TEXT[:1000]


@pytest.mark.parametrize("coding", ["br", "deflate"])
def test_what_is_in_another_coding_gives_no_garbage(coding: str) -> None:
    noise = Random(7)

    for _ in range(300):
        body = b"\0" + noise.randbytes(300)
        with pytest.raises(BadPage, match=f"labelled {coding}"):
            decode_body(body, coding, LIMIT, may_be_cut=True)


@pytest.mark.parametrize("text", [b"2024\nfirst line", b"Bad\nnews of today"])
def test_a_number_before_a_bare_line_feed_is_no_chunk(text: bytes) -> None:
    assert decode_body(text, "chunked", LIMIT, may_be_cut=True) == text


def test_megabytes_of_spaces_behind_a_chunk_are_looked_at_once() -> None:
    body = b"5\r\nhello\r\n" + b" " * LIMIT + b"\0"

    with pytest.raises(BadPage, match="there is no chunk"):
        decode_body(b"\0" + body, "chunked", LIMIT, may_be_cut=True)
    assert decode_body(body, "chunked", LIMIT, may_be_cut=True) == body
