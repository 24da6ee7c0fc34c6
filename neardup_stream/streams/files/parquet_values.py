"""Values of Arrow as JSON has them, also those for which Python has none."""

from datetime import UTC, datetime
from typing import Any

__all__ = ["json_value"]


def json_value(value: Any) -> Any:
    """Return a value that JSON has, or that becomes text there.

    A time outside the years 1 to 9999, or a longer duration than Python has, is text: its number and type. A
    struct with equal names becomes pairs of name and value, as a map does.
    """
    plain = _plain(value)
    return plain.replace(tzinfo=UTC) if isinstance(plain, datetime) and plain.tzinfo is None else plain


def _plain(value: Any) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError, LookupError, OSError):
        return _of_parts(value)


def _of_parts(value: Any) -> Any:
    """Return a value of which Python lacks some part."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    if isinstance(value, pa.StructScalar):
        pairs = [(field.name, _plain(value[place])) for place, field in enumerate(value.type)]
        by_name = dict(pairs)
        return by_name if len(by_name) == len(pairs) else pairs
    if isinstance(value, pa.MapScalar):
        return [(_plain(item[0]), _plain(item[1])) for item in value.values]
    if isinstance(value, pa.ListScalar | pa.FixedSizeListScalar):
        return [_plain(item) for item in value.values]
    if isinstance(value, pa.DictionaryScalar | pa.ExtensionScalar):
        return _plain(value.value)
    return f"{value.value} {value.type}"
