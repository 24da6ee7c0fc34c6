"""The JSON Schema of the settings has the limits that the program enforces."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema
import msgspec
import pytest
from neardup_daemon.settings.settings import Settings

from tests.unit.daemon.settings.refusals import refusal

_SCHEMA: Final = msgspec.json.schema(Settings)


def numbers(definition: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the numeric settings and their parts of the schema."""
    for name, part in definition["properties"].items():
        places = [part, *part.get("allOf", ()), *part.get("anyOf", ())]
        if section := next((each["$ref"] for each in places if "$ref" in each), None):
            inner = _SCHEMA["$defs"][section.rpartition("/")[2]]
            if "properties" in inner:
                yield from numbers(inner, f"{prefix}{name}.")
        elif part.get("type") in ("integer", "number"):
            yield prefix + name, part


NUMBERS: Final = dict(numbers(_SCHEMA["$defs"]["Settings"]))


def test_it_has_the_least_of_every_number() -> None:
    assert "index.expected_pages" in NUMBERS
    assert [name for name, part in NUMBERS.items() if not part.keys() & {"minimum", "exclusiveMinimum"}] == []


def test_a_number_of_which_it_has_no_most_may_be_as_large_as_you_like() -> None:
    unbounded = [
        name for name, part in NUMBERS.items() if not part.keys() & {"maximum", "exclusiveMaximum", "enum"}
    ]

    settings = Settings.load(overrides=[f"{name}={10**30}" for name in unbounded])

    assert settings.pipeline.max_batch_bytes == 10**30


@pytest.mark.parametrize(
    ("name", "value"), [("index.expected_pages", 10**12 + 1), ("index.shards", 3), ("sketch.bins", 17)]
)
def test_it_refuses_what_the_program_refuses(name: str, value: int) -> None:
    section, _, key = name.partition(".")

    assert name in refusal([f"{name}={value}"])
    with pytest.raises(jsonschema.ValidationError, match=str(value)):
        jsonschema.validate({section: {key: value}}, _SCHEMA)
