"""Records of WARC files written anew, with revisits in the places of duplicates."""

import gzip
import re
from base64 import b32encode
from collections.abc import Mapping, Sequence
from hashlib import sha1, sha256
from pathlib import Path

import pytest

from neardup_stream.errors import CorruptData
from neardup_stream.message import Position
from neardup_stream.streams.files.record_places import UnknownPlaces
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc_framing import MAX_HEAD_BYTES, FramedRecord, frame_records
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


def rewritten(
    tmp_path: Path, archived: Sequence[bytes], duplicate: int = 1, page_ids: Sequence[str] = URLS
) -> list[FramedRecord]:
    """Write a capture of each page anew, where the second one, at this place, is a duplicate of the first."""
    source, output = tmp_path / "crawl.warc", tmp_path / "out.warc.gz"
    source.write_bytes(b"".join(archived))
    (partition,) = partitions_of([str(source)])
    event = event_id("duplicate", Position(partition, duplicate), "i")
    duplicates = Duplicates("i", {event: (page_ids[1], page_ids[0])}, frozenset())

    with WaitingFile(output, "w") as file:
        limits = RunLimits(PageDecoder(), MAX_BYTES)
        write_revisits([(str(source), partition)], file, duplicates, limits)

    _, *written = frame_records(iter([gzip.decompress(output.read_bytes())]), MAX_BYTES, UnknownPlaces())
    return written


def test_an_input_that_has_become_longer_by_a_part_of_a_record_is_said_to_have_changed(
    tmp_path: Path,
) -> None:
    source = tmp_path / "crawl.warc"
    source.write_bytes(b"".join(resource(url, b"text") for url in URLS))
    (partition,) = partitions_of([str(source)])
    duplicates = Duplicates("i", {"event": (URLS[1], URLS[0])}, frozenset())
    with source.open("ab") as growing:
        growing.write(resource(URLS[0], b"text")[:99])

    with (
        WaitingFile(tmp_path / "out.warc.gz", "w") as file,
        pytest.raises(CorruptData, match="an input has changed while it was read; run again"),
    ):
        write_revisits([(str(source), partition)], file, duplicates, RunLimits(PageDecoder(), MAX_BYTES))


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


@pytest.mark.parametrize("odd", [0, 1], ids=["representative", "duplicate"])
@pytest.mark.parametrize(
    ("encoding", "kind"), [("latin-1", "resource"), ("utf-8", "revisit")], ids=["Latin-1", "UTF-8"]
)
def test_records_are_copied_and_not_referred_to_where_their_uri_is_no_utf_8(
    odd: int, encoding: str, kind: str, tmp_path: Path
) -> None:
    archived = [resource(url, b"text") for url in URLS]
    archived[odd] = archived[odd].replace(b"example/", "example/café".encode(encoding))
    page_ids = list(URLS)
    page_ids[odd] += "caf%C3%A9"

    written = rewritten(tmp_path, archived, page_ids=page_ids)

    assert [record.headers["warc-type"] for record in written] == ["resource", kind]


def test_a_text_about_http_is_a_payload_from_its_first_byte(tmp_path: Path) -> None:
    texts = (b"HTTP/1.1 is one protocol\r\n\r\nas all know", b"HTTP/2 is one protocol\r\n\r\nas all know")

    _, revisit = rewritten(tmp_path, [resource(url, text) for url, text in zip(URLS, texts, strict=True)])

    assert revisit.headers["warc-profile"] == NEAR_PROFILE
    assert revisit.headers["warc-payload-digest"] == labelled_digest(texts[1])
    assert revisit.block == b""


DIGEST = labelled_digest(b"text")
HEX_DIGEST = f"sha1:{sha1(b'text', usedforsecurity=False).hexdigest()}"


@pytest.mark.parametrize(
    "stated", [f"sha256:{sha256(b'text').hexdigest()}", HEX_DIGEST, "other:of no function"]
)
@pytest.mark.parametrize("own", [{}, {"WARC-Payload-Digest": "md5:own"}], ids=["bare", "own"])
def test_a_revisit_of_the_same_payload_has_the_digest_that_the_capture_states(
    stated: str, own: dict[str, str], tmp_path: Path
) -> None:
    first, second = captures(b"text", own)
    first = first.replace(b"WARC-Type", f"WARC-Payload-Digest: {stated}\r\nWARC-Type".encode())

    _, revisit = rewritten(tmp_path, [first, second])

    assert revisit.headers["warc-profile"] == IDENTICAL_PROFILE
    assert revisit.headers["warc-payload-digest"] == stated


@pytest.mark.parametrize(("letters", "is_taken"), [(251, True), (252, False)])
def test_a_digest_of_unusual_length_is_not_taken_over(
    letters: int, tmp_path: Path, *, is_taken: bool
) -> None:
    stated = "sha1:" + "A" * letters
    first, second = captures(b"text", {})
    first = first.replace(b"WARC-Type", f"WARC-Payload-Digest: {stated}\r\nWARC-Type".encode())

    _, revisit = rewritten(tmp_path, [first, second])

    assert revisit.headers["warc-profile"] == IDENTICAL_PROFILE
    assert revisit.headers["warc-payload-digest"] == (stated if is_taken else DIGEST)


@pytest.mark.parametrize("lengthened", [0, 1], ids=["representative", "duplicate"])
@pytest.mark.parametrize(("characters", "kind"), [(256, "revisit"), (257, "resource")])
def test_records_with_an_id_of_unusual_length_are_copied_and_not_referred_to(
    lengthened: int, characters: int, kind: str, tmp_path: Path
) -> None:
    archived = captures(b"text", {})
    archived[lengthened] = archived[lengthened].replace(
        b"00000000-0000-0000-0000-00000000000", b"0" * (characters - len("<urn:uuid:1>"))
    )

    written = rewritten(tmp_path, archived)

    assert [record.headers["warc-type"] for record in written] == ["resource", kind]


def test_a_duplicate_whose_revisit_would_have_more_headers_than_a_record_may_have_is_copied(
    tmp_path: Path,
) -> None:
    def written(letters: int) -> FramedRecord:
        """Return what is written of a duplicate of which the address is longer by so many letters."""
        first, second = captures(b"text", {})
        longer = b"Target-URI: %s#%s" % (URLS[1].encode(), b"a" * letters)
        _, duplicate = rewritten(
            tmp_path, [first, second.replace(b"Target-URI: " + URLS[1].encode(), longer)]
        )
        return duplicate

    room = MAX_HEAD_BYTES - len(written(0).head.rstrip() + b"\r\n\r\n")

    at_limit, over_limit = written(room), written(room + 1)

    assert [at_limit.headers["warc-type"], over_limit.headers["warc-type"]] == ["revisit", "resource"]
    assert over_limit.block == b"text"


def test_payloads_are_compared_by_their_bytes_and_not_by_what_their_records_state(tmp_path: Path) -> None:
    stated = b"WARC-Payload-Digest: sha256:of both\r\nWARC-Type"
    archived = [resource(url, url.encode()).replace(b"WARC-Type", stated) for url in URLS]

    _, revisit = rewritten(tmp_path, archived)

    assert revisit.headers["warc-profile"] == NEAR_PROFILE
    assert revisit.headers["warc-payload-digest"] == labelled_digest(URLS[1].encode())


def captures(body: bytes, headers: Mapping[str, str]) -> list[bytes]:
    """Return captures of the same body; the second has more headers, and an id and a time of its own."""
    first, second = (resource(url, body) for url in URLS)
    second = second.replace(b"-000000000001>", b"-000000000002>").replace(b"T10:20:30Z", b"T10:20:31.5Z")
    added = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    return [first, second.replace(b"WARC-Type", added + b"WARC-Type")]


def stored(record: FramedRecord) -> bytes:
    """Return a record as bytes."""
    return record.head.rstrip() + b"\r\n\r\n" + record.block + b"\r\n\r\n"


def revisit_of(headers: Mapping[str, str]) -> bytes:
    """Return what a crawler writes that has seen a payload before; its own page is none of `URLS`."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    bare = warc_record("revisit", "https://c.example/", b"HTTP/1.1 200 OK\r\n\r\n", "application/http")
    return bare.replace(b"WARC-Type", head + b"WARC-Type")


@pytest.mark.parametrize("is_before", [False, True], ids=["behind", "before"])
@pytest.mark.parametrize(
    ("referring", "stated"),
    [
        ({"WARC-Refers-To": "<urn:uuid:00000000-0000-0000-0000-000000000002>"}, {}),
        (
            {
                "WARC-Refers-To-Target-URI": f"<{URLS[1].upper()}#part>",
                "WARC-Refers-To-Date": "2024-05-01T10:20:31Z",
                "WARC-Payload-Digest": "sha1:of another spelling",
            },
            {},
        ),
        ({"WARC-Payload-Digest": DIGEST}, {"WARC-Payload-Digest": DIGEST}),
        ({"WARC-Payload-Digest": DIGEST}, {}),
        ({"WARC-Payload-Digest": HEX_DIGEST}, {}),
        ({"WARC-Payload-Digest": DIGEST}, {"WARC-Payload-Digest": HEX_DIGEST.upper()}),
        ({"WARC-Payload-Digest": "sha256:00"}, {"WARC-Payload-Digest": "sha256:00"}),
        ({"WARC-Payload-Digest": DIGEST, "WARC-Refers-To-Target-URI": URLS[1]}, {}),
        ({"WARC-Payload-Digest": DIGEST, "WARC-Refers-To": "<urn:uuid:of-another-crawl>"}, {}),
    ],
    ids=[
        "id",
        "URI and date",
        "stated digest",
        "digest",
        "hex",
        "stated in hex",
        "SHA-256",
        "URI and digest",
        "id of another crawl",
    ],
)
def test_a_capture_to_which_a_revisit_of_the_inputs_refers_is_copied(
    referring: dict[str, str], stated: dict[str, str], tmp_path: Path, *, is_before: bool
) -> None:
    archived = captures(b"text", stated)
    archived.insert(0 if is_before else 2, revisit_of(referring))

    written = rewritten(tmp_path, archived, duplicate=1 + is_before)

    assert [stored(record) for record in written] == archived


@pytest.mark.parametrize(
    "referring",
    [
        {},
        {"WARC-Refers-To": "<urn:uuid:00000000-0000-0000-0000-000000000003>"},
        {"WARC-Refers-To": "<urn:uuid:00000000-0000-0000-0000-000000000001>"},
        {
            "WARC-Refers-To-Target-URI": URLS[1],
            "WARC-Refers-To-Date": "2024-05-01T10:20:32Z",
            "WARC-Payload-Digest": DIGEST,
        },
        {"WARC-Payload-Digest": labelled_digest(b"another text")},
        {"WARC-Payload-Digest": "sha1:no digest, with forty characters, in hex"},
    ],
    ids=["nothing", "id", "id of the representative", "date", "digest", "what is no digest"],
)
def test_a_revisit_that_refers_to_no_duplicate_is_copied_and_leaves_it_one(
    referring: dict[str, str], tmp_path: Path
) -> None:
    archived = [*captures(b"text", {}), revisit_of(referring)]

    first, second, third = rewritten(tmp_path, archived)

    assert [first.headers["warc-type"], second.headers["warc-type"]] == ["resource", "revisit"]
    assert second.headers["warc-refers-to"] == first.headers["warc-record-id"]
    assert stored(third) == archived[2]
