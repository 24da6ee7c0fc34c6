"""`POST /v1/pages` where the broker is silent: the answer says that the page may be published or not."""

from collections.abc import Iterator, Sequence

import pytest

from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker, start_kafka
from tests.servers.process import wait_until
from tests.servers.query_api import start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import Site, new_site

PAGES = "/v1/pages"
TIMEOUT_SECONDS = 15
LATE = f"the request took longer than {TIMEOUT_SECONDS} seconds (api.request_timeout_seconds)"


@pytest.fixture
def frozen_broker() -> Iterator[KafkaBroker]:
    """A broker of its own, because the test stops it in its tracks."""
    with start_kafka(is_brief=True) as broker:
        yield broker


@pytest.fixture
def own_site(
    frozen_broker: KafkaBroker, redis_server: RedisServer, namespace: str, topic_prefix: str
) -> Site:
    """An installation whose index exists, and whose daemons are stopped."""
    site = new_site(frozen_broker, redis_server, namespace, topic_prefix)
    site.create_topics()
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        assert daemon.stop() == 0
    return site


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ((f"api.request_timeout_seconds={TIMEOUT_SECONDS}",), LATE),
        (
            ("api.request_timeout_seconds=60", f"kafka.request_timeout_seconds={TIMEOUT_SECONDS}"),
            "no answer in time",
        ),
    ],
    ids=["request", "broker"],
)
def test_a_page_whose_request_ends_while_it_is_sent_is_said_to_be_published_or_not(
    frozen_broker: KafkaBroker, own_site: Site, limits: Sequence[str], complaint: str
) -> None:
    settings = (*own_site.settings, *limits, "api.decision_timeout_seconds=0.1")
    with start_query_api(settings) as api:
        wait_until(lambda: api.post(PAGES, page_json("sent", essay(1))).status == 202, 60)
        frozen_broker.freeze()
        try:
            answer = api.post(PAGES, page_json("lost", essay(2)))
        finally:
            frozen_broker.thaw()

        assert answer.status == 503
        assert complaint in answer.value["detail"]
        assert answer.value["detail"].endswith("; the page may be published or not, and can be sent again")
