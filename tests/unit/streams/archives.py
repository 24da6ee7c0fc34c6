"""WARC records as bytes, written by hand so that each part of them can be wrong."""

from collections import Counter
from collections.abc import Sequence

from neardup_stream.message import Partition
from neardup_stream.streams.files.inputs import open_input

__all__ = ["conversion", "http", "partitions_of", "resource", "response", "warc_record", "with_lf"]


def warc_record(
    kind: str,
    uri: str,
    block: bytes,
    content_type: str,
    *,
    date: str = "2024-05-01T10:20:30Z",
    length: int | None = None,
) -> bytes:
    """Return one record; `length` states another size than the block has."""
    head = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>",
        f"WARC-Date: {date}",
        f"WARC-Target-URI: {uri}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(block) if length is None else length}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + block + b"\r\n\r\n"


def resource(uri: str, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    """Content archived without HTTP around it."""
    return warc_record("resource", uri, body, content_type)


def conversion(uri: str, text: bytes) -> bytes:
    """Return what WET files hold."""
    return warc_record("conversion", uri, text, "text/plain")


def response(
    uri: str,
    body: bytes,
    content_type: str = "text/html",
    headers: tuple[str, ...] = (),
    status: str = "200 OK",
) -> bytes:
    """Return an HTTP response."""
    block = http(body, content_type, headers, status)
    return warc_record("response", uri, block, "application/http; msgtype=response")


def http(body: bytes, content_type: str, headers: tuple[str, ...] = (), status: str = "200 OK") -> bytes:
    """Status line, headers, body."""
    head = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def partitions_of(paths: Sequence[str]) -> list[Partition]:
    """Return what a run over files calls each of them."""
    seen: Counter[str] = Counter()
    partitions = []
    for path in paths:
        with open_input(path, seen) as opened:
            partitions.append(opened.partition)
    return partitions


def with_lf(archived: bytes) -> bytes:
    """Return the same record with lines that end in LF, as some tools write them, those of HTTP too."""
    head, _, block = archived.removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
    shorter = block.replace(b"\r\n", b"\n")
    stated = head.replace(b"Content-Length: %d" % len(block), b"Content-Length: %d" % len(shorter))
    return stated.replace(b"\r\n", b"\n") + b"\n\n" + shorter + b"\n\n"
