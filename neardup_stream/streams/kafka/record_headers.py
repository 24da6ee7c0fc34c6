"""Find records with too many headers before their headers are parsed.

A header of two bytes takes more than a hundred bytes of memory once it is parsed, and compresses to nothing:
a record of 3 KB can have 16 million headers.
"""

from typing import Final, NamedTuple

from aiokafka.record.util import decode_varint

__all__ = ["RecordHead", "has_many_headers", "head_of"]

_BITS: Final = 0x7F
"""Bits of a number in each byte; the one above is set in all bytes but the last."""

_TIME_AND_OFFSET: Final = (0, 1)
_KEY_AND_VALUE: Final = (0, 1)

_LEAST_HEADER_BYTES: Final = 2


class RecordHead(NamedTuple):
    """What stands before the headers of a record.

    Attributes:
        time_delta: to the first time of its batch, milliseconds.
        offset_delta: to the first offset of its batch.
        key: None if it has none.
        value: None if it has none.
        header_count: of the headers behind it.
        end: where the next record begins.
    """

    time_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    header_count: int
    end: int


def has_many_headers(records: bytes | memoryview, most: int) -> bool:  # noqa: C901 - calls take three times as long
    """Return whether one of the records has more headers than the limit; False where they are damaged.

    Args:
        records: of a batch in format 2, uncompressed, behind each other.
        most: headers of one record.

    Cost: 1 to 2 µs a record, .3 of one of a few bytes.
    """
    at, size, least_bytes = 0, len(records), most * _LEAST_HEADER_BYTES
    try:
        while at < size:
            byte = records[at]
            at += 1
            length, shift = byte & _BITS, 7
            while byte > _BITS:
                byte = records[at]
                at += 1
                length |= (byte & _BITS) << shift
                shift += 7
            end = min(at + (length >> 1), size)
            if end - at > least_bytes:
                at += 1  # the attributes
                for _ in _TIME_AND_OFFSET:
                    while records[at] > _BITS:
                        at += 1
                    at += 1
                for _ in _KEY_AND_VALUE:
                    byte = records[at]
                    at += 1
                    length, shift = byte & _BITS, 7
                    while byte > _BITS:
                        byte = records[at]
                        at += 1
                        length |= (byte & _BITS) << shift
                        shift += 7
                    if not length & 1:  # else there is none
                        at += length >> 1
                if end - at > least_bytes and decode_varint(records, at)[0] > most:
                    return True
            at = end
    except (IndexError, ValueError):
        return False
    return False


def head_of(records: bytes | bytearray, at: int) -> RecordHead:
    """Return the head of the record that begins there.

    Raises:
        IndexError, ValueError: it is damaged, or the records end before it.
    """
    length, at = decode_varint(records, at)
    end = at + length
    time_delta, at = decode_varint(records, at + 1)  # behind the attributes, which are unused
    offset_delta, at = decode_varint(records, at)
    key, at = _content(records, at)
    value, at = _content(records, at)
    header_count, _ = decode_varint(records, at)
    return RecordHead(time_delta, offset_delta, key, value, header_count, end)


def _content(records: bytes | bytearray, at: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(records, at)
    return (None, at) if size < 0 else (bytes(records[at : at + size]), at + size)
