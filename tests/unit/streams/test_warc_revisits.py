"""Records of WARC files written anew, with revisits in the places of duplicates."""

import gzip
import re
from base64 import b32encode
from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path

import pytest

from neardup_stream.message import Position
from neardup_stream.streams.files.record_places import UnknownPlaces
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc_framing import FramedRecord, frame_records
from neardup_stream.streams.files.warc_revisits import (
    IDENTICAL_PROFILE,
    NEAR_PROFILE,
    Duplicates,
    RunLimits,
    write_revisits,
)
from neardup_stream.wire.events import event_id
from neardup_stream.wire.pages import PageDecoder
from tests.unit.streams.archives import partitions_of, resource, warc_record

MAX_BYTES = 1 << 20
URLS = ("https://a.example/", "https://b.example/")


def rewritten(tmp_path: Path, archived: Sequence[bytes]) -> list[FramedRecord]:
    """Write a capture of each URL anew, where the second page is a duplicate of the first."""
    source, output = tmp_path / "crawl.warc", tmp_path / "out.warc.gz"
    source.write_bytes(b"".join(archived))
    (partition,) = partitions_of([str(source)])
    event = event_id("duplicate", Position(partition, 1), "i")
    duplicates = Duplicates("i", {event: (URLS[1], URLS[0])}, frozenset())

    with WaitingFile(output, "w") as file:
        limits = RunLimits(PageDecoder(), MAX_BYTES)
        write_revisits([(str(source), partition)], file, duplicates, limits)

    _, *written = frame_records(iter([gzip.decompress(output.read_bytes())]), MAX_BYTES, UnknownPlaces())
    return written


def labelled_digest(payload: bytes) -> str:
    return f"sha1:{b32encode(sha1(payload, usedforsecurity=False).digest()).decode()}"


@pytest.mark.parametrize("line_ends", [b"\r\n\r\n", b"\n\n", b"\r\n\n", b"\n\r\n"])
@pytest.mark.parametrize(
    ("bodies", "profile"),
    [
        ((b"<p>one", b"<p>one"), IDENTICAL_PROFILE),
        ((b"<p>one", b"<p>two"), NEAR_PROFILE),
        ((b"<p>one\r\n\r\n<p>same", b"<p>two\r\n\r\n<p>same"), NEAR_PROFILE),
    ],
    ids=["equal", "alike", "equal behind an empty line"],
)
def test_a_payload_begins_behind_the_first_empty_line_whatever_ends_its_lines(
    bodies: tuple[bytes, bytes], profile: str, line_ends: bytes, tmp_path: Path
) -> None:
    head = b"HTTP/1.1 200 OK\nContent-Type: text/html" + line_ends
    archived = [
        warc_record("response", url, head + body, "application/http")
        for url, body in zip(URLS, bodies, strict=True)
    ]

    _, revisit = rewritten(tmp_path, archived)

    assert revisit.headers["warc-profile"] == profile
    assert revisit.headers["warc-payload-digest"] == labelled_digest(bodies[1])
    assert revisit.block == head


@pytest.mark.parametrize("lost", [0, 1], ids=["representative", "duplicate"])
@pytest.mark.parametrize("header", [b"WARC-Record-ID", b"WARC-Date"])
@pytest.mark.parametrize("rest", [b"", b"%s:\r\n"], ids=["missing", "empty"])
def test_records_without_an_id_or_a_date_are_copied_and_not_referred_to(
    lost: int, header: bytes, rest: bytes, tmp_path: Path
) -> None:
    archived = [resource(url, b"text") for url in URLS]
    line = re.compile(header + rb": .*\r\n")
    archived[lost] = line.sub(rest.replace(b"%s", header), archived[lost])

    written = rewritten(tmp_path, archived)

    assert [record.headers["warc-type"] for record in written] == ["resource", "resource"]
    assert [record.block for record in written] == [b"text", b"text"]


def test_a_text_about_http_is_a_payload_from_its_first_byte(tmp_path: Path) -> None:
    texts = (b"HTTP/1.1 is one protocol\r\n\r\nas all know", b"HTTP/2 is one protocol\r\n\r\nas all know")

    _, revisit = rewritten(tmp_path, [resource(url, text) for url, text in zip(URLS, texts, strict=True)])

    assert revisit.headers["warc-profile"] == NEAR_PROFILE
    assert revisit.headers["warc-payload-digest"] == labelled_digest(texts[1])
    assert revisit.block == b""
