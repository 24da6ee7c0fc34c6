"""`POST /v1/pages`: pages decided by real daemons, answered once, also when those die."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http import HTTPStatus
from threading import Event, Thread
from typing import Any

import pytest

from neardup_stream.subscriber.scrapy_pipeline import duplicate_of
from tests.api_examples import EXAMPLES, shape
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.process import wait_until
from tests.servers.query_api import Answered, QueryApi, query_api_at, start_query_api
from tests.system.conftest import Site

PAGES = "/v1/pages"
MOST_SECONDS = 60
KILLED_AT = (
    "after cluster_store.commit 2",
    "before events.send 2",
    "after events.send 3",
    "before source.commit 2",
)


@pytest.fixture
def api(site: Site) -> Iterator[QueryApi]:
    """Beside a daemon that is ready."""
    site.create_topics()
    with ExitStack() as stack:
        daemon = stack.enter_context(start_daemon((*site.settings, "limits.max_depth=20")))
        daemon.wait_until_ready()
        yield stack.enter_context(start_query_api(site.settings))


def named(answer: Answered) -> tuple[int, str, list[str]]:
    """Status, outcome and types of events of an answer."""
    types = [event["type"] for event in answer.value["events"]]
    return answer.status, answer.value["outcome"], types


def test_a_posted_page_is_answered_with_what_subscribers_get(site: Site, api: QueryApi) -> None:
    first = api.post(PAGES, page_json("first", essay(1)))
    copy = api.post(PAGES, page_json("copy", essay(1, edits=[50])))
    again = api.post(PAGES, page_json("copy", essay(1, edits=[50])))
    short = api.post(PAGES, page_json("short", "too short"))

    assert named(first) == (200, "unique", [])
    assert named(copy) == (200, "duplicate", ["io.neardup.duplicate.v1"])
    assert named(again) == (200, "unchanged", [])
    assert named(short) == (200, "undecided", [])
    (event,) = copy.value["events"]
    assert event["data"]["cluster"]["representative"]["id"] == "https://example.com/first"
    assert again.value["cluster"] == event["data"]["cluster"]
    wait_until(lambda: site.events() != [], MOST_SECONDS)
    assert site.events() == [event]
    positions = [answer.value["position"]["offset"] for answer in (first, copy, again, short)]
    assert positions == [0, 1, 2, 3]


def test_a_page_has_the_id_of_its_events_whatever_the_spelling_of_its_url(api: QueryApi) -> None:
    urls = ("https://example.com/first", "https://example.com/first#top", "HTTPS://Example.com:443/first")
    bodies = [json.dumps({"url": url, "text": essay(1)}) for url in urls]

    answers = [api.post(PAGES, body.encode()).value for body in bodies]

    assert [answer["id"] for answer in answers] == [urls[0]] * 3
    assert [answer["outcome"] for answer in answers] == ["unique", "unchanged", "unchanged"]
    assert [duplicate_of(answer) for answer in answers] == [None] * 3


def test_a_decision_can_be_asked_for_again(api: QueryApi) -> None:
    answer = api.post(PAGES, page_json("first", essay(1)))
    position = answer.value["position"]

    again = api.get(f"/v1/decisions/{position['partition']}/{position['offset']}")

    assert (again.status, {"id": answer.value["id"], **again.value}) == (200, answer.value)


def test_a_decision_of_a_record_that_does_not_exist_is_not_found(site: Site) -> None:
    site.create_topics(partitions=2)
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        assert daemon.stop() == 0
    quick = (*site.settings, "api.decision_timeout_seconds=0.05")
    with start_query_api(quick) as api, start_query_api(quick) as other:
        for number in range(3):
            published = api.post(PAGES, page_json(str(number), essay(number)))
            partition, offset = (published.value["position"][each] for each in ("partition", "offset"))

            answer = other.get(f"/v1/decisions/{partition}/{offset}")
            missing = [once_not_found(other, *place) for place in ((partition, offset + 1), (5, 0))]

            assert answer.status == 202
            assert {each.headers["content-type"] for each in missing} == {"application/problem+json"}


def once_not_found(api: QueryApi, partition: int, offset: int) -> Answered:
    """Ask until it is not found: while a busy broker does not say where a partition ends, it may yet come."""
    answers: list[Answered] = []

    def is_not_found() -> bool:
        answers.append(api.get(f"/v1/decisions/{partition}/{offset}"))
        return answers[-1].status == HTTPStatus.NOT_FOUND

    wait_until(is_not_found, MOST_SECONDS)
    return answers[-1]


def test_the_examples_of_the_documentation_are_answered_as_it_shows(api: QueryApi) -> None:
    deciding = [example for example in EXAMPLES if example.is_deciding]

    for example in deciding:
        answer = example.ask(api, partition=0, offset=0)
        assert (answer.status, shape(answer.value)) == (200, shape(example.answer))

    assert len(deciding) == 2


def test_pages_that_no_daemon_takes_are_refused_with_the_field(site: Site, api: QueryApi) -> None:
    deep = json.dumps({"url": "https://example.com/deep", "html": "<div>" * 30 + essay(1)}).encode()
    for body, status in ((b"rubbish", 400), (b'{"url": "https://example.com/"}', 422), (deep, 422)):
        answer = api.post(PAGES, body)
        assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")

    assert len(site.messages(site.topics[2])) == 1
    gone = api.get("/v1/decisions/0/0")
    assert (gone.status, site.topics[2] in gone.value["detail"]) == (410, True)


def test_a_page_behind_a_backlog_is_answered_with_its_position(site: Site) -> None:
    site.create_topics()
    with ExitStack() as stack:
        daemon = stack.enter_context(start_daemon((*site.settings, "api.enabled=true", "api.port=0")))
        daemon.wait_until_ready()
        port = next(line["port"] for line in daemon.log_events() if line["event"] == "api_listening")
        assert isinstance(port, int)
        assert query_api_at(port).post(PAGES, page_json("first", essay(1))).status == 200
        assert daemon.stop() == 0
        quick = (*site.settings, "api.decision_timeout_seconds=0.05")
        api = stack.enter_context(start_query_api(quick))

        answer = api.post(PAGES, page_json("copy", essay(1, edits=[50])))

        assert (answer.status, answer.value["state"]) == (202, "pending")
        other = stack.enter_context(start_daemon(site.settings))
        other.wait_until_ready()
        wait_until(lambda: api.get(answer.headers["location"]).status == 200, MOST_SECONDS)
        assert named(api.get(answer.headers["location"]))[1] == "duplicate"


def test_a_decision_that_is_removed_before_it_is_seen_is_answered_with_its_position(site: Site) -> None:
    site.create_topics()
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        assert daemon.stop() == 0
    with ExitStack() as stack:
        waiting = (*site.settings, "api.decision_timeout_seconds=600")
        threads = stack.enter_context(ThreadPoolExecutor(1))
        api, other = (stack.enter_context(start_query_api(waiting)) for _ in range(2))
        posting = threads.submit(api.post, PAGES, page_json("first", essay(1)))
        wait_until(lambda: len(site.messages(site.topics[0])) == 1, MOST_SECONDS)
        os.kill(api.pid, signal.SIGSTOP)
        stack.enter_context(start_daemon((*site.settings, "api.decision_kept_seconds=0.1")))
        wait_until(lambda: other.get("/v1/decisions/0/0").status == HTTPStatus.GONE, MOST_SECONDS)

        os.kill(api.pid, signal.SIGCONT)

        answer = posting.result()
        assert (answer.status, answer.value["state"]) == (202, "kept_no_longer")
        assert api.get(PAGES, url="https://example.com/first").value["page"]["is_stored"]


def test_more_pages_than_may_wait_are_refused_before_they_are_published(site: Site) -> None:
    site.create_topics()
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        assert daemon.stop() == 0
    limits = ("api.max_waiting_pages=2", "api.decision_timeout_seconds=600")
    with ThreadPoolExecutor(2) as threads, start_query_api((*site.settings, *limits)) as api:
        waiting = [threads.submit(api.post, PAGES, page_json(str(n), essay(n))) for n in range(2)]
        wait_until(lambda: api.metric("neardup_api_waiting_pages") == 2, MOST_SECONDS)

        refused = api.post(PAGES, page_json("more", essay(3)))

        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert api.metric("neardup_api_waiting_pages") == 2
        with start_daemon(site.settings):
            assert [each.result().status for each in waiting] == [200, 200]
        assert api.metric("neardup_api_waiting_pages") == 0
    assert len(site.messages(site.topics[0])) == 2


def test_killed_daemons_lose_no_verdict_and_give_none_twice(site: Site) -> None:
    """Each of four daemons kills itself at a call of the decision, with posts in flight."""
    site.create_topics(partitions=2)
    numbers = itertools.count()
    settings = (*site.settings, "events.unique=true", "events.undecided=true")
    kept = ("api.decision_kept_seconds=600", "kafka.session_timeout_seconds=6")
    member = (*settings, *kept, "kafka.group_instance_id=a")
    with ExitStack() as stack:
        first = stack.enter_context(start_daemon((*settings, *kept)))
        first.wait_until_ready()
        api = stack.enter_context(start_query_api((*settings, "api.decision_timeout_seconds=600")))
        assert first.stop() == 0
        answers: list[Answered] = []
        are_enough = Event()

        def post_pages() -> None:
            while not are_enough.is_set():
                number = next(numbers)
                answers.append(
                    api.post(PAGES, page_json(f"{number}", essay(number % 7, [37 * number % 200])))
                )

        posting = [Thread(target=post_pages) for _ in range(6)]
        stack.callback(are_enough.set)
        for thread in posting:
            thread.start()
        for point in KILLED_AT:
            with start_daemon((*member, f"failpoints.kill={point}")) as daemon:
                assert daemon.wait() == -9
        last = stack.enter_context(start_daemon(member))
        last.wait_until_ready()
        are_enough.set()
        for thread in posting:
            thread.join(MOST_SECONDS)

        assert [thread.is_alive() for thread in posting] == [False] * len(posting)
        assert {answer.status for answer in answers} == {200}
        for answer in answers:
            position = answer.value["position"]
            again = api.get(f"/v1/decisions/{position['partition']}/{position['offset']}")
            # A daemon that takes the partition over may have removed the decision record of the one before.
            assert again.status == 410 or (again.status, again.value) == (
                200,
                {name: value for name, value in answer.value.items() if name != "id"},
            )
        assert last.stop() == 0

    published: dict[str, Any] = {}
    for event in site.events():
        assert published.setdefault(str(event["id"]), event) == event
    answered = [event for answer in answers for event in answer.value["events"]]
    assert {event["id"]: event for event in answered} == published
    assert len(answered) == len(published)
    places = {tuple(answer.value["position"].values()) for answer in answers}
    assert len(places) == len(answers) == len(site.messages(site.topics[0]))
