"""Note what the first dead letters of a run are about; the others are only counted."""

from typing import Final

from neardup_stream.errors import BadPage
from neardup_stream.message import Position
from neardup_stream.streams.files.source import PlaceOf

__all__ = ["FIRST_DEAD_LETTERS", "FirstDeadLetters"]

FIRST_DEAD_LETTERS: Final = 5
"""Dead letters that a command shows."""


class FirstDeadLetters:
    """Notes each once, however often it is sent."""

    def __init__(self) -> None:
        self._noted: dict[Position, str] = {}

    def note(self, position: Position, error: BadPage, place_of: PlaceOf) -> None:
        """Note a dead letter, unless others were first.

        Args:
            position: of the record.
            error: what is wrong with it.
            place_of: names the place of a record, for a person.
        """
        if len(self._noted) < FIRST_DEAD_LETTERS:
            self._noted[position] = f"{place_of(position)}: {error}"

    @property
    def lines(self) -> list[str]:
        """What they are about, in the order in which they came."""
        return list(self._noted.values())
