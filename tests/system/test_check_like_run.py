"""`check` refuses what `run` refuses at its start, in the same words, and writes nothing."""

import asyncio
import json
from pathlib import Path

import redis
from neardup_daemon.settings.settings import Settings

from neardup_stream.stores.redis.keys import epochs_key, meta_key
from tests.kafka_topics import delete_below
from tests.servers.daemon import start_daemon
from tests.system.conftest import Site
from tests.system.test_run import pages, publish, write_pages

COUNT = 50


def finish(site: Site, *settings: str) -> None:
    """Let a daemon finish some pages."""
    publish(site, pages(COUNT, topics=COUNT))
    with start_daemon((*site.settings, *settings)) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(COUNT)
        assert daemon.stop() == 0


def refusal(site: Site) -> str:
    """Return why a daemon does not start."""
    with start_daemon(site.settings) as daemon:
        assert daemon.wait() == 2
        return str(json.loads(daemon.log().splitlines()[-1])["error"])


def require_same_refusal(site: Site, part: str) -> None:
    """Require that neither starts, and that both say the same, of which this is a part."""
    checked = site.call("check")
    error = refusal(site)

    assert checked.returncode == 2
    assert part in error
    assert error.removeprefix("Redis: ") in checked.stdout.decode()
    assert checked.stdout.decode().count(" BAD  ") == 1


def test_records_that_were_deleted_unread(site: Site) -> None:
    site.create_topics()
    finish(site)
    publish(site, pages(COUNT, topics=COUNT))
    assert site.call("check").returncode == 0

    asyncio.run(delete_below(site.broker.bootstrap_servers, site.topics[0], COUNT + 20))

    require_same_refusal(site, f"has offset {COUNT}, which is not there: deleted unread")
    assert site.call("check", settings=["kafka.out_of_range=earliest"]).returncode == 0


def test_an_epoch_that_is_lower_than_the_one_that_is_read(site: Site) -> None:
    site.create_topics()
    finish(site, "kafka.input_epoch=1")

    require_same_refusal(site, "is read with kafka.input_epoch = 1 already, and 0 here: set it to 1")
    assert site.call("check", settings=["kafka.input_epoch=1"]).returncode == 0
    assert site.call("check", settings=["kafka.input_epoch=2"]).returncode == 0
    with redis.Redis.from_url(Settings.load(overrides=site.settings).redis.url) as client:
        epochs = client.hgetall(epochs_key(Settings.load(overrides=site.settings).redis.namespace))
    assert epochs == {site.topics[0].encode(): b"1"}


def test_an_index_without_its_meta_record_of_which_nothing_is_committed(site: Site, tmp_path: Path) -> None:
    site.create_topics()
    file = write_pages(tmp_path / "q.jsonl", pages(COUNT, topics=COUNT))
    assert site.call("dedup", "--redis", file).returncode == 0
    settings = Settings.load(overrides=site.settings).redis
    with redis.Redis.from_url(settings.url) as client:
        client.delete(meta_key(settings.namespace))

    require_same_refusal(site, "is not there any more, and the index that it named is")
    assert "is free" not in site.call("check").stdout.decode()
