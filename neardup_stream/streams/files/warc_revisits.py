"""Writes the records of WARC files anew, with `revisit` records in the places of duplicates.

A revisit refers to the representative's capture, which stands before it in the output, in full. A capture to
which a revisit of the inputs refers stays in full, too. So the output can be read without any other file, if
the inputs could.
"""

import hashlib
import zlib
from base64 import b32encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from neardup_stream.cut_short import check_cut
from neardup_stream.errors import BadPage, CorruptData
from neardup_stream.message import Partition, Position
from neardup_stream.page import Page
from neardup_stream.streams.files.digests import Identify, identity_of
from neardup_stream.streams.files.file_names import one_line_name
from neardup_stream.streams.files.http_response import split_response
from neardup_stream.streams.files.inputs import open_input
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc import OWN_HEADER, framed_records, holds_http, page_url, warc_record
from neardup_stream.streams.files.warc_framing import MAX_HEAD_BYTES, FramedRecord
from neardup_stream.streams.files.warc_references import References
from neardup_stream.streams.gzip_format import GZIP_WINDOW_BITS
from neardup_stream.wire.events import event_id
from neardup_stream.wire.pages import PageDecoder
from neardup_stream.wire.urls import canonical_url

__all__ = ["IDENTICAL_PROFILE", "NEAR_PROFILE", "Duplicates", "RevisitTally", "RunLimits", "write_revisits"]

IDENTICAL_PROFILE: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
"""The payload has the same bytes as the one referred to."""

NEAR_PROFILE: Final = "urn:neardup:revisit:near-duplicate:v1"
"""The payload is a near-duplicate of the one referred to: showing that one instead shows another text."""

MAX_BLOCK_BYTES: Final = 1 << 30
"""Of a record that is copied: it is held in memory. Longer ones count as damaged."""

_PIECE_BYTES: Final = 1 << 20

_CAPTURES: Final = frozenset({"response", "resource"})
_DIGEST: Final = "warc-payload-digest"
_REFERRED_TO: Final = ("warc-record-id", "warc-date")
"""Headers by which records refer to each other. WARC requires them, and some writers leave them out."""

_LONGEST_NAME: Final = 256
"""Characters of an id, a date or a digest of a capture that is referred to: it is kept in memory."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What a run over the files has decided.

    Attributes:
        index: token of the index that decided.
        representatives: ids of the page and of its representative, by the id of each `duplicate` event.
        dead_letters: positions of records that became dead letters.
    """

    index: str
    representatives: Mapping[str, tuple[str, str]]
    dead_letters: AbstractSet[Position]


class RunLimits(NamedTuple):
    """What the run took for a page.

    Attributes:
        decoder: of its records.
        max_page_bytes: of a body.
    """

    decoder: PageDecoder
    max_page_bytes: int


class RevisitTally(NamedTuple):
    """How many records were written, and how many were not.

    Attributes:
        copied: in full.
        identical: as a revisit with the same bytes.
        near: as a revisit of a near-duplicate.
        damaged: left out.
    """

    copied: int
    identical: int
    near: int
    damaged: int


class _Capture(NamedTuple):
    """A capture that is in the output in full, or may become a revisit.

    Attributes:
        record_id: of it.
        url: of its page.
        date: of it.
        payload_digest: SHA-1 of its payload, which is how payloads are compared.
        stated_digest: `WARC-Payload-Digest` in the words of its writer; empty for none, or for a long one.
    """

    record_id: str
    url: str
    date: str
    payload_digest: str
    stated_digest: str


def write_revisits(
    inputs: Sequence[tuple[str, Partition]],
    output: WaitingFile,
    duplicates: Duplicates,
    limits: RunLimits,
) -> RevisitTally:
    """Write every record of WARC files to one file, each a gzip member; calls `check_cut` for each.

    A record becomes a revisit if its own event says `duplicate`, the latest capture of its representative
    before it that the run has decided is in the output in full, both have a record id and a date of usual
    length and a URI in UTF-8, the revisit can be read again, and no revisit of the inputs refers to it. Its
    record id stays, so that requests and metadata still refer to it.

    Args:
        inputs: regular files in WARC format, in the order in which they were read before, and what was read.
        output: where to write.
        duplicates: what was decided.
        limits: of the run that decided.

    Raises:
        CorruptData: a file is damaged, or has changed since it was read; what was written is not whole.

    Cost: a pass over the inputs for what their revisits refer to, if there are duplicates, one for their
    digests, and one to write.
    """
    references = References(_undigested(inputs, limits) if duplicates.representatives else ())
    writer = _Writer(output, duplicates, references, limits)
    writer.write(*_warcinfo([path for path, _ in inputs], duplicates.index))
    for position, timestamp_ms, record in _framed(inputs, limits, MAX_BLOCK_BYTES, identity_of):
        writer.take(record, position, timestamp_ms)
    return writer.tally()


def _undigested(inputs: Sequence[tuple[str, Partition]], limits: RunLimits) -> Iterator[FramedRecord]:
    """Yield every record, for a pass before one that raises where a file is damaged or has changed."""
    read = {path: partition.input_id for path, partition in inputs}
    with suppress(CorruptData):
        for _, _, record in _framed(inputs, limits, 0, lambda path, _: read[path]):
            yield record


def _framed(
    inputs: Sequence[tuple[str, Partition]], limits: RunLimits, kept_bytes: int, identify: Identify
) -> Iterator[tuple[Position, int, FramedRecord]]:
    """Yield every record, with so much of its block or more, its position and the time of its file."""
    seen: Counter[str] = Counter()
    for path, partition in inputs:
        with open_input(path, seen, identify=identify) as source:
            if source.partition != partition:
                raise CorruptData(f"{path}: an input has changed while it was read; run again")
            framed = framed_records(source, limits.max_page_bytes, kept_bytes)
            for offset, record in enumerate(framed):
                check_cut()
                yield Position(source.partition, offset), source.timestamp_ms, record


class _Writer:
    def __init__(
        self, output: WaitingFile, duplicates: Duplicates, references: References, limits: RunLimits
    ) -> None:
        self._output = output
        self._duplicates = duplicates
        self._references = references
        self._limits = limits
        self._wanted = frozenset(kept for _, kept in duplicates.representatives.values())
        self._captures: dict[str, _Capture | None] = {}
        self._counts: Counter[str] = Counter()

    def tally(self) -> RevisitTally:
        counts = self._counts
        return RevisitTally(counts["copied"], counts["identical"], counts["near"], counts["damaged"])

    def take(self, record: FramedRecord, position: Position, file_timestamp_ms: int) -> None:
        """Write a record as it is or as a revisit."""
        if record.fault or len(record.block) >= MAX_BLOCK_BYTES:
            self._counts["damaged"] += 1
            return
        if record.headers.get("warc-type", "").lower() not in _CAPTURES:
            self._copy(record)
            return
        try:
            url = page_url(record)
            page_id = canonical_url(url)
        except BadPage:  # a dead letter of the run
            self._copy(record)
            return
        may_refer = all(0 < len(record.headers.get(name, "")) <= _LONGEST_NAME for name in _REFERRED_TO)
        may_refer = may_refer and url.encode() in record.head  # else it is no UTF-8, and would be another one
        is_copied = not (may_refer and self._revisit(record, page_id, position))
        if is_copied:
            self._copy(record)
        if page_id in self._wanted and self._is_decided(record, position, file_timestamp_ms):
            self._captures[page_id] = _capture(record) if is_copied and may_refer else None

    def _is_decided(self, record: FramedRecord, position: Position, file_timestamp_ms: int) -> bool:
        """Return whether the run took the record for a page; else the page is still what it was before."""
        if position in self._duplicates.dead_letters:
            return False
        limits = self._limits
        read = warc_record(record, position, file_timestamp_ms, limits.max_page_bytes)
        try:
            return isinstance(limits.decoder.decode(read), Page)
        except BadPage:
            return False

    def _copy(self, record: FramedRecord) -> None:
        self._counts["copied"] += 1
        self.write(record.head.rstrip(b"\r\n") + b"\r\n\r\n", record.block)

    def _revisit(self, record: FramedRecord, page_id: str, position: Position) -> bool:
        """Write a revisit in the place of a record, if it may become one; return whether it did."""
        event = event_id("duplicate", position, self._duplicates.index)
        own_id, kept_id = self._duplicates.representatives.get(event, ("", ""))
        kept = self._captures.get(kept_id) if own_id == page_id else None
        if kept is None:
            return False
        own = _capture(record)
        digests = (record.headers.get(_DIGEST, ""), own.payload_digest)
        if self._references.include(own.record_id, page_id, own.date, digests):
            return False
        is_identical = own.payload_digest == kept.payload_digest
        # Programs look a payload up by what its record states, whatever function and spelling that is.
        digest = kept.stated_digest if is_identical and kept.stated_digest else own.payload_digest
        http_head, _ = _split(record)
        fields = {
            "WARC-Type": "revisit",
            "WARC-Record-ID": own.record_id,
            "WARC-Target-URI": own.url,
            "WARC-Date": own.date,
            "WARC-Profile": IDENTICAL_PROFILE if is_identical else NEAR_PROFILE,
            "WARC-Refers-To": kept.record_id,
            "WARC-Refers-To-Target-URI": kept.url,
            "WARC-Refers-To-Date": kept.date,
            "WARC-Payload-Digest": digest,
            OWN_HEADER: event,
        }
        if http_head:
            fields["Content-Type"] = "application/http; msgtype=response"
        head = _rendered(fields, http_head)
        if len(head) > MAX_HEAD_BYTES:
            return False
        self._counts["identical" if is_identical else "near"] += 1
        self.write(head, http_head)
        return True

    def write(self, *pieces: bytes) -> None:
        """Write a record as a gzip member without a time, so that equal input gives equal output."""
        member, packed = zlib.compressobj(zlib.Z_BEST_COMPRESSION, wbits=GZIP_WINDOW_BITS), bytearray()
        for piece in (*pieces, b"\r\n\r\n"):
            for start in range(0, len(piece), _PIECE_BYTES):
                packed += member.compress(memoryview(piece)[start : start + _PIECE_BYTES])
                if len(packed) >= _PIECE_BYTES:
                    self._output.write_all(packed)
                    packed.clear()
        self._output.write_all(packed + member.flush())


def _capture(record: FramedRecord) -> _Capture:
    _, payload = _split(record)
    digest = b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode()
    record_id, date = (record.headers[name] for name in _REFERRED_TO)
    stated = record.headers.get(_DIGEST, "")
    kept_digest = stated if len(stated) <= _LONGEST_NAME else ""
    return _Capture(record_id, page_url(record), date, f"sha1:{digest}", kept_digest)


def _split(record: FramedRecord) -> tuple[bytes, bytes]:
    """Return the HTTP headers of a page, if it has any, and its payload."""
    return split_response(record.block) if holds_http(record) else (b"", record.block)


def _warcinfo(paths: Sequence[str], index: str) -> tuple[bytes, bytes]:
    """Return head and block of the record that opens the output."""
    lines = [
        "software: neardup-stream",
        "format: WARC File Format 1.1",
        *(f"isPartOf: {one_line_name(path)}" for path in paths),
    ]
    block = "".join(f"{line}\r\n" for line in lines).encode()
    fields = {
        "WARC-Type": "warcinfo",
        "WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, f'neardup:{index}:{paths}')}>",
        "WARC-Date": "1970-01-01T00:00:00Z",
        "Content-Type": "application/warc-fields",
    }
    return _rendered(fields, block), block


def _rendered(fields: Mapping[str, str], block: bytes) -> bytes:
    """Return the head of a record with these fields."""
    lines = [f"{name}: {value}\r\n" for name, value in fields.items()]
    return ("WARC/1.1\r\n" + "".join(lines) + f"Content-Length: {len(block)}\r\n\r\n").encode()
