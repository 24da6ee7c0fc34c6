"""Requests that Schemathesis generates from the OpenAPI document, valid and invalid, and their answers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.query_api import QueryApi, query_api_at
from tests.servers.redis import RedisServer
from tests.system.conftest import new_site

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
EXAMPLES = 15
A, B = "https://example.com/a", "https://example.com/b"
NAMES = (
    "page",
    "cluster",
    "links",
    "clusters",
    "merges",
    "query",
    "explain",
    "compare",
    "hosts",
    "dead_letters",
    "decide",
    "decision",
)
ANSWERED: Mapping[str, Mapping[str, Any]] = {
    "page": {"query": {"url": B}},
    "clusters": {"query": {"limit": 5}},
    "query": {"body": {"url": "https://example.com/new", "text": essay(1)}},
    "explain": {"query": {"url": [A, B]}},
    "compare": {
        "body": {"first": {"url": A}, "second": {"url": "https://example.com/new", "text": essay(1)}}
    },
    "hosts": {"query": {}},
    "merges": {"query": {"limit": 1}},
    "dead_letters": {"query": {}},
    "decide": {"body": {"url": "https://example.com/c", "text": essay(1, edits=[70]), "meta": {"a": [1]}}},
    "decision": {"path_parameters": {"partition": 0, "offset": 1}},
}
"""Requests that are answered with 200, but those of a cluster, whose id is not known before."""


class Contract:
    """A server and what it says of itself."""

    def __init__(self, api: QueryApi) -> None:
        self.api = api
        self.url = f"http://127.0.0.1:{api.port}"
        schema = schemathesis.openapi.from_dict(api.get("/openapi.json").value)
        schema.validate()
        found = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
        self.operations = {each.definition.raw["operationId"]: each for each in found}

    def check(self, case: Case[Any]) -> int:
        """Send a request and hold its answer to the document; its status."""
        response = case.call(base_url=self.url)
        case.validate_response(response, checks=CHECKS)
        return response.status_code


@pytest.fixture(scope="module")
def contract(kafka_broker: KafkaBroker, redis_server: RedisServer) -> Iterator[Contract]:
    """A daemon that answers queries, with a page and a copy of it."""
    site = new_site(kafka_broker, redis_server, "contract", "contract")
    site.create_topics()
    own = ("api.enabled=true", "api.port=0", "api.decision_kept_seconds=3600")
    with start_daemon((*site.settings, *own)) as daemon:
        daemon.wait_until_ready()
        (port,) = [line["port"] for line in daemon.log_events() if line["event"] == "api_listening"]
        assert isinstance(port, int)
        api = query_api_at(port)
        for page in (page_json("a", essay(1)), page_json("b", essay(1, edits=[50]))):
            assert api.post("/v1/pages", page).status == 200
        yield Contract(api)


def generated(contract: Contract, name: str, mode: GenerationMode) -> Callable[[], None]:
    """Return the test of an operation with generated requests."""

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=contract.operations[name].as_strategy(generation_mode=mode))
    def test(case: Case[Any]) -> None:
        contract.check(case)

    return test


def test_the_document_names_the_operations_that_are_tried(contract: Contract) -> None:
    assert sorted(contract.operations) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_as_the_document_says(contract: Contract, name: str) -> None:
    if name in {"cluster", "links"}:
        cluster = contract.api.get("/v1/pages", url=A).value["cluster"]
        request: dict[str, Any] = {"path_parameters": {"id": cluster["id"]}, "query": {"limit": 1}}
    else:
        request = dict(ANSWERED[name])

    assert contract.check(contract.operations[name].Case(**request)) == 200


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_answers_of_generated_requests_are_as_the_document_says(
    contract: Contract, name: str, mode: GenerationMode
) -> None:
    generated(contract, name, mode)()
