"""An index that Redis lost in three ways, and `recover`: events and clusters agree, no text is given up."""

import asyncio
import shlex
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import ConfigError
from neardup_stream.fold import Fold
from neardup_stream.message import Message
from neardup_stream.wire.events import from_message
from tests.chaos.crawl import crawl
from tests.chaos.fleet import serving
from tests.chaos.judging import stored_partition, violations, wait_until_quiet
from tests.chaos.moving_crawl import expected_partition, families_of_pages, family_of
from tests.kafka_topics import delete_below
from tests.servers.daemon import start_daemon
from tests.servers.process import is_paused, wait_until
from tests.servers.program import piped_program
from tests.servers.redis import start_redis
from tests.system.conftest import Site
from tests.system.own_redis import DAEMONS, PARTITIONS, QUIET_SECONDS, Own, open_own
from tests.system.test_run import publish

RECORDS = 800
SHORT_SESSION = "kafka.session_timeout_seconds=3"  # the group has members until then, and `recover` waits


@pytest.fixture
def own(site: Site) -> Iterator[Own]:
    """Both, empty."""
    with start_redis() as server, open_own(site, server) as own:
        yield own


def folded(events: Sequence[Message]) -> Fold:
    fold = Fold()
    for event in events:
        fold.feed(from_message(event))
    return fold


def page_of(message: Message) -> str:
    return (message.key or b"").decode()


def deletions_for_another_text(
    events: Sequence[Message], messages: Sequence[Message]
) -> Iterator[tuple[int, str, str | None]]:
    """Prefixes of the events after which a page may be deleted for one that never had its text.

    Only of pages whose text never leaves its family: of others a subscriber cannot know which text is meant.
    """
    families: defaultdict[str, set[str | None]] = defaultdict(set)
    for message in messages:
        families[page_of(message)].add(family_of(message))
    steady = {page: next(iter(found)) for page, found in families.items() if len(found) == 1}
    fold = Fold()
    for number, event in enumerate(events):
        fold.feed(from_message(event))
        for page in fold.deletable() & steady.keys():
            cluster_id = fold.cluster_of(page)
            representative = fold.representative(cluster_id) if cluster_id is not None else None
            if representative is None or steady[page] not in families[representative]:
                yield number, page, representative


def check(own: Own, messages: Sequence[Message]) -> list[Message]:
    """Everything agrees; returns the events."""
    events = own.site.messages(own.site.topics[1])
    fold = folded(events)
    expected = expected_partition(messages)
    assert violations(own.settings) == []
    assert frozenset(fold.clusters().values()) == expected
    assert stored_partition(own.settings) == expected
    assert list(deletions_for_another_text(events, messages)) == []
    return events


@pytest.mark.timeout(900)
def test_an_index_that_is_lost_thrice_is_recovered_and_subscribers_are_never_misled(own: Own) -> None:
    messages = crawl(RECORDS, seed=12)
    quarter = RECORDS // 4
    parts = [messages[at : at + quarter] for at in range(0, RECORDS, quarter)]

    # Emptied while daemons run, with pages in flight.
    publish(own.site, parts[0])
    with ExitStack() as stack:
        daemons = serving(stack, (*own.settings, SHORT_SESSION), DAEMONS)
        wait_until_quiet(own.settings, QUIET_SECONDS)
        publish(own.site, parts[1])
        own.client.flushall()
        wait_until(lambda: all(daemon.get("/readyz")[0] == 503 for daemon in daemons), QUIET_SECONDS)
        for daemon in daemons:
            daemon.signal(signal.SIGKILL)
    assert "run 'neardup-stream recover'" in own.refusal()
    wait_until(lambda: own.site.call("recover").returncode == 0, QUIET_SECONDS)
    own.finish([])
    check(own, messages[: 2 * quarter])

    # An older copy restored.
    copy = own.copy()
    own.finish(parts[2])
    own.put_back(copy)
    assert "went back to an earlier state" in own.refusal()
    own.recover()
    check(own, messages[: 3 * quarter])

    # The clusters alone go back; the page records are as they were.
    copy = own.copy("*{c}*")
    own.finish(parts[3])
    own.put_back(copy, "*{c}*")
    assert "went back to an earlier state" in own.refusal()
    own.recover()
    own.finish([])

    events = check(own, messages)
    assert len({from_message(event).index for event in events}) == 4
    verified = own.site.call("verify")
    assert verified.returncode == 0, verified.stdout.decode() + verified.stderr.decode()


def test_with_unique_events_every_page_that_is_no_duplicate_has_one_after_a_recovery(own: Own) -> None:
    own = Own(replace(own.site, settings=(*own.settings, "events.unique=true")), own.client)
    messages = crawl(RECORDS // 8, seed=12)
    own.finish(messages)
    own.client.flushall()

    own.recover()

    check(own, messages)


def test_pages_that_were_published_and_not_committed_are_judged_once_daemons_run(own: Own) -> None:
    messages = crawl(RECORDS // 8, seed=12)
    own.finish(messages)
    own.commit(5)
    own.client.flushall()

    said = own.recover()
    own.finish([])

    assert "20 records judged again" in said
    assert f"not committed yet: {len(messages) - 20} records, to be judged by daemons next" in said
    assert "published as undecided (lost), with no record among those judged again" in said
    assert "gone from the topic" not in said
    check(own, messages)


def test_a_recovery_that_was_killed_while_it_published_leaves_no_page_without_a_correction(own: Own) -> None:
    own.finish(crawl(2 * RECORDS, seed=12))  # more corrections than are sent at once
    events = own.site.topics[1]
    before = folded(own.site.messages(events))
    held = frozenset[str]().union(*before.clusters().values())
    own.commit(100)
    own.client.flushall()

    killed = own.site.call("recover", settings=["failpoints.kill=after events.send 1"])
    first = folded(own.site.messages(events))
    said = own.recover()
    second = folded(own.site.messages(events))
    said_again = own.recover()

    assert killed.returncode == -signal.SIGKILL
    assert before.index < first.index < second.index
    unnamed = [page for page in held if not first.version_of(page)]
    assert unnamed
    assert [page for page in unnamed if not second.version_of(page)] == []
    assert f"{len(unnamed)} pages that subscribers held in clusters" in said
    assert "that subscribers held in clusters" not in said_again


def test_messages_of_the_events_topic_that_are_no_events_are_counted(own: Own) -> None:
    own.finish(crawl(RECORDS // 8, seed=12))
    own.client.flushall()
    events = own.site.topics[1]
    publish(replace(own.site, topics=(events, *own.site.topics[1:])), [Message(key=None, value=b"rubbish")])

    assert f"1 message of {events} could not be read as events" in own.recover()


def test_events_that_are_gone_are_named_and_each_page_has_one_where_that_is_asked_for(own: Own) -> None:
    messages = crawl(RECORDS // 8, seed=12)
    own.finish(messages)
    own.client.flushall()
    events = own.site.topics[1]
    end = len(own.site.messages(events))
    asyncio.run(delete_below(own.site.broker.bootstrap_servers, events, end, 1))

    said = own.recover()
    corrected = folded(own.site.messages(events))
    again = own.site.call("recover", settings=["events.unique=true", "events.undecided=true"])
    renamed = folded(own.site.messages(events))

    pages = families_of_pages(messages)
    assert f"partition 0 of {events}: the events before offset {end} are gone" in said
    assert [page for page in pages if not corrected.version_of(page)]
    assert again.returncode == 0
    assert [page for page in pages if not renamed.version_of(page)] == []


def test_an_index_that_is_lost_before_the_first_commit_is_recovered(own: Own) -> None:
    messages = crawl(RECORDS // 8, seed=12)
    publish(own.site, messages)
    with start_daemon((*own.settings, SHORT_SESSION, "failpoints.kill=before events.send 1")) as daemon:
        assert daemon.wait() == -signal.SIGKILL
    own.client.flushall()
    assert "the group has committed offsets with index" in own.refusal()

    wait_until(lambda: own.site.call("recover").returncode == 0, QUIET_SECONDS)

    own.finish([])
    check(own, messages)


def test_a_recovery_that_is_refused_leaves_the_index_and_nothing_of_earlier_ones(own: Own) -> None:
    messages = crawl(RECORDS // 8, seed=12)
    own.finish(messages)
    name = Settings.load(overrides=own.settings).redis.namespace
    abandoned = f"{name}:0a1b2c.345678:{{c}}:ranks"
    own.client.set(abandoned, 7)

    of_another_group = own.site.call("recover", settings=["kafka.group_id=mistyped"])
    by_another_policy = own.site.call("recover", settings=["verdict.near_resemblance=0.6"])

    assert [of_another_group.returncode, by_another_policy.returncode] == [2, 2]
    assert "group 'mistyped' has committed no offset" in of_another_group.stderr.decode()
    assert "are judged with other settings" in by_another_policy.stderr.decode()
    assert not own.client.exists(abandoned)
    check(own, messages)


def test_a_topic_that_is_missing_is_named(site: Site) -> None:
    refused = site.call("recover", settings=["kafka.pages_topic=mistyped"])

    assert refused.returncode == 2
    assert b"there is no topic mistyped" in refused.stderr


def test_pages_that_redis_has_and_the_topic_has_no_more_are_given_up_only_where_that_is_accepted(
    own: Own,
) -> None:
    own.finish(crawl(RECORDS // 8, seed=12))
    before = own.copy()
    asyncio.run(delete_below(own.site.broker.bootstrap_servers, own.site.topics[0], 15, PARTITIONS))

    refused = own.site.call("recover")
    after = own.copy()
    own.client.delete(*own.client.scan_iter("*:meta"))
    without_meta = own.site.call("recover")
    accepted = own.site.call("recover", "--accept-loss")

    assert [refused.returncode, without_meta.returncode] == [2, 2]
    assert "the others would be lost with the former index" in refused.stderr.decode()
    assert "lost what describes an index that is still there" in without_meta.stderr.decode()
    assert {key for key in after if b":recovering" not in key} == set(before)
    assert accepted.returncode == 0
    assert "partition 0: the records before offset 15 are gone" in accepted.stdout.decode()


def test_a_signal_ends_a_recovery_and_its_lease(own: Own) -> None:
    messages = crawl(RECORDS // 8, seed=12)
    own.finish(messages)
    settings = (*own.settings, "failpoints.stop=before records.replace")
    overrides = [word for setting in settings for word in ("--set", setting)]
    with piped_program(["recover", *overrides]) as run:
        wait_until(lambda: is_paused(run.child.pid), 60)
        (lease,) = own.client.scan_iter("*:recovering")
        run.child.send_signal(signal.SIGTERM)
        run.child.send_signal(signal.SIGCONT)
        code, log = run.child.wait(60), run.stderr.read()

    assert code == 128 + signal.SIGTERM
    assert b"Traceback" not in log
    assert not own.client.exists(lease)
    own.recover()
    check(own, messages)


def test_keys_that_recover_may_not_look_for_are_named_for_another_user(own: Own) -> None:
    messages = crawl(RECORDS // 8, seed=12)
    own.finish(messages)
    admin: Any = own.client
    admin.execute_command("ACL", "SETUSER", "default", "-scan")
    said = own.recover()
    admin.execute_command("ACL", "SETUSER", "default", "+scan")

    (command,) = (line for line in said.splitlines() if line.startswith("  redis-cli"))
    own.client.set(shlex.split(command)[3].replace("*", "{c}:rows:pipe:/it's a pipe:0"), b"")
    url = Settings.load(overrides=own.settings).redis.url
    words = command.replace("redis-cli", f"redis-cli -u {url}")
    subprocess.run(["sh", "-c", words], check=True, timeout=60)
    indexes = {key.split(b":")[1] for key in own.client.scan_iter() if b"{" in key}

    assert "lacks the right +scan;" in said
    assert len(indexes) == 1
    check(own, messages)


def test_nothing_is_recovered_while_a_daemon_runs(own: Own) -> None:
    with start_daemon(own.settings) as daemon:
        daemon.wait_until_ready()
        wait_until(lambda: "assigned" in daemon.log(), QUIET_SECONDS)

        run = own.site.call("recover")
        with pytest.raises(ConfigError, match="has members"):  # had it been started while that was at work
            own.commit(0)

    assert run.returncode == 2
    assert "stop all daemons" in run.stderr.decode()
