"""How much one read may still take, counted while records are parsed: they may expand a thousandfold."""

from aiokafka.structs import ConsumerRecord

__all__ = ["Room"]


class Room:
    """Room for records. The one that fills it still fits, so the first always does.

    Args:
        max_records: from 1.
        max_bytes: of keys, values and headers.
    """

    def __init__(self, max_records: int, max_bytes: int) -> None:
        self._records = max_records
        self._bytes = max_bytes

    @property
    def is_full(self) -> bool:
        """Whether nothing more is to be taken."""
        return self._records <= 0 or self._bytes <= 0

    def take(self, record: ConsumerRecord) -> None:
        """Count a record."""
        self._records -= 1
        self._bytes -= len(record.key or b"") + len(record.value or b"")
        if record.headers:
            self._bytes -= sum(len(name) + len(value or b"") for name, value in record.headers)
