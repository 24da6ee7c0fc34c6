"""Find the sites whose frames are kept, by the names that people give them."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from neardup_daemon.preparing import site_of
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.frames.lines import FrameConfig, frame_bounds
from neardup_stream.frames.table import FrameTable
from neardup_stream.pipeline.scopes import UNKNOWN, ScopeOf, scope_of_url
from neardup_stream.wire.urls import canonical_url

__all__ = ["FrameLines", "frame_lines", "named_site", "require_site_of"]


def require_site_of(settings: Settings) -> ScopeOf:
    """Return the function that returns the site of a page.

    Raises:
        ConfigError: frames are not taken out with these settings, or there is no such scope.
    """
    found = site_of(settings)
    if found is None:
        setting = "frames.scope" if settings.frames.scope == "off" else "verdict.scheme"
        value = settings.frames.scope if settings.frames.scope == "off" else settings.verdict.scheme
        raise ConfigError(f"no frames are kept with {setting} = {value}")
    return found


def named_site(name: str, settings: Settings) -> str:
    """Return the site that an argument names: a host, a URL of its pages, or a value of `meta`.

    Raises:
        ConfigError: it is no host, or frames are not taken out with these settings.
    """
    found = require_site_of(settings)
    if settings.frames.scope.startswith("meta."):
        return name
    site = UNKNOWN
    if name.strip() and "@" not in name:
        with suppress(BadPage):
            url = canonical_url(name if "://" in name else f"http://{name}")
            site = scope_of_url(url, found)
    if site == UNKNOWN:
        raise ConfigError(f"{name!r} is no {settings.frames.scope}; give one, or a URL of its pages")
    return site


class FrameLines(NamedTuple):
    """How many lines of a site are frame by the bounds in force, by what a line stands in.

    Attributes:
        markup: a page of HTML, outside landmarks.
        landmark: navigation, footer or another landmark of a page of HTML.
        text: a page that came as plain text.
    """

    markup: int
    landmark: int
    text: int


def frame_lines(table: FrameTable, config: FrameConfig) -> FrameLines:
    """Count the lines of a site that are frame."""
    bounds = frame_bounds(table.page_count, config)
    return FrameLines(*(int(np.count_nonzero(table.counts >= bound)) for bound in bounds))
