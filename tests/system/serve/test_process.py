"""`serve`: its start, its probes, its access rules and its stop."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import redis

from tests.servers.certificates import Authority
from tests.servers.process import wait_until
from tests.servers.query_api import start_query_api
from tests.system.conftest import StoredIndex, call
from tests.system.serve.served_pages import PAGES, A, B

STORED_SECONDS = 60


def test_metrics_and_probes_are_served_and_the_process_stops_cleanly(held: StoredIndex) -> None:
    with start_query_api(held.settings) as serving:
        serving.get("/v1/pages", url=A)
        statuses = [serving.get(path).status for path in ("/livez", "/readyz", "/metrics")]
        code = serving.stop()

        assert (statuses, code) == ([200, 200, 200], 0)
        assert '"stopped"' in serving.log()


def test_with_wait_it_is_live_and_not_ready_until_something_is_stored(index: StoredIndex) -> None:
    with start_query_api(index.settings, "--wait", until="index_awaited") as serving:
        wait_until(lambda: serving.get("/livez").status == 200, STORED_SECONDS)
        statuses = [serving.get(path).status for path in ("/readyz", "/openapi.json", "/metrics")]
        refused = serving.get("/v1/pages", url=A)

        index.hold(PAGES[0])

        assert statuses == [503, 503, 200]
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        serving.wait_until_ready(STORED_SECONDS)
        assert serving.get("/v1/pages", url=A).status == 200
        assert serving.stop() == 0


def test_with_wait_an_index_is_opened_once_so_redis_may_end_right_after(held: StoredIndex) -> None:
    with redis.Redis.from_url(held.server.url) as admin:
        counts = [admin.info("stats")["total_connections_received"]]
        for flags in ((), ("--wait",)):
            with start_query_api(held.settings, *flags):
                counts.append(admin.info("stats")["total_connections_received"])

    before, opened, awaited = counts
    assert awaited - opened == opened - before


def test_waiting_ends_cleanly(index: StoredIndex) -> None:
    unreachable = (*index.settings, "redis.url=redis://127.0.0.1:1")
    with start_query_api(unreachable, "--wait", until="index_awaited") as serving:
        assert serving.stop() == 0


def test_a_state_directory_is_served_as_well(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert call("dedup", "-", "--state", state, stdin=b"\n".join(PAGES[:2])).returncode == 0

    with start_query_api((), "--state", state) as serving:
        assert serving.get("/v1/pages", url=B).value["matches"][0]["id"] == A
        of_topics = [serving.get(path) for path in ("/v1/merges", "/v1/dead-letters", "/v1/decisions/0/0")]
        assert [answer.status for answer in (*of_topics, serving.post("/v1/pages", PAGES[0]))] == [501] * 4
        assert "needs Kafka" in of_topics[0].value["detail"]


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
        (["--set", "api.token_file=/nowhere"], 2, "cannot read api.token_file /nowhere"),
        (["--set", "api.token=secret"], 2, "use api.token_file or the environment variable"),
        (["--set", "api.tls_key_file=/k"], 2, "api.tls_certificate_file is not"),
        (["--redis-namespace", "unknown"], 2, "nothing is stored under"),
        (["--redis-url", "redis://127.0.0.1:1"], 3, "--redis-url"),
    ],
)
def test_what_cannot_be_served_is_reported_in_one_line(
    held: StoredIndex, words: list[str], code: int, complaint: str
) -> None:
    run = held.call("serve", *words)

    assert (run.returncode, run.stdout) == (code, b"")
    assert complaint in run.stderr.decode()
