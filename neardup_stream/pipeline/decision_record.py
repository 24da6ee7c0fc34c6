"""Packs the decision record of one input record, which is kept until its offset is committed.

A record that is processed again finds its decision record, and the same bytes are published again, whatever
has changed since.
"""

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.message import Message
from neardup_stream.meters import Outcome

__all__ = ["DecisionRecord"]


class DecisionRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One outcome and its messages.

    Attributes:
        outcome: of the record.
        reason: from a closed set, empty where none applies.
        handle: of the page version that the record decides; 0 where it decides none.
        version: of that page.
        events: rendered, in the order they are sent.
    """

    outcome: Outcome
    reason: str = ""
    handle: int = 0
    version: int = 0
    events: tuple[Message, ...] = ()

    def pack(self) -> bytes:
        """Return the stored bytes."""
        return _encoder.encode(self)

    @staticmethod
    def unpack(packed: bytes) -> "DecisionRecord":
        """Read what `pack` wrote.

        Raises:
            CorruptData: these bytes were not written by `pack`.
        """
        try:
            return _decoder.decode(packed)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptData(f"a decision record of {len(packed)} bytes cannot be read: {error}") from error


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(DecisionRecord)
