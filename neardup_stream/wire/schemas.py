"""Generate JSON Schemas of everything on the wire from the classes that encode and decode it.

`python -m neardup_stream.wire.schemas [DIR]` writes them, by default to `docs/schemas/`.
"""

import re
import sys
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from neardup_stream.events import EVENT_DATA, EventName, data_schema_uri, event_type
from neardup_stream.wire.dead_letters import DeadLetterLine
from neardup_stream.wire.events import CloudEvent
from neardup_stream.wire.pages import PageInput

__all__ = ["BODIES", "described", "rendered", "schemas"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
BODIES = ("html", "text", "body")
"""Fields of a page of which exactly one is set."""


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by file name, without `.json`: events in structured mode, a page, a dead letter."""
    found = {str(name): _event_schema(name, data) for name, data in EVENT_DATA.items()}
    found["page"] = _page_schema()
    found["dead-letter"] = _schema("dead-letter", DeadLetterLine)
    return found


def rendered(schema: dict[str, Any]) -> bytes:
    """Return the bytes of a schema's file."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def _event_schema(name: EventName, data: type) -> dict[str, Any]:
    schema = _schema(name, CloudEvent[data])  # type: ignore[valid-type]  # a class chosen at run time
    schema["title"] = event_type(name)
    schema["properties"]["specversion"] = {"const": "1.0"}
    schema["properties"]["type"] = {"const": event_type(name)}
    schema["properties"]["dataschema"] |= {"const": data_schema_uri(name)}
    schema["properties"]["time"]["format"] = "date-time"
    return schema


def _page_schema() -> dict[str, Any]:
    schema = _schema("page", PageInput)
    schema["oneOf"] = [{"required": [body], "properties": {body: {"type": "string"}}} for body in BODIES]
    return schema


def _schema(name: str, wire_class: Any) -> dict[str, Any]:
    (top,), classes = msgspec.json.schema_components([wire_class])
    definitions = {title: described(schema) for title, schema in classes.items()}
    head = {"$schema": _DIALECT, "$id": f"urn:neardup:{name}:v1"}
    schema = head | definitions.pop(top["$ref"].removeprefix("#/$defs/"))
    return schema | {"$defs": definitions} if definitions else schema


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the descriptions of its class's docstring: `Attributes` go to the properties."""
    summary, _, attributes = cleandoc(schema["description"]).partition("Attributes:\n")
    properties = dict(schema["properties"])
    for name, text in _ATTRIBUTE.findall(attributes):
        properties[name] = properties[name] | {"description": " ".join(text.split())}
    return schema | {"description": " ".join(summary.split()), "properties": properties}


def main() -> None:
    """Write all schema files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/schemas")
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        (folder / f"{name}.json").write_bytes(rendered(schema))


if __name__ == "__main__":
    main()
