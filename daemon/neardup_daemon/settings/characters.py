"""Refuse characters that a setting cannot have: bytes that are not UTF-8, and null characters."""

__all__ = ["characters_wanted"]

_PATHS = ("_file", ".files")
"""The ends of names of settings that are paths, which need not be UTF-8."""


def characters_wanted(name: str, value: object) -> str | None:
    """Return what a value lacks, such as UTF-8; None if it may have its characters.

    Args:
        name: of the setting, dotted.
        value: typed if it comes from TOML, else text.
    """
    if not name.endswith(_PATHS) and not _is_utf8(value):
        return "UTF-8"
    return "no null character" if _has_null(value) else None


def _is_utf8(value: object) -> bool:
    """Return whether a value came as UTF-8; other bytes of a command line or a variable are surrogates."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _has_null(value: object) -> bool:
    """Return whether a string has a null character, which no path, host or name of a server can have."""
    if isinstance(value, list):
        return any(map(_has_null, value))
    return isinstance(value, str) and "\0" in value
