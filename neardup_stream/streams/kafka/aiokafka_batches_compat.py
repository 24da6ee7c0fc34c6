r"""Parse batches that aiokafka cannot parse, or would parse without a limit.

Read this file first when the version of aiokafka changes, with `aiokafka_compat`: what is private may change
without notice.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Self, SupportsIndex

from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import PartitionRecords
from aiokafka.record import default_records
from aiokafka.record._crecords import default_records as compiled_default_records
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.memory_records import _MemoryRecordsPy
from aiokafka.record.util import decode_varint
from aiokafka.structs import ConsumerRecord

from neardup_stream.streams.kafka.expansion import (
    ExpansionExceeded,
    HeadersExceeded,
    RefusedValue,
    bounded_codecs,
    without_many_headers,
)
from neardup_stream.streams.kafka.record_headers import has_many_headers, head_of
from neardup_stream.wire.dead_letters import MAX_ERROR_HEADERS
from neardup_stream.wire.header_limit import too_many_headers

__all__ = ["parse_any_batch"]

_MAGIC_OFFSET = 16
_WITH_HEADERS = 2
"""The first batch format with headers; earlier ones cannot be the cause."""

_CODEC_OFFSET = 22
_CODEC_BITS = 0x07
"""Of the attributes of a batch; without a codec its records are not compressed."""

_RECORDS_OFFSET = 61

_CONTINUED = 0x80
_ZIGZAG_BITS = 1
"""A record begins with its length: doubled, seven bits a byte, the bit above set in all but the last."""


def parse_any_batch(max_expanded_bytes: int, max_headers: int) -> None:
    r"""Make consumers of this process parse any batch, within limits.

    Kafka accepts any bytes as the name of a header. aiokafka cannot decode such a record, nor any record of
    its batch after it, so the batch is parsed once more, with names that show the bytes: `\xff` for a byte
    that is not text. Records of a batch that would expand to more have no key and no value; those with more
    headers have none of them. See `RefusedValue`.
    """
    most_headers = max_headers + MAX_ERROR_HEADERS
    for codec, expand in bounded_codecs(max_expanded_bytes).items():
        setattr(default_records, f"{codec}_decode", expand)
        setattr(compiled_default_records, f"{codec}_decode", without_many_headers(expand, most_headers))
    _AnyNamedBatch.max_headers, _AnyNamedBatch.most_headers = max_headers, most_headers
    fetcher.MemoryRecords, fetcher.PartitionRecords = _Batches, _AnyRecords


class _Batches:
    """The batches of a fetch; the last one can be parsed once more, in a slower way."""

    def __init__(self, content: bytes) -> None:
        self._slices = _MemoryRecordsPy(content)
        self._last = memoryview(content)
        self._once_more: Any = None

    def size_in_bytes(self) -> int:
        return int(self._slices.size_in_bytes())

    def has_next(self) -> bool:
        return self._once_more is not None or bool(self._slices.has_next())

    def next_batch(self) -> Any:
        batch, self._once_more = self._once_more, None
        if batch is None:
            self._last = self._slices._next_slice  # what the next line parses
            batch = self._slices.next_batch()
            if self._last[_MAGIC_OFFSET] >= _WITH_HEADERS and not self._last[_CODEC_OFFSET] & _CODEC_BITS:
                records = self._last[_RECORDS_OFFSET:]
                if has_many_headers(records, _AnyNamedBatch.most_headers):
                    batch = _AnyNamedBatch(self._last, 0, is_refused=False)
        return batch

    def parse_once_more(self, error: Exception, next_offset: int) -> None:
        """Return the last batch again, parsed so that it cannot fail so; raise the error of an old format."""
        if self._last[_MAGIC_OFFSET] < _WITH_HEADERS:
            raise error
        self._once_more = _AnyNamedBatch(
            self._last, next_offset, is_refused=isinstance(error, ExpansionExceeded)
        )


class _AnyRecords(PartitionRecords):  # type: ignore[misc] # aiokafka has no types
    """The records of a fetch, whatever their headers are and their batches expand to."""

    def _unpack_records(self) -> Iterator[ConsumerRecord]:
        while self._records.has_next():
            try:
                yield from super()._unpack_records()
            except (UnicodeDecodeError, ExpansionExceeded, HeadersExceeded) as error:
                self._records.parse_once_more(error, self.next_fetch_offset)


class _AnyNamedBatch(_DefaultRecordBatchPy):  # type: ignore[misc] # aiokafka has no types
    """A batch parsed as by its base class, except for text.

    Args:
        content: the batch.
        next_offset: of the first record that is wanted.
        is_refused: it is too large: return only the positions that it spans.

    Attributes:
        max_headers: most headers of a page.
        most_headers: of a record that is not refused: of a page, beside those that a dead letter adds.
    """

    max_headers: ClassVar[int]
    most_headers: ClassVar[int]

    def __init__(self, content: memoryview, next_offset: int, *, is_refused: bool) -> None:
        super().__init__(content)
        self._is_refused = is_refused
        self._known_count = max(0, next_offset - self.base_offset)

    def __iter__(self) -> Self:
        if not self._is_refused:
            super().__iter__()
            if self._num_records == self.last_offset_delta + 1:  # else compaction removed some
                self._skip_known()
            self._buffer: bytearray = _AnyText(self._buffer)
        return self

    def _skip_known(self) -> None:
        """Skip the records before the wanted one by their lengths: to parse them takes 10 µs each."""
        buffer, at = self._buffer, self._pos
        for _ in range(self._known_count):
            size = buffer[at]
            if size < _CONTINUED:
                at += 1 + (size >> _ZIGZAG_BITS)
            else:
                length, at = decode_varint(buffer, at)
                at += length
        self._pos: int = at
        self._next_record_index: int = self._known_count

    def __next__(self) -> Any:
        if not self._is_refused:
            return super().__next__()
        number = self._next_record_index
        if number > self.last_offset_delta:
            raise StopIteration
        self._next_record_index = number + 1
        offset, refused = self.base_offset + number, RefusedValue.of_batch()
        return _DefaultRecordPy(offset, self.max_timestamp, self.timestamp_type, None, refused, [])

    def _read_msg(self) -> Any:
        head = head_of(self._buffer, self._pos)
        if head.header_count <= self.most_headers:
            return super()._read_msg()
        self._pos = head.end
        refused = RefusedValue(too_many_headers(head.header_count, self.max_headers), head.value or b"")
        is_appended = self.timestamp_type == self.LOG_APPEND_TIME
        time_ms = self.max_timestamp if is_appended else self.first_timestamp + head.time_delta
        offset = self.base_offset + head.offset_delta
        return _DefaultRecordPy(offset, time_ms, self.timestamp_type, head.key, refused, [])


class _AnyText(bytearray):
    """Bytes that can always be decoded."""

    def __getitem__(self, at: SupportsIndex | slice) -> Any:
        taken = super().__getitem__(at)
        return _AnyText(taken) if isinstance(taken, bytearray) else taken

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        del errors
        return bytes(self).decode(encoding, "backslashreplace")
