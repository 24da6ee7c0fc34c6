"""Names of files: their endings, and spellings that every encoder takes, though names are any bytes."""

from typing import Final

__all__ = ["has_ending", "one_line_name", "utf8_name"]

_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)}


def utf8_name(name: str) -> str:
    r"""Return the name of a file with its bytes that are not UTF-8 as `\xff`.

    Args:
        name: as the operating system gave it to Python.

    >>> print(utf8_name("october-\udcff.nda"))
    october-\xff.nda
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def one_line_name(name: str) -> str:
    r"""Return the same with control characters as `\x0a`, for formats in which a line is a field.

    >>> print(one_line_name("october\r\n\udcff.warc"))
    october\x0d\x0a\xff.warc
    """
    return utf8_name(name).translate(_CONTROLS)


def has_ending(path: str, endings: str | tuple[str, ...]) -> bool:
    """Return whether the name of a file ends so, in lower case or capitals.

    >>> has_ending("CRAWL.JSONL.GZ", (".jsonl", ".jsonl.gz"))
    True
    """
    return path.lower().endswith(endings)
