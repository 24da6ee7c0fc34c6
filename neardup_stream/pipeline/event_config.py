"""Define which events are published, and what they list."""

from dataclasses import dataclass

from neardup_stream.errors import ConfigError

__all__ = ["EventConfig"]


@dataclass(frozen=True, slots=True)
class EventConfig:
    """Which events are published.

    Attributes:
        namespace: first part of every event's source.
        index_token: of the index, see `stores.index_identity`; empty for one of a former release.
        unique: whether pages without a duplicate have an event too.
        contained: whether pages inside other pages have an event.
        undecided: whether pages that are too short to be compared have an event.
        matches_limit: most matches listed in one event, fewer if large; `matches_total` counts them all.
    """

    namespace: str = "nd"
    index_token: str = ""
    unique: bool = False
    contained: bool = False
    undecided: bool = False
    matches_limit: int = 64

    def __post_init__(self) -> None:
        """Refuse a limit that would leave a duplicate without evidence.

        Raises:
            ConfigError: the limit is below one.
        """
        if self.matches_limit < 1:
            raise ConfigError(f"verdict.matches_limit ({self.matches_limit}) must be at least 1")
