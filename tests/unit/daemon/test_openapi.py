"""What the OpenAPI document promises, the structs of the answers can keep."""

from collections.abc import Iterator
from typing import get_args, get_origin, get_type_hints

import msgspec
from msgspec import UnsetType
from neardup_daemon.query_api.catalogue import (
    cluster_endpoints,
    deciding_endpoints,
    reading_endpoints,
    topic_endpoints,
)
from neardup_daemon.query_api.cluster_reading import ClusterReading
from neardup_daemon.query_api.comparing import Comparing
from neardup_daemon.query_api.deciding import Deciding
from neardup_daemon.query_api.index_reading import IndexReading
from neardup_daemon.query_api.linking import Linking
from neardup_daemon.query_api.topic_reading import TopicReading


def answers() -> list[type[msgspec.Struct]]:
    """Of all endpoints, which need nothing of what they are made with to be described."""
    endpoints = [
        *reading_endpoints(IndexReading.__new__(IndexReading), Comparing.__new__(Comparing)),
        *cluster_endpoints(ClusterReading.__new__(ClusterReading), Linking.__new__(Linking)),
        *topic_endpoints(TopicReading.__new__(TopicReading)),
        *deciding_endpoints(Deciding.__new__(Deciding)),
    ]
    return [answer for endpoint in endpoints for answer in endpoint.answers.values()]


def structs_of(described: object) -> Iterator[msgspec.inspect.StructType]:
    """Yield every struct that a type consists of."""
    if isinstance(described, msgspec.inspect.StructType):
        yield described
    for name in getattr(described, "__struct_fields__", ()):
        value = getattr(described, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, msgspec.inspect.Type | msgspec.inspect.Field):
                yield from structs_of(each)


def test_fields_that_may_be_absent_are_not_required() -> None:
    """Otherwise the document calls them required."""
    required = {
        f"{struct.cls}.{field.name}"
        for answer in answers()
        for struct in structs_of(msgspec.inspect.type_info(answer))
        for field in struct.fields
        if UnsetType in get_args(get_type_hints(get_origin(struct.cls) or struct.cls)[field.name])
        and field.required
    }

    assert required == set()
