"""Generate the OpenAPI document from the endpoints and the structs that they take and return."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from neardup_daemon.query_api.endpoints import Endpoint
from neardup_daemon.query_api.problems import PROBLEM_TYPE, Problem
from neardup_stream.version import __version__
from neardup_stream.wire.schemas import BODIES, described

__all__ = ["openapi_document"]

_REF: Final = "#/components/schemas/{name}"

_PROBLEMS: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
"""Of every operation."""

_BODY_PROBLEMS: Final = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
"""Of every operation with a body."""


def openapi_document(endpoints: Sequence[Endpoint], *, needs_token: bool) -> dict[str, Any]:
    """Return the document that describes the endpoints.

    Args:
        endpoints: all of them.
        needs_token: whether requests must carry a token.
    """
    structs = _structs(endpoints)
    refs, components = msgspec.json.schema_components(structs, ref_template=_REF)
    schemas = {name: described(schema) for name, schema in components.items()}
    if "PageInput" in schemas:
        schemas["PageInput"]["oneOf"] = [
            {"required": [name], "properties": {name: {"type": "string"}}} for name in BODIES
        ]
    by_struct = dict(zip(structs, refs, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_struct)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "neardup-stream query API",
            "version": __version__,
            "description": "Near-duplicate pages and their clusters, as the daemons have decided them.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if needs_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _structs(endpoints: Sequence[Endpoint]) -> list[type[msgspec.Struct]]:
    found: dict[type[msgspec.Struct], None] = {Problem: None}
    for endpoint in endpoints:
        if endpoint.body is not None:
            found[endpoint.body] = None
        found |= dict.fromkeys(endpoint.answers.values())
    return list(found)


def _operation(endpoint: Endpoint, refs: Mapping[type[msgspec.Struct], Any]) -> dict[str, Any]:
    answers = {
        str(status.value): {
            "description": status.phrase,
            "content": {"application/json": {"schema": refs[struct]}},
        }
        for status, struct in endpoint.answers.items()
    }
    own = (*_PROBLEMS, *(_BODY_PROBLEMS if endpoint.body else ()), *endpoint.problems)
    problem = {"content": {PROBLEM_TYPE: {"schema": refs[Problem]}}}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": _parameters(endpoint),
        "responses": answers
        | {str(status.value): {"description": status.phrase, **problem} for status in sorted(own)},
    }
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": refs[endpoint.body]}},
        }
    return operation


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    (_,), components = msgspec.json.schema_components([endpoint.params], ref_template=_REF)
    schema = components[endpoint.params.__name__]
    return [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in endpoint.path else "query",
            "required": name in schema.get("required", ()),
            "description": each.pop("description", ""),
            "schema": each,
        }
        for name, each in schema["properties"].items()
    ]
