"""The examples of docs/api.md, sent to a real `serve`."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.pipelines import essay, page_json
from tests.servers.query_api import QueryApi, start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import new_index

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```\n(curl .*)\n```\n(?:\n```json\n([^`]*)```)?", PAGE)
ERROR = "/v1/hosts?limit=0"


@pytest.fixture(scope="module")
def api(redis_server: RedisServer) -> Iterator[QueryApi]:
    index = new_index(redis_server)
    index.hold(page_json("report", essay(1)), page_json("report-copy", essay(1, edits=[50])))
    with start_query_api(index.settings) as serving:
        yield serving


def shape(value: Any) -> Any:
    """What a value is made of: names of fields, types, and the shape of a list's first item."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else type(value).__name__


def test_the_page_has_an_example_of_every_operation(api: QueryApi) -> None:
    paths = {urlsplit(next(word for word in shlex.split(curl) if "://" in word)).path for curl, _ in EXAMPLES}

    assert paths == api.get("/openapi.json").value["paths"].keys()


@pytest.mark.parametrize(("curl", "shown"), EXAMPLES, ids=[curl.partition("9465")[2] for curl, _ in EXAMPLES])
def test_an_example_is_answered_as_the_page_shows(api: QueryApi, curl: str, shown: str) -> None:
    words = shlex.split(curl)
    url = urlsplit(next(word for word in words if "://" in word))
    cluster = api.get("/v1/pages", url="https://example.com/report").value["cluster"]["id"]
    path = f"{url.path.replace('{id}', cluster)}?{url.query}"

    given = words[words.index("-d") + 1].encode() if "-d" in words else None
    answer = api.get(path) if given is None else api.post(path, given)

    assert answer.status == (422 if path == ERROR else 200)
    if shown:
        assert shape(answer.value) == shape(json.loads(shown))
