"""`serve`: what it answers of a page that a sweep was about to remove when it was cut."""

import asyncio

from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index

from neardup_stream.clusters.cells import ClusterKey
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, all_records
from tests.servers.query_api import start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import StoredIndex, new_index
from tests.system.serve.served_pages import PAGES, A, B


async def let_leave(index: StoredIndex, url: str) -> str:
    """Take a page out of its cluster as a sweep does, which is cut then; return the id of its own cluster."""
    async with open_stored_index(Settings.load(overrides=index.settings), None) as stores:
        records = stores.pages.records
        walked = [each async for part in all_records(records) for each in part.records]
        ((handle, packed),) = [each for each in walked if PageRecord.unpack(each[1]).url == url]
        record = PageRecord.unpack(packed).expiring()
        await records.replace([RecordChange(handle, packed, record.pack())])
        assert stores.clusters is not None
        assert await stores.clusters.expire([PageVersion(handle, record.version, record.id, url)]) == [True]
        return ClusterKey(handle, record.version).id


def test_an_expiring_page_that_has_left_its_cluster_is_in_none(redis_server: RedisServer) -> None:
    index = new_index(redis_server)
    index.hold(*PAGES)

    with start_query_api(index.settings) as api:
        before = api.get("/v1/pages", url=B).value
        own_id = asyncio.run(let_leave(index, B))
        after = api.get("/v1/pages", url=B).value
        own = api.get(f"/v1/clusters/{own_id}")
        left = api.get("/v1/pages", url=A).value["cluster"]

    assert before["cluster"]["representative"]["url"] == A
    assert (after["page"]["state"], after["cluster"]) == ("expiring", None)
    assert own.status == 404
    assert (left["id"], left["size"]) == (before["cluster"]["id"], 1)
