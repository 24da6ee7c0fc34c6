"""`serve`: the reading endpoints over a real index that must not notice."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection

import pytest

from tests.pipelines import essay, page_json
from tests.servers.query_api import QueryApi, start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import StoredIndex, new_index
from tests.system.serve.served_pages import COPIES, A, B, C

BODY_BYTES = 10_000


@pytest.fixture(scope="module")
def api(held: StoredIndex) -> Iterator[QueryApi]:
    with start_query_api((*held.settings, f"api.max_body_bytes={BODY_BYTES}")) as serving:
        yield serving


@pytest.mark.parametrize("name", [A, B, C, "page d", "HTTPS://Example.com:443/a#top"])
def test_a_stored_page_is_answered_as_query_prints_it(held: StoredIndex, api: QueryApi, name: str) -> None:
    answer = api.get("/v1/pages", url=name)

    assert (answer.status, answer.value) == (200, held.json_of("query", name))


def test_two_stored_pages_are_explained_as_explain_prints_them(held: StoredIndex, api: QueryApi) -> None:
    answer = api.ask("GET", f"/v1/explain?url={A}&url={B}", None)

    assert (answer.status, answer.value) == (200, held.json_of("explain", A, B))
    assert answer.value["words"]


@pytest.mark.parametrize(
    ("text", "verdict", "matched"),
    [(essay(3), "exact", "page d"), (essay(1, edits=[150]), "near", A), ("too short", "undecided", None)],
)
def test_a_given_page_gets_a_verdict_with_its_evidence(
    api: QueryApi, text: str, verdict: str, matched: str | None
) -> None:
    answer = api.post("/v1/query", page_json("new", text))

    assert (answer.status, answer.value["verdict"]) == (200, verdict)
    assert not answer.value["page"]["is_stored"]
    ids = [match["id"] for match in answer.value["matches"]]
    assert (matched in ids) if matched else not ids


def test_a_given_page_like_no_other_is_unique(api: QueryApi) -> None:
    answer = api.post("/v1/query", page_json("new", essay(99)))

    assert (answer.value["verdict"], answer.value["matches"], answer.value["cluster"]) == ("unique", [], None)


@pytest.mark.parametrize("limit", [1, 2, 6, 7, 8])
def test_the_members_of_a_cluster_come_in_pages_each_once(api: QueryApi, limit: int) -> None:
    cluster = api.get("/v1/pages", url=COPIES[3]).value["cluster"]
    path = f"/v1/clusters/{cluster['id']}"
    found: list[Mapping[str, object]] = []
    after = ""
    while True:
        value = api.get(f"{path}?limit={limit}{after}").value
        assert len(value["members"]) <= limit
        assert {name: value[name] for name in ("id", "epoch", "size", "representative")} == cluster
        found += value["members"]
        if "next" not in value:
            break
        after = f"&after={value['next']}"

    assert [member["url"] for member in found] == list(COPIES)
    assert [member["url"] for member in found if member["is_representative"]] == [COPIES[0]]


@pytest.mark.parametrize(("limit", "pairs"), [(1, 0), (2, 1), (7, 21), (200, 21)])
def test_the_first_pages_of_a_cluster_are_linked_through_the_representative(
    api: QueryApi, limit: int, pairs: int
) -> None:
    cluster = api.get("/v1/pages", url=COPIES[3]).value["cluster"]

    value = api.get(f"/v1/clusters/{cluster['id']}/links", limit=limit).value

    urls = [page["url"] for page in value["pages"]]
    assert (urls, value["size"], value["matching_pairs"]) == (list(COPIES[:limit]), 7, pairs)
    assert len(value["links"]) == pairs
    tree = [(link["first"], link["second"]) for link in value["links"] if link["is_tree"]]
    assert tree == [(0, at) for at in range(1, len(urls))]
    assert all((link["kind"], link["is_firm"]) == ("exact", True) for link in value["links"])


def comparing(first: Mapping[str, object], second: Mapping[str, object]) -> bytes:
    return json.dumps({"first": first, "second": second}).encode()


def test_two_stored_pages_are_compared_as_they_are_explained(api: QueryApi) -> None:
    answer = api.post("/v1/compare", comparing({"url": A}, {"url": B}))

    assert (answer.status, answer.value) == (200, api.ask("GET", f"/v1/explain?url={A}&url={B}", None).value)


def test_a_given_page_is_compared_with_a_stored_one_and_its_text_shown(api: QueryApi) -> None:
    given = {"url": "https://example.com/new", "text": essay(1, edits=[150])}

    value = api.post("/v1/compare", comparing({"url": A}, given)).value

    assert (value["verdict"], value["is_match"], "first_text" in value) == ("near", True, False)
    (line,) = value["second_text"]["lines"]
    assert "".join(part["text"] for part in line["parts"]) == given["text"]


def test_what_two_given_pages_share_is_counted_and_marked(api: QueryApi) -> None:
    first, second = (
        {"url": f"https://new.example/{at}", "text": text}
        for at, text in enumerate((essay(5), essay(5, edits=[9])))
    )

    value = api.post("/v1/compare", comparing(first, second)).value

    marks = [[part["text"].count(" ") for part in line["parts"]] for line in value["first_text"]["lines"]]
    assert marks == [[8, 2, 189]]
    assert value["exact"]["common_count"] == 195
    assert (value["verdict"], value["clusters"]) == ("near", [None, None])


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"rubbish", 400, ""),
        (b'{"x":' + b"[" * 9_000, 422, "x"),
        (b"{}", 422, "first"),
        (comparing({"url": A}, {"url": B, "body": "YQ=="}), 422, "second.body"),
        (comparing({"url": A}, {}), 422, "second.url"),
        (comparing({"url": A}, {"url": ""}), 422, "second.url"),
        (comparing({"url": "none"}, {"url": A}), 404, "first.url"),
        (comparing({"url": A}, {"url": "", "text": "a"}), 422, "second.url"),
        (comparing({"url": A}, {"url": "https://[::1/", "text": "a"}), 422, "second"),
        (comparing({"url": A}, {"url": B, "text": "a", "html": "b"}), 422, "second"),
        (comparing({"url": A}, {"url": B, "text": 7}), 422, "second.text"),
    ],
)
def test_a_bad_comparison_is_refused_with_its_field(
    api: QueryApi, body: bytes, status: int, field: str
) -> None:
    answer = api.post("/v1/compare", body)

    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert [error["field"] for error in answer.value["errors"]] == [field]


def test_a_page_that_stands_alone_is_a_cluster_of_one(api: QueryApi) -> None:
    cluster = api.get("/v1/pages", url=C).value["cluster"]

    value = api.get(f"/v1/clusters/{cluster['id']}").value

    assert (value["size"], [member["url"] for member in value["members"]]) == (1, [C])


def test_hosts_and_the_largest_clusters_are_counted(api: QueryApi) -> None:
    hosts, clusters = api.get("/v1/hosts").value, api.get("/v1/clusters", limit=1).value

    counts = [(host["host"], host["duplicates"], host["representatives"]) for host in hosts["hosts"]]
    assert counts == [("copies.example", 6, 1), ("example.com", 1, 1)]
    assert [host["frame"]["site"] for host in hosts["hosts"]] == ["copies.example", "example.com"]
    assert (hosts["is_complete"], hosts["pages"]) == (True, 9)
    assert [cluster["size"] for cluster in clusters["largest"]] == [7]
    assert clusters["clusters"] == 2


def test_clusters_that_are_one_since_they_were_surveyed_are_listed_once(redis_server: RedisServer) -> None:
    index = new_index(redis_server)
    one, other = range(30), range(100, 130)  # too many words to be alike without a page between them
    texts = [essay(1, edits) for edits in (one, [*one, 60], other, [*other, 60])]
    index.hold(*(page_json(f"p{number}", text) for number, text in enumerate(texts)))

    with start_query_api(index.settings) as api:
        before = api.get("/v1/clusters").value["largest"]
        index.hold(page_json("between", essay(1)))
        after = api.get("/v1/clusters").value["largest"]

    assert [cluster["size"] for cluster in before] == [2, 2]
    assert [cluster["size"] for cluster in after] == [5]


def test_nothing_is_written_whatever_is_asked(held: StoredIndex, api: QueryApi) -> None:
    before = held.keys(f"{held.namespace}:*")

    for path in (f"/v1/pages?url={A}", "/v1/pages?url=none", "/v1/hosts", f"/v1/explain?url={A}&url={B}"):
        api.get(path)
    api.post("/v1/query", page_json("new", essay(1)))
    api.post("/v1/compare", comparing({"url": A}, {"url": "https://example.com/new", "text": essay(1)}))

    assert held.keys(f"{held.namespace}:*") == before


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("/v1/pages", 422, "url"),
        ("/v1/pages?url=", 422, "url"),
        ("/v1/pages?url=a&url=b", 422, "url"),
        ("/v1/pages?url=a&colour=red", 422, "colour"),
        ("/v1/pages?url=nowhere", 404, "url"),
        ("/v1/explain?url=a", 422, "url"),
        ("/v1/explain?url=nowhere&url=elsewhere", 404, "url"),
        ("/v1/clusters/rubbish", 422, "id"),
        ("/v1/clusters/00000000000000ff.99999999999", 422, "id"),
        ("/v1/clusters/00000000000000ff.9999999999", 422, "id"),
        ("/v1/clusters/00000000000000ff.3", 404, "id"),
        ("/v1/clusters/00000000000000ff.3/links", 404, "id"),
        ("/v1/clusters/00000000000000ff.3/links?limit=201", 422, "limit"),
        ("/v1/merges?limit=0", 422, "limit"),
        ("/v1/dead-letters?limit=1001", 422, "limit"),
        ("/v1/hosts?limit=0", 422, "limit"),
        ("/v1/hosts?limit=1001", 422, "limit"),
        ("/v1/hosts?limit=many", 422, "limit"),
    ],
)
def test_a_bad_parameter_is_named_in_a_problem(api: QueryApi, path: str, status: int, field: str) -> None:
    answer = api.get(path)

    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.value["status"] == status
    assert [error["field"] for error in answer.value["errors"]] == [field]


def test_of_a_page_that_is_not_stored_the_call_that_takes_it_is_named(api: QueryApi) -> None:
    asked = api.get("/v1/pages", url="nowhere")
    explained = api.get("/v1/explain?url=nowhere&url=elsewhere")
    compared = api.post("/v1/compare", comparing({"url": "nowhere"}, {"url": A}))

    not_stored = (
        "no page 'nowhere' is stored; a page with an id of its own is found by that, and one that is not"
        " stored"
    )
    assert asked.value["detail"] == f"url: {not_stored} can be given to POST /v1/query"
    assert explained.value["detail"] == f"url: {not_stored} can be given to POST /v1/compare"
    assert compared.value["detail"] == f"first.url: {not_stored} needs html or text beside its url"


def test_what_is_no_cluster_id_is_refused_with_an_example(api: QueryApi) -> None:
    answer = api.get("/v1/clusters/rubbish")

    assert answer.value["detail"] == "id: is not of the form of 00f1e2d3c4b5a697.1"


def test_a_cursor_of_another_cluster_is_refused(api: QueryApi) -> None:
    one, other = (api.get("/v1/pages", url=url).value["cluster"]["id"] for url in (A, COPIES[0]))
    after = api.get(f"/v1/clusters/{one}", limit=1).value["next"]

    for cursor in (after, after[:-4], "rubbish!"):
        answer = api.get(f"/v1/clusters/{other}", after=cursor)
        assert (answer.status, answer.value["errors"][0]["field"]) == (422, "after")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"rubbish", 400, ""),
        (b"{}", 422, "url"),
        (b'{"url": "https://example.com/"}', 422, ""),
        (b'{"url": "https://example.com/", "text": 7}', 422, "text"),
        (b'{"url": "https://example.com/", "text": "a", "html": "b"}', 422, ""),
        (
            b'{"url": "https://example.com/", "body": "aGk=", "content_type": "image/png"}',
            422,
            "content_type",
        ),
    ],
)
def test_a_bad_page_is_refused_with_its_field(api: QueryApi, body: bytes, status: int, field: str) -> None:
    answer = api.post("/v1/query", body)

    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert [error["field"] for error in answer.value["errors"]] == [field]


def test_a_message_names_its_field_once(api: QueryApi) -> None:
    answer = api.post("/v1/query", b'{"url": "https://example.com/", "text": "a", "fetched_at": 1e20}')

    message = "1e+20 s is outside the years 1970 to 9999 (wrong_type)"
    assert answer.value["errors"] == [{"field": "fetched_at", "message": message}]
    assert answer.value["detail"] == f"fetched_at: {message}"


def test_a_body_that_is_announced_as_too_large_is_not_waited_for(api: QueryApi) -> None:
    announced = {"Content-Length": str(BODY_BYTES + 1), "Content-Type": "application/json"}
    connection = HTTPConnection("127.0.0.1", api.port, timeout=60)
    with closing(connection):
        connection.request("POST", "/v1/query", headers=announced)
        assert connection.getresponse().status == 413


@pytest.mark.parametrize(("size", "status"), [(BODY_BYTES, 200), (BODY_BYTES + 1, 413)])
def test_a_body_may_have_as_many_bytes_as_the_setting_says(api: QueryApi, size: int, status: int) -> None:
    page = page_json("new", essay(1))

    assert api.post("/v1/query", page + b" " * (size - len(page))).status == status


def test_what_is_no_json_is_refused_by_its_type(api: QueryApi) -> None:
    page = page_json("new", essay(1))

    assert api.post("/v1/query", page, {"Content-Type": "text/plain"}).status == 415


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/nothing", 404), ("DELETE", "/v1/pages", 405)]
)
def test_what_does_not_exist_is_a_problem_too(api: QueryApi, method: str, path: str, status: int) -> None:
    answer = api.ask(method, path, None)

    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")


@pytest.mark.parametrize(
    ("host", "status"), [("localhost", 200), ("127.0.0.1:9", 200), ("[::1]:80", 200), ("evil.example", 421)]
)
def test_without_a_token_only_requests_to_this_machine_are_answered(
    api: QueryApi, host: str, status: int
) -> None:
    assert api.get("/openapi.json", {"Host": host}).status == status
