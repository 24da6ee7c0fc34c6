"""WARC files for `dedup --write-warc`, written and read by warcio, which is no code of ours."""

import base64
import gzip
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from warcio.archiveiterator import ArchiveIterator

from tests.system.conftest import call

WORDS = [f"{first}{second}" for first in ("ba", "ko", "ri", "su") for second in ("lan", "mer", "tok", "vis")]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


class Record(NamedTuple):
    """A record as warcio reads it."""

    type: str
    id: str
    headers: dict[str, str]
    http: str
    payload: bytes


def text(seed: int, length: int = 400) -> str:
    return " ".join(Random(seed).choices(WORDS, k=length))


def write(
    path: Path,
    pages: Sequence[tuple[str, str]],
    *,
    is_gzip: bool = True,
    heads: Mapping[int, bytes] = MappingProxyType({}),
) -> None:
    """A response and its request for each page, as crawlers write them; with other heads for some numbers."""
    with path.open("wb") as output:
        for number, (url, content) in enumerate(pages):
            body = f"<html><body><p>{content}</p></body></html>".encode()
            digest = base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
            response = heads.get(number, HEAD) + body
            request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            for kind, block in (("response", response), ("request", request)):
                fields = {
                    "WARC-Type": kind,
                    "WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{kind} {number}')}>",
                    "WARC-Target-URI": url,
                    "WARC-Date": f"2026-01-01T00:00:{number:02}Z",
                    "Content-Type": f"application/http; msgtype={kind}",
                    "Content-Length": str(len(block)),
                } | ({"WARC-Payload-Digest": f"sha1:{digest}"} if kind == "response" else {})
                head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                record = f"WARC/1.0\r\n{head}\r\n".encode() + block + b"\r\n\r\n"
                output.write(gzip.compress(record, 1) if is_gzip else record)


def records(path: Path) -> Iterator[Record]:
    with path.open("rb") as archive:
        for each in ArchiveIterator(archive, check_digests="raise"):
            head = each.http_headers.statusline if each.http_headers else ""
            headers = dict(each.rec_headers.headers)
            yield Record(
                each.rec_type, headers["WARC-Record-ID"], headers, head, each.content_stream().read()
            )


def dedup(*words: str) -> bytes:
    run = call("dedup", *words)
    assert run.returncode == 0, run.stderr
    return run.stderr
