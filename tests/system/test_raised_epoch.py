"""`kafka.input_epoch` raised after a daemon was killed: what it had decided and not sent is sent."""

import signal

from neardup_stream.events import event_type
from neardup_stream.message import Message
from tests.page_histories import Content, text_of
from tests.pipelines import page_json
from tests.servers.daemon import start_daemon
from tests.system.conftest import Site
from tests.system.test_verify import MISSED_SOON, publish

SETTINGS = ("clusters.rule=components", "kafka.session_timeout_seconds=30")
RAISED = (*SETTINGS, "kafka.input_epoch=1")
CRAWLED = [("a", Content(1, 0)), ("c", Content(1, 2)), ("b", Content(1, 1)), ("b", Content(2, 0))]
"""The first version of page b is like both others, which are not alike, and another version follows it."""


def test_what_a_killed_daemon_decided_is_sent_though_other_versions_followed(site: Site) -> None:
    site.create_topics()
    messages = [
        Message(key=name.encode(), value=page_json(name, text_of(content))) for name, content in CRAWLED
    ]
    publish(site, site.topics[0], messages)
    with start_daemon(
        (*site.settings, *SETTINGS, *MISSED_SOON, "failpoints.kill=before events.send")
    ) as daemon:
        assert daemon.wait() == -signal.SIGKILL
    assert not site.events()

    with start_daemon((*site.settings, *RAISED)) as daemon:
        daemon.wait_until_ready()
        run = site.call("verify", "--wait", "60", settings=RAISED)
        log = daemon.log()
        assert daemon.stop() == 0

    assert run.returncode == 0, run.stdout.decode()
    assert "former_epoch_delivered" in log
    assert event_type("cluster-merge") in {event["type"] for event in site.events()}
