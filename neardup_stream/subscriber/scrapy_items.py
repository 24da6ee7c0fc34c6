"""The page of a Scrapy item, as JSON has it."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from itemadapter import ItemAdapter

__all__ = ["encoded", "page_of"]

_BODIES: Final = ("html", "text", "body")
_MEDIA_TYPES: Final = {"html": "text/html", "text": "text/plain"}  # of bytes under these names
_OPTIONAL: Final = ("id", "fetched_at", "content_type", "charset")


def page_of(item: ItemAdapter) -> dict[str, Any] | None:
    """Return the page of an item as JSON has it; None if it has none."""
    values = {name: _only_value(item.get(name)) for name in ("url", *_BODIES, *_OPTIONAL)}
    body = next((name for name in _BODIES if values[name]), None)
    if body is None or not values["url"]:
        return None
    content = values[body]
    page = {name: _decoded(values[name]) for name in ("url", *_OPTIONAL) if values[name]}
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


def encoded(page: Mapping[str, Any]) -> bytes:
    """Return a page as JSON in UTF-8, with times in ISO 8601 and lone surrogates as escapes.

    Raises:
        TypeError: a field has a value that JSON does not have.
    """
    return json.dumps(page, default=_iso, ensure_ascii=False).encode(errors="backslashreplace")


def _iso(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} is no JSON")
