"""Define what the sections of the settings file are made of."""

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["Seconds", "Secret", "Section"]

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
"""A wait of at most a day."""

Secret = Annotated[str, Meta(extra_json_schema={"writeOnly": True})]
"""Never shown, and not taken from the command line, which every user of the machine can read."""


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the settings file."""
