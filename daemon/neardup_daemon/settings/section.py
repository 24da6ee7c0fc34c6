"""Define what the sections of the settings file are made of."""

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["ClientSeconds", "Seconds", "Secret", "Section"]

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
"""A wait of at most a day."""

ClientSeconds = Annotated[float, Meta(ge=0.001, le=86_400)]
"""The same for a client that counts milliseconds, to which less would be none."""

Secret = Annotated[str, Meta(extra_json_schema={"writeOnly": True})]
"""Never shown, and not taken from the command line, which every user of the machine can read."""


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the settings file."""
