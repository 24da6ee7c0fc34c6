"""The AsyncAPI document says what the code does, and other people's libraries read our events."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event, from_structured_event
from jsonschema import Draft202012Validator
from neardup_daemon.settings.servers import Kafka
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from neardup_stream.errors import BadPage
from neardup_stream.events import EVENT_DATA, EventName, data_schema_uri, event_type
from neardup_stream.wire.dead_letters import dead_letter
from neardup_stream.wire.events import to_message, to_structured
from tests.unit.wire.example_events import EXAMPLES, TRACE, about, event
from tests.unit.wire.records import record

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENT: dict[str, Any] = yaml.safe_load((DOCS / "asyncapi.yaml").read_text(encoding="utf-8"))
SCHEMAS = {path.name: json.loads(path.read_bytes()) for path in (DOCS / "schemas").glob("*.json")}
REGISTRY: Registry[Any] = Registry().with_resources(
    [
        *((f"schemas/{name}", DRAFT202012.create_resource(schema)) for name, schema in SCHEMAS.items()),
        *((schema["$id"], DRAFT202012.create_resource(schema)) for schema in SCHEMAS.values()),
        ("", DRAFT202012.create_resource(DOCUMENT)),
    ]
)
CHANNELS = DOCUMENT["channels"]
TRAIT = DOCUMENT["components"]["messageTraits"]["cloudEvent"]


def references(part: Any) -> list[str]:
    if isinstance(part, dict):
        own = [part["$ref"]] if "$ref" in part else []
        return own + [each for value in part.values() for each in references(value)]
    return [each for value in part for each in references(value)] if isinstance(part, list) else []


def validate(schema: dict[str, Any], instance: Any) -> None:
    Draft202012Validator(schema, registry=REGISTRY).validate(instance)


def test_every_reference_of_the_document_leads_somewhere() -> None:
    assert len(references(DOCUMENT)) > len(EVENT_DATA)
    for each in references(DOCUMENT):
        REGISTRY.resolver().lookup(each)


def test_channels_are_the_topics_of_the_settings_and_messages_the_events() -> None:
    settings = Kafka()
    topics = (settings.pages_topic, settings.events_topic, settings.dead_letters_topic)

    assert tuple(each["address"] for each in CHANNELS.values()) == topics
    assert {name: each["name"] for name, each in CHANNELS["events"]["messages"].items()} == {
        name: event_type(name) for name in EVENT_DATA
    }


@pytest.mark.parametrize("name", EVENT_DATA)
def test_each_event_obeys_the_document(name: EventName) -> None:
    written = msgspec.structs.replace(about(name, EXAMPLES[name]), index="1", trace=TRACE)
    message = to_message(written)
    described = CHANNELS["events"]["messages"][name]
    headers = {header: (value or b"").decode() for header, value in message.headers}

    validate(described["payload"], json.loads(message.value or b""))
    validate(TRAIT["headers"], headers)
    assert headers.keys() == TRAIT["headers"]["properties"].keys()
    assert described["traits"] == [{"$ref": "#/components/messageTraits/cloudEvent"}]


@pytest.mark.parametrize("name", EVENT_DATA)
def test_the_data_schema_of_an_event_is_found_by_its_uri_and_is_that_of_its_data(name: EventName) -> None:
    written = about(name, EXAMPLES[name])
    (uri,) = (
        (value or b"").decode() for header, value in to_message(written).headers if header == "ce_dataschema"
    )

    assert uri == data_schema_uri(name)
    validate({"$ref": uri}, json.loads(to_message(written).value or b""))
    with pytest.raises(Exception, match="required"):
        validate({"$ref": uri}, {})


def test_a_dead_letter_has_the_headers_of_the_document() -> None:
    letter = dead_letter(record(b"x"), BadPage("not_json", "x"), None)

    described = CHANNELS["deadLetters"]["messages"]["dead-letter"]

    validate(described["headers"], {name: (value or b"").decode() for name, value in letter.headers})


@pytest.mark.parametrize("name", EVENT_DATA)
def test_the_sdk_of_cloudevents_reads_each_event_in_both_modes(name: EventName) -> None:
    written = msgspec.structs.replace(about(name, EXAMPLES[name]), index="1")
    message = to_message(written)
    binary = KafkaMessage(
        {name: value or b"" for name, value in message.headers}, message.key, message.value or b""
    )
    headers = {"content-type": b"application/cloudevents+json"}
    structured = KafkaMessage(headers, message.key, to_structured(written))

    for read in (from_binary_event(binary), from_structured_event(structured)):
        assert (read.get_id(), read.get_source(), read.get_type()) == (
            written.id,
            written.source,
            event_type(name),
        )
        assert read.get_subject() == written.subject
        assert read.get_dataschema() == data_schema_uri(name)
        assert read.get_extension("index") == "1"
        assert read.get_data() == json.loads(message.value or b"")


def test_the_sdk_of_cloudevents_reads_a_trace() -> None:
    read = from_structured_event(
        KafkaMessage({"content-type": b"application/cloudevents+json"}, None, to_structured(event(TRACE)))
    )

    assert read.get_extension("tracestate") == "vendor=1"
