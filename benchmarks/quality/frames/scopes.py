"""The values of `frames.scope` to compare, as far as the program has that setting."""

from neardup_daemon.settings.settings import Settings

__all__ = ["SCOPES", "settings_of"]

WHOLE_PAGE = "whole page"
"""What a program without `frames.scope` compares."""

SCOPES: tuple[str, ...] = ("host", "off") if "frames" in Settings.__struct_fields__ else (WHOLE_PAGE,)


def settings_of(scope: str) -> list[str]:
    """Return the settings of one run: the defaults, but for the scope and for what an event may name."""
    chosen = [] if scope == WHOLE_PAGE else [f"frames.scope={scope}"]
    return ["verdict.matches_limit=10000", "log.level=warning", *chosen]
