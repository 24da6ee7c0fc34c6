"""The page of a Scrapy item, as JSON has it."""

import base64
import json
from collections.abc import Iterable
from datetime import datetime
from types import UnionType
from typing import Any, Final

from itemadapter import ItemAdapter

__all__ = ["encoded", "page_of"]

_BODIES: Final = ("html", "text", "body")
_MEDIA_TYPES: Final = {"html": "text/html", "text": "text/plain"}  # of bytes under these names
_OPTIONAL: Final = ("id", "fetched_at", "content_type", "charset")
_TYPES: Final = {"status": int, "language": str, "score": int | float}
"""Of fields that mean something else in the items of some spiders: those of other types are not sent."""

_MOST_BYTES: Final = 64 * 1024
"""Of a label: the default of `limits.max_meta_bytes`."""

_MOST_NUMBER: Final = 1 << 63
_MOST_LEVELS: Final = 200
"""Of lists and objects in a label: a page may have 256."""


def page_of(item: ItemAdapter) -> dict[str, Any] | None:
    """Return the page of an item as JSON has it; None if it has none."""
    values = {name: _only_value(item.get(name)) for name in ("url", *_BODIES, *_OPTIONAL, *_TYPES)}
    body = next((name for name in _BODIES if values[name]), None)
    if body is None or not values["url"]:
        return None
    page = {name: _decoded(values[name]) for name in ("url", *_OPTIONAL) if values[name]}
    labels = {name: value for name, kind in _TYPES.items() if _is_a(value := _decoded(values[name]), kind)}
    if (meta := item.get("meta")) is not None:
        labels["meta"] = meta
    page |= {name: value for name, value in labels.items() if _is_sendable(value)}
    return _with_content(page, body, values[body])


def _with_content(page: dict[str, Any], body: str, content: Any) -> dict[str, Any]:
    """Return a page with the content that its item has under a name."""
    if not isinstance(content, bytes):
        return {**page, "html" if body == "body" else body: content}  # as the preset `scrapy` reads it
    if body in _MEDIA_TYPES:
        _, *parameters = str(page.get("content_type", "")).split(";")  # the charset may be one
        page["content_type"] = ";".join((_MEDIA_TYPES[body], *parameters))
    return {**page, "body": base64.b64encode(content).decode()}


def _only_value(value: Any) -> Any:
    """Return the value of a list of one, as item loaders make them; any other value unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _decoded(value: Any) -> Any:
    """Return the text of bytes, as headers of a response are; any other value unchanged."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _is_a(value: object, kind: type | UnionType) -> bool:
    """Return whether a value is of a type of JSON, in which true and false are no numbers."""
    return isinstance(value, kind) and not isinstance(value, bool) and not _is_huge(value)


def _is_huge(value: object) -> bool:
    """Return whether a number is above those of JSON's readers."""
    return isinstance(value, int) and abs(value) > _MOST_NUMBER


def _is_sendable(label: object) -> bool:
    """Return whether a page can have a label, which is worth less than the page's verdict."""
    try:
        return len(_json(label).encode()) <= _MOST_BYTES and _levels(label) <= _MOST_LEVELS
    except (TypeError, ValueError):
        return False


def _levels(value: object) -> int:
    """Return how many lists and objects are within each other at most."""
    level, count = [value], 0
    while level := [child for each in level for child in _children(each)]:
        count += 1
    return count


def _children(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def encoded(value: object) -> bytes:
    """Return a page or a part of one as JSON in UTF-8; times in ISO 8601, lone surrogates as escapes.

    Raises:
        TypeError: a field has a value that JSON does not have.
        ValueError: a number is not finite, or a value holds itself or is nested too deeply.
    """
    return _json(value).encode(errors="backslashreplace")


def _json(value: object) -> str:
    try:
        return json.dumps(value, default=_iso, ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        raise ValueError("a value is nested too deeply") from error


def _iso(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} is no JSON")
