"""Refuse characters that a setting cannot have: bytes that are not UTF-8, and null characters."""

__all__ = ["characters_wanted"]

_PATHS = ("_file", ".files")
"""The ends of names of settings that are paths, which need not be UTF-8."""


def characters_wanted(name: str, value: object) -> str | None:
    """Return what a value lacks, such as UTF-8; None if it may have its characters.

    Args:
        name: of the setting, dotted.
        value: a string, strings, or anything without characters.
    """
    if isinstance(value, list | tuple):
        return next(filter(None, (characters_wanted(name, item) for item in value)), None)
    if not isinstance(value, str):
        return None
    # Bytes of a command line or a variable that are not UTF-8 are surrogates, of which paths are made.
    errors = "surrogateescape" if name.endswith(_PATHS) else "strict"
    try:
        value.encode(errors=errors)
    except UnicodeEncodeError:
        return "UTF-8"
    return "no null character" if "\0" in value else None
