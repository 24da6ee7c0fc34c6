"""Read lists that are given as text: by the environment or a flag."""

import json

import msgspec

__all__ = ["has_other_integers", "list_items"]


def list_items(text: str) -> object:
    """Return the items of a list that is written with commas between them, or as JSON.

    >>> list_items("a, b")
    ['a', 'b']
    >>> list_items('["a, b"]')
    ['a, b']
    >>> list_items("[200, 404]"), list_items("[a, b]")
    ([200, 404], ['a', 'b'])

    Raises:
        msgspec.ValidationError: it has brackets and quotation marks as JSON has, and is none.
    """
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            if '"' in text:
                raise msgspec.ValidationError(
                    "Expected items with commas between them, or a list as JSON"
                ) from None
        text = text.strip("[] ")
    return [item.strip() for item in text.split(",") if item.strip()]


def has_other_integers(given: object, value: object) -> bool:
    """Return whether integers were read from text that is not their decimal digits, such as 1e3.

    Args:
        given: text, or what `list_items` returned.
        value: converted from that.
    """
    if isinstance(given, list) and isinstance(value, tuple):
        return any(map(has_other_integers, given, value))
    return type(value) is int and str(given) != str(value)
