"""`serve`: the reading endpoints over a real index that must not notice."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.certificates import Authority
from tests.servers.query_api import QueryApi, start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import StoredIndex, call, new_index

A, B, C = (f"https://example.com/{name}" for name in "abc")
COPIES = tuple(f"https://copies.example/{n}" for n in range(7))
PAGES = (
    page_json("a", essay(1)),
    page_json("b", essay(1, edits=[50])),
    page_json("c", essay(2)),
    page_json("d", essay(3), id="page d"),
    page_json("short", "too short"),
    *(page_json("x", essay(4), url=url) for url in COPIES),
)
BODY_BYTES = 10_000


@pytest.fixture(scope="module")
def held(redis_server: RedisServer) -> StoredIndex:
    index = new_index(redis_server)
    index.hold(*PAGES)
    return index


@pytest.fixture(scope="module")
def api(held: StoredIndex) -> Iterator[QueryApi]:
    with start_query_api((*held.settings, f"api.max_body_bytes={BODY_BYTES}")) as serving:
        yield serving


@pytest.mark.parametrize("name", [A, B, C, "page d", "HTTPS://Example.com:443/a#top"])
def test_a_stored_page_is_answered_as_query_prints_it(held: StoredIndex, api: QueryApi, name: str) -> None:
    answer = api.get("/v1/pages", url=name)

    assert (answer.status, answer.value) == (200, held.tell("query", name))


def test_two_stored_pages_are_explained_as_explain_prints_them(held: StoredIndex, api: QueryApi) -> None:
    answer = api.ask("GET", f"/v1/explain?url={A}&url={B}", None)

    assert (answer.status, answer.value) == (200, held.tell("explain", A, B))
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


def test_nothing_is_written_whatever_is_asked(held: StoredIndex, api: QueryApi) -> None:
    before = held.keys()

    for path in (f"/v1/pages?url={A}", "/v1/pages?url=none", "/v1/hosts", f"/v1/explain?url={A}&url={B}"):
        api.get(path)
    api.post("/v1/query", page_json("new", essay(1)))

    assert held.keys() == before


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


def test_metrics_and_probes_are_served_and_the_process_stops_cleanly(held: StoredIndex) -> None:
    with start_query_api(held.settings) as serving:
        serving.get("/v1/pages", url=A)
        statuses = [serving.get(path).status for path in ("/livez", "/readyz", "/metrics")]
        code = serving.stop()

        assert (statuses, code) == ([200, 200, 200], 0)
        assert '"stopped"' in serving.log()


def test_a_state_directory_is_served_as_well(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert call("dedup", "-", "--state", state, stdin=b"\n".join(PAGES[:2])).returncode == 0

    with start_query_api((), "--state", state) as serving:
        assert serving.get("/v1/pages", url=B).value["matches"][0]["id"] == A


@pytest.mark.parametrize("source", ["file", "environment"])
def test_with_a_token_every_request_must_carry_it(held: StoredIndex, tmp_path: Path, source: str) -> None:
    file = tmp_path / "token"
    file.write_text("right\n")
    environ = {"NEARDUP_API__TOKEN": "right"} if source == "environment" else {}
    own = (f"api.token_file={file}",) if source == "file" else ()
    with start_query_api((*held.settings, *own), environ=environ) as serving:
        paths = (f"/v1/pages?url={A}", "/openapi.json", "/metrics")
        for header, status in (({}, 401), (_bearer("wrong"), 401), (_bearer("right"), 200)):
            assert [serving.get(path, header).status for path in paths] == [status] * 3
        assert serving.get("/v1/pages").headers["www-authenticate"].startswith("Bearer")
        assert serving.get("/livez").status == 200
        document = serving.get("/openapi.json", _bearer("right")).value
        assert document["security"] == [{"token": []}]
        if source == "file":
            file.write_text("new")
            assert serving.get("/openapi.json", _bearer("new")).status == 200
        assert "right" not in serving.log()


def _bearer(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_clients_show_a_certificate_where_an_authority_is_set(held: StoredIndex, tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    server, client, other = authority.sign("server"), authority.sign("client"), stranger.sign("other")
    tls = (
        f"api.tls_certificate_file={server.certificate_file}",
        f"api.tls_key_file={server.key_file}",
        f"api.tls_client_ca_file={authority.ca_file}",
        "api.host=127.0.0.1",
    )
    with start_query_api((*held.settings, *tls)) as serving:
        for identity, status in ((client, 200), (other, 0), (None, 0)):
            serving.tls = authority.client_context(identity)
            assert serving.get("/v1/pages", url=A).status == status


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--api-host", "192.0.2.1"], 2, "set api.token_file"),
        (["--set", "api.token_file=/nowhere"], 2, "cannot read the password file /nowhere"),
        (["--set", "api.token=secret"], 2, "use api.token_file or the environment variable"),
        (["--set", "api.tls_key_file=/k"], 2, "api.tls_certificate_file is not"),
        (["--redis-namespace", "nobody"], 2, "nothing is stored under"),
        (["--redis-url", "redis://127.0.0.1:1"], 3, "--redis-url"),
    ],
)
def test_what_cannot_be_served_is_reported_in_one_line(
    held: StoredIndex, words: list[str], code: int, complaint: str
) -> None:
    run = held.call("serve", *words)

    assert (run.returncode, run.stdout) == (code, b"")
    assert complaint in run.stderr.decode()
