"""Redis that loses the index, while daemons run and between two runs: nothing is written after that."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import redis
from neardup_daemon.settings.settings import Settings

from neardup_stream.message import Message
from neardup_stream.stores.guarded_clusters import REMEDY
from neardup_stream.stores.redis.keys import meta_key
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.process import wait_until
from tests.servers.query_api import start_query_api
from tests.servers.redis import start_redis
from tests.system.conftest import Site
from tests.system.own_redis import Own
from tests.system.test_run import pages, publish

COUNT = 200


@pytest.fixture
def own(site: Site) -> Iterator[Own]:
    """Both, empty."""
    with start_redis() as server, redis.Redis.from_url(server.url) as client:
        site = replace(site, settings=(*site.settings, f"redis.url={server.url}"))
        site.create_topics()
        yield Own(site, client)


def finish(own: Own) -> None:
    """Let a daemon finish some pages."""
    publish(own.site, pages(COUNT, topics=50))
    with start_daemon(own.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(COUNT)
        assert daemon.stop() == 0


def refusal(own: Own) -> str:
    """Return the last line of a daemon that does not start."""
    with start_daemon(own.settings) as daemon:
        assert daemon.wait() == 2
        return daemon.log().splitlines()[-1]


def test_a_daemon_whose_index_is_emptied_says_so_once_and_writes_nothing_more(own: Own) -> None:
    publish(own.site, pages(COUNT, topics=50))
    with start_daemon(own.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(COUNT)
        daemon.wait_until_idle()
        own.client.flushall()

        publish(own.site, pages(COUNT, topics=50))
        wait_until(lambda: daemon.get("/readyz")[0] == 503, 30)

        status, reason = daemon.get("/readyz")
        said = [line for line in daemon.log_events() if line.get("dependency") == "store"]
        assert daemon.get("/livez")[0] == 200
        assert status == 503
        assert "is not there any more" in reason
        assert [line["reason"] for line in said] == ["index_lost"]
        assert own.client.dbsize() == 0


def test_a_daemon_whose_meta_record_alone_is_lost_writes_nothing_more_and_none_starts(own: Own) -> None:
    meta = meta_key(Settings.load(overrides=own.settings).redis.namespace)
    with start_daemon(own.settings) as daemon:
        daemon.wait_until_ready()
        own.client.delete(meta)
        wait_until(lambda: daemon.get("/readyz")[0] == 503, 30)
        reason = daemon.get("/readyz")[1]

        assert re.search("is not named by the meta record|lost a part of it", reason)
        assert f"{meta} is not there any more, and the index that it named is" in refusal(own)
        assert not own.client.exists(meta)


def test_a_daemon_does_not_start_where_the_group_has_committed_and_redis_knows_nothing(own: Own) -> None:
    finish(own)
    own.client.flushall()

    assert "the group has committed offsets with index" in refusal(own)


def test_nor_where_the_clusters_alone_are_lost(own: Own) -> None:
    finish(own)
    own.client.delete(*own.client.scan_iter("*{c}*"))

    assert "is not there any more" in refusal(own)


def test_nor_where_an_older_copy_was_restored_which_verify_does_not_judge_either(own: Own) -> None:
    finish(own)
    copy = {key: own.client.dump(key) or b"" for key in own.client.scan_iter()}
    publish(own.site, pages(COUNT, topics=50))
    with start_daemon(own.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(COUNT)
        assert daemon.stop() == 0
    own.client.flushall()
    for key, dumped in copy.items():
        own.client.restore(key, 0, dumped)

    assert "went back to an earlier state" in refusal(own)
    judged = own.site.call("verify")
    assert (judged.returncode, b"went back to an earlier state" in judged.stderr) == (2, True)


def test_a_new_group_may_begin_with_a_new_index(own: Own) -> None:
    finish(own)
    own.client.flushall()
    publish(own.site, [Message(key=b"new", value=page_json("new", essay(999)))])

    with start_daemon((*own.settings, f"kafka.group_id={own.site.topics[0]}-anew")) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(COUNT + 1)


def test_every_command_names_an_index_that_was_emptied_and_its_remedy_in_the_same_words(own: Own) -> None:
    finish(own)
    before = own.site.call("check")
    own.client.flushall()

    names = ("check", "status", "query https://example.com/p1", "verify", "serve", "rebuild")
    runs = {name: own.site.call(*name.split()) for name in names}
    said = {name: (run.stdout + run.stderr).decode() for name, run in runs.items()}

    assert b"index: agrees with the committed offsets of group" in before.stdout
    assert "the group has committed offsets with index" in said["check"]
    assert {name: run.returncode for name, run in runs.items()} == dict.fromkeys(names, 2)
    for words in ("nothing is stored under redis.namespace", "is not there any more", REMEDY):
        assert [name for name in names if words not in said[name]] == []
    assert own.client.dbsize() == 0


def test_an_idle_daemon_and_a_query_api_notice_that_the_index_was_emptied(own: Own) -> None:
    publish(own.site, pages(COUNT, topics=50))
    with start_daemon(own.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(COUNT)
        daemon.wait_until_idle()
        with start_query_api(own.settings) as api:
            own.client.flushall()

            answers = [
                api.get("/v1/pages", url="https://example.com/p1"),
                api.get("/v1/clusters"),
                api.get("/v1/hosts"),
                api.post("/v1/compare", b'{"first": {"url": "https://a/"}, "second": {"url": "https://b/"}}'),
            ]
            wait_until(lambda: daemon.get("/readyz")[0] == 503, 30)

        assert [answer.status for answer in answers] == [503] * len(answers)
        for said in (daemon.get("/readyz")[1], *(answer.value["detail"] for answer in answers)):
            assert f"is not there any more; {REMEDY}" in said


def test_the_remedy_is_named_where_the_clusters_alone_are_lost(own: Own) -> None:
    finish(own)
    own.client.delete(*own.client.scan_iter("*{c}*"))

    check = own.site.call("check")
    writing = [own.site.call(*words) for words in (["rebuild"], ["rebuild", "--into", "20000"], ["expire"])]

    assert [run.returncode for run in (check, *writing)] == [2] * 4
    for said in (check.stdout, *(run.stderr for run in writing)):
        assert b"is not there any more; stop all daemons and run 'neardup-stream recover'" in said


def test_after_a_recovery_that_did_not_end_another_one_is_asked_for_until_one_ends(own: Own) -> None:
    finish(own)
    namespace = Settings.load(overrides=own.settings).redis.namespace
    meta = meta_key(namespace)
    token = own.client.hget(meta, "token")
    assert isinstance(token, bytes)
    own.client.hset(meta, "corrected_to", b"%0*x" % (len(token), int(token, 16) + 1))

    assert "did not end, and subscribers have some of its corrections" in refusal(own)
    check = own.site.call("check")
    assert check.returncode == 2
    assert b"did not end" in check.stdout

    assert own.site.call("recover").returncode == 0
    assert own.site.call("check").returncode == 0
    finish(own)
