"""Format strings for a terminal: make those from outside safe, and put counts with their nouns."""

__all__ = ["counted", "printable", "printable_json", "utf8_name"]

_CONTROLS = (
    *range(0x20),  # C0, with ESC
    *range(0x7F, 0xA0),  # DEL and C1, with CSI
    0x061C,  # from here on: what turns the direction of text, and ends of lines
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),  # halves of surrogate pairs, which no stream takes
)
_AS_TEXT = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROLS}
_AS_JSON = {code: f"\\u{code:04x}" for code in _CONTROLS}


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, singular or plural.

    >>> print(counted(1, "page"), counted(2_000, "page"))
    1 page 2,000 pages
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def printable(text: object) -> str:
    r"""Return `text` with all that a terminal would obey rather than show as `\x1b` or `\u202e`.

    For strings that a crawled page, another program or a file name can contain.

    >>> print(printable("http://a/\x1b[2J"))
    http://a/\x1b[2J
    """
    return str(text).translate(_AS_TEXT)


def utf8_name(name: str) -> str:
    r"""Return the name of a file for JSON, its bytes that are not UTF-8 as `\xff`.

    Args:
        name: as the operating system gave it to Python.

    >>> print(utf8_name("october-\udcff.nda"))
    october-\xff.nda
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def printable_json(json: str) -> str:
    """Return JSON of the same meaning, all of whose control characters are escapes.

    Args:
        json: in one line, from an encoder that leaves C1 and controls of direction as they are.
    """
    return json.translate(_AS_JSON)
