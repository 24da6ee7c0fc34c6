import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator, ValidationError

from neardup_stream.errors import BadPage
from neardup_stream.event_parts import OwnCluster, PreviousPlace
from neardup_stream.events import EVENT_DATA, DuplicateFound, EventName, Undecided, UniqueFound, event_type
from neardup_stream.wire.dead_letters import dead_letter, to_json_line
from neardup_stream.wire.events import to_structured
from neardup_stream.wire.schemas import rendered, schemas
from tests.unit.wire.example_events import DUPLICATE, EXAMPLES, PAGE, SURVIVOR, TRACE, about, event
from tests.unit.wire.records import page_json, record
from tests.unit.wire.test_pages import BAD_PAGES

FOLDER = Path(__file__).parents[3] / "docs" / "schemas"
SCHEMAS = schemas()
PREVIOUS = PreviousPlace(version=1, cluster="c0")


def validate(name: str, json: bytes) -> None:
    Draft202012Validator(SCHEMAS[name]).validate(msgspec.json.decode(json))


def structured(data: DuplicateFound) -> bytes:
    return to_structured(msgspec.structs.replace(event(TRACE, b"{}"), data=data))


def test_the_files_are_what_the_classes_say() -> None:
    """Drift: run `python -m neardup_stream.wire.schemas`, and change only by adding."""
    files = {path.stem: path.read_bytes() for path in FOLDER.glob("*.json")}

    assert files == {name: rendered(schema) for name, schema in SCHEMAS.items()}


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_of_an_event_and_a_page_is_described(name: str) -> None:
    schema = SCHEMAS[name]
    if name in EVENT_DATA:
        assert all("description" in each or "const" in each for each in schema["properties"].values())
    assert schema["description"]


@pytest.mark.parametrize("name", EVENT_DATA)
def test_every_field_of_an_event_is_described_where_it_is_used_or_where_it_is_defined(name: str) -> None:
    for title, definition in SCHEMAS[name]["$defs"].items():
        for field, each in definition["properties"].items():
            assert "description" in each, (title, field)


@pytest.mark.parametrize("name", EVENT_DATA)
def test_each_event_obeys_its_schema_and_no_other(name: EventName) -> None:
    line = to_structured(about(name, EXAMPLES[name]))

    validate(name, line)
    for other in EVENT_DATA.keys() - {name}:
        with pytest.raises(ValidationError, match=re.escape(event_type(other))):
            validate(other, line)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(DUPLICATE, id="before-clusters"),
        pytest.param(
            msgspec.structs.replace(
                DUPLICATE, cluster=SURVIVOR, previous=PREVIOUS, representative_distance_bits=64
            ),
            id="with-cluster",
        ),
        pytest.param(
            msgspec.structs.replace(
                DUPLICATE,
                matches=(
                    msgspec.structs.replace(
                        DUPLICATE.matches[0],
                        resemblance=0.9,
                        containment=1.0,
                        contained_in=0.0,
                        scheme="sketch",
                    ),
                ),
            ),
            id="with-ratios",
        ),
    ],
)
def test_a_duplicate_event_obeys_its_schema(data: DuplicateFound) -> None:
    validate("duplicate", structured(data))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(UniqueFound(page=PAGE), id="before-clusters"),
        pytest.param(
            UniqueFound(page=PAGE, cluster=OwnCluster(id="c1", epoch=0), previous=PREVIOUS), id="with-cluster"
        ),
    ],
)
def test_a_unique_event_obeys_its_schema(data: UniqueFound) -> None:
    validate("unique", to_structured(about("unique", data)))


def test_an_undecided_page_that_was_known_says_where_it_was() -> None:
    known = Undecided(page=PAGE, reason="too_short", previous=PREVIOUS)

    validate("undecided", to_structured(about("undecided", known)))


@pytest.mark.parametrize("name", EVENT_DATA)
def test_a_version_below_one_breaks_the_schema(name: EventName) -> None:
    line = to_structured(about(name, EXAMPLES[name]))

    with pytest.raises(ValidationError, match="minimum"):
        validate(name, line.replace(b'"version":', b'"version":-'))


@pytest.mark.parametrize(
    "bad",
    [record(b"\xff", key=b"k"), record(None), record(b"x", headers=(("a", b"\xff"),))],
    ids=["1", "2", "3"],
)
def test_a_dead_letter_in_a_file_obeys_its_schema(bad: Any) -> None:
    validate("dead-letter", to_json_line(dead_letter(bad, BadPage("not_json", "x"), None)))


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="text"),
        pytest.param({"text": None, "html": "<p>x"}, id="html"),
        pytest.param({"text": None, "body": "YQ==", "content_type": "text/html"}, id="body"),
        pytest.param({"fetched_at": 1.5, "meta": [1], "unknown": True, "id": None}, id="other-fields"),
    ],
)
def test_a_good_page_obeys_its_schema(fields: dict[str, Any]) -> None:
    validate("page", page_json(**fields))


@pytest.mark.parametrize(
    "name",
    [
        "array",
        "no-url",
        "null-url",
        "empty-url",
        "empty-id",
        "number-as-html",
        "string-as-status",
        "boolean-as-fetched-at",
        "no-body",
        "only-null-bodies",
        "two-bodies",
    ],
)
def test_a_bad_page_that_a_schema_detects_breaks_it(name: str) -> None:
    with pytest.raises(ValidationError):
        validate("page", BAD_PAGES[name][0])
