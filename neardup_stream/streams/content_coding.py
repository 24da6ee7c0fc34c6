"""What HTTP wrapped around a body: chunks and compression, taken off again."""

import io
import re
from collections.abc import Callable

from fastwarc.stream_io import BrotliReader, ChunkedReader, GzipReader, WarcReader, ZstdReader

from neardup_stream.errors import BadPage

__all__ = ["decode_body", "read_up_to"]

_READERS: dict[str, Callable[[io.BytesIO], WarcReader]] = {
    "chunked": ChunkedReader,
    "gzip": GzipReader,
    "x-gzip": GzipReader,
    "deflate": lambda body: GzipReader(body, zlib=True),
    "br": BrotliReader,
    "zstd": ZstdReader,
}

_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a]")
_LOOKED_AT_BYTES = 512


def decode_body(body: bytes, codings: str, max_bytes: int) -> bytes:
    """Undo `codings`, at most `max_bytes` of the result.

    Many archives hold bodies already decoded under their original headers, so a body that cannot be
    decoded but reads like text is taken as it is. Unknown codings (`identity` among them) are passed over.

    Args:
        body: as archived.
        codings: the headers' values, comma separated, in the order in which they were applied.
        max_bytes: where to stop, so that a small body cannot unfold into a large one.

    Raises:
        BadPage: compressed, and damaged.
    """
    for coding in reversed(codings.lower().split(",")):
        reader = _READERS.get(coding.strip())
        if reader is not None:
            body = _undo(reader, coding.strip(), body, max_bytes)
    return body


def _undo(reader: Callable[[io.BytesIO], WarcReader], coding: str, body: bytes, max_bytes: int) -> bytes:
    try:
        decoded = read_up_to(reader(io.BytesIO(body)), max_bytes)
    except OSError as error:
        if _CONTROL_BYTES.search(body, 0, _LOOKED_AT_BYTES):
            raise BadPage("bad_encoding", f"the body is labelled {coding}: {error}") from error
        return body
    return decoded


def read_up_to(reader: WarcReader, max_bytes: int) -> bytes:
    """Everything up to `max_bytes`; a single `read` may return less than there is."""
    parts = []
    while max_bytes > 0 and (part := reader.read(max_bytes)):
        parts.append(part)
        max_bytes -= len(part)
    return b"".join(parts)
