"""Check the arguments of the library's functions: a text is a string."""

__all__ = ["require_text"]


def require_text(text: object) -> None:
    """Return if this is a string.

    Raises:
        TypeError: it is not; the message names what it is.
    """
    if not isinstance(text, str):
        hint = ": decode them first" if isinstance(text, bytes | bytearray | memoryview) else ""
        raise TypeError(f"expected a text (str), got {type(text).__name__}{hint}")
