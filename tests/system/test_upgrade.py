"""An index that an earlier version wrote, met by this one."""

import gzip
import json
import re
import subprocess
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

import redis

from neardup_stream.version import __version__
from tests.servers.daemon import start_daemon
from tests.servers.redis import RedisCluster, RedisServer
from tests.system.conftest import Site
from tests.system.test_run import pages, publish

FORMAT_3 = Path(__file__).parents[1] / "data" / "indexes" / "format-3.jsonl.gz"
"""What `dedup` at commit 446f9da stored of 12 pages, under the namespace nd: each key and its DUMP."""


UPGRADING = Path(__file__).parents[2] / "docs" / "upgrading.md"


def restore(server: RedisServer, namespace: str) -> Mapping[str, bytes | None]:
    """Put the index there, under another name; the keys."""
    with redis.Redis.from_url(server.url) as client:
        for line in gzip.decompress(FORMAT_3.read_bytes()).splitlines():
            stored = json.loads(line)
            key = namespace + stored["key"].removeprefix("nd")
            client.restore(key.encode("latin-1"), 0, b64decode(stored["dump"]))
    return contents(server, namespace)


def contents(server: RedisServer, namespace: str) -> Mapping[str, bytes | None]:
    with redis.Redis.from_url(server.url) as client:
        keys = client.scan_iter(match=f"{namespace}:*", count=1000)
        return {key.decode("latin-1"): client.dump(key) for key in keys}


def test_an_index_of_an_earlier_format_is_refused_untouched_and_the_remedy_leads_to_a_sound_one(
    site: Site, redis_server: RedisServer, namespace: str
) -> None:
    site.create_topics()
    publish(site, pages(40, topics=20))
    before = restore(redis_server, namespace)

    with start_daemon(site.settings) as daemon:
        exit_code, log = daemon.wait(), daemon.log()
    checked = site.call("check")

    assert (exit_code, checked.returncode) == (2, 2)
    for said in (log, checked.stdout.decode()):
        assert "has format 3 and was made by a version before the first release" in " ".join(said.split())
        assert "set redis.namespace to a free name, kafka.group_id to a new group" in " ".join(said.split())
    assert contents(redis_server, namespace) == before

    remedy = (f"redis.namespace={namespace}-2", f"kafka.group_id={namespace}-2", "kafka.first_start=earliest")
    with start_daemon((*site.settings, *remedy)) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(40)
        stopped = daemon.stop()
    verified = site.call("verify", settings=remedy)

    assert stopped == 0
    assert verified.returncode == 0, verified.stdout
    assert contents(redis_server, namespace) == before


def test_an_index_says_which_release_made_it(site: Site) -> None:
    site.create_topics()
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.stop()

    assert f"made by neardup-stream {__version__}" in " ".join(site.call("check").stdout.decode().split())


def test_the_documented_command_deletes_an_index_from_every_master_of_a_cluster(
    redis_cluster: RedisCluster, namespace: str
) -> None:
    (command,) = re.findall(r"   ```sh\n(.*?)   ```", UPGRADING.read_text(encoding="utf-8"), re.DOTALL)
    host, port = redis_cluster.nodes[0].url.removeprefix("redis://").removesuffix("/0").split(":")
    for placeholder, value in (("HOST", host), ("PORT", port), ("OLD", namespace)):
        command = command.replace(placeholder, value)

    with redis.RedisCluster(host=host, port=int(port)) as client:
        for number in range(100):
            client.set(f"{namespace}:{number}", "old")
            client.set(f"{namespace}-2:{number}", "new")
        subprocess.run(["sh", "-c", command], check=True, timeout=60)
        left = set(client.scan_iter(match=f"{namespace}*"))

    assert left == {f"{namespace}-2:{number}".encode() for number in range(100)}
