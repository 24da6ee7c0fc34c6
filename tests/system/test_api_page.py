"""The examples of docs/api.md that need nothing but an index, sent to a real `serve`."""

from collections.abc import Iterator

import pytest

from tests.api_examples import EXAMPLES, Example, shape
from tests.pipelines import essay, page_json
from tests.servers.query_api import QueryApi, start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import new_index

READING = [example for example in EXAMPLES if not (example.is_deciding or example.is_recent)]


@pytest.fixture(scope="module")
def api(redis_server: RedisServer) -> Iterator[QueryApi]:
    index = new_index(redis_server)
    index.hold(page_json("report", essay(1)), page_json("report-copy", essay(1, edits=[50])))
    with start_query_api(index.settings) as serving:
        yield serving


def test_the_page_has_an_example_of_every_operation(api: QueryApi) -> None:
    paths = api.get("/openapi.json").value["paths"]

    shown = {("get" if example.body is None else "post", example.path) for example in EXAMPLES}
    assert shown == {(method, path) for path, operations in paths.items() for method in operations}


@pytest.mark.parametrize("example", READING, ids=[f"{each.path}?{each.query}" for each in READING])
def test_an_example_is_answered_as_the_page_shows(api: QueryApi, example: Example) -> None:
    cluster = api.get("/v1/pages", url="https://example.com/report").value["cluster"]["id"]

    answer = example.ask(api, id=cluster)

    assert answer.status == (422 if example.query == "limit=0" else 200)
    if example.answer is not None:
        assert shape(answer.value) == shape(example.answer)
