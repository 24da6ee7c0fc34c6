import pytest

from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.message import Partition, Position, RecordMetadata
from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import Forget
from neardup_stream.pipeline.forgetting import Forgotten, forget, plan_forget
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord, PageState
from neardup_stream.stores.protocol import RecordChange, RecordDrop

KEY = bytes(16)
NOW = 1_790_000_000
HERE, THERE = Partition("pages", 0), Partition("pages", 1)


def page(page_id: str = "page", offset: int = 5, state: PageState = "live") -> PageRecord:
    return PageRecord.first(
        page_id=PageId(page_id),
        url=page_id,
        fingerprint=1,
        text_fingerprint=1,
        position=Position(HERE, offset),
        seen_seconds=NOW - 60,
        sketch=b"sketch",
        shingle_count=1,
        bands=b"band",
        state=state,
    )


def asked(*page_ids: str, offset: int = 9, partition: Partition = HERE) -> Forget:
    record = RecordMetadata(position=Position(partition, offset))
    return Forget(record, tuple(map(PageId, page_ids)))


async def holding(*records: PageRecord) -> MemoryRecords:
    store = MemoryRecords()
    await store.replace([RecordChange(handle_of(record.id, KEY), None, record.pack()) for record in records])
    return store


@pytest.mark.parametrize("state", ["live", "short", "expiring"])
def test_a_page_that_is_there_becomes_a_stub_with_a_version_of_its_own(state: PageState) -> None:
    planned = plan_forget(Position(HERE, 9), page(state=state), NOW)

    assert (planned.result, planned.is_write, planned.former) == ("forgotten", True, page(state=state))
    stub = planned.record
    assert (stub.state, stub.version, stub.seen_seconds, stub.sketch, stub.bands) == (
        "gone",
        2,
        NOW,
        b"",
        b"",
    )


def test_a_page_that_expired_is_forgotten_too_and_leaves_no_entries() -> None:
    planned = plan_forget(Position(HERE, 9), page().expired(NOW), NOW)

    assert (planned.result, planned.record.version, planned.former) == ("forgotten", 2, None)


@pytest.mark.parametrize(
    ("offset", "result"),
    [(8, "superseded"), (9, "replayed"), (10, "forgotten")],
    ids=["before", "at", "after"],
)
def test_what_a_forget_means_beside_the_one_that_made_the_stub(offset: int, result: str) -> None:
    stub = page().forgotten_by(Position(HERE, 9), NOW)

    assert plan_forget(Position(HERE, offset), stub, NOW).result == result


@pytest.mark.parametrize("offset", [4, 5])
def test_a_forget_older_than_the_page_changes_nothing(offset: int) -> None:
    planned = plan_forget(Position(HERE, offset), page(), NOW)

    assert (planned.result, planned.is_write, planned.record) == ("superseded", False, page())


def test_partitions_are_applied_independently() -> None:
    planned = plan_forget(Position(THERE, 0), page(), NOW)

    assert planned.result == "forgotten"
    assert (planned.record.last_applied(HERE), planned.record.last_applied(THERE)) == (5, 0)


async def test_a_forgotten_page_is_a_stub_in_the_store() -> None:
    store = await holding(page())

    (forgotten,) = await forget([asked("page")], store, KEY, NOW)

    assert (forgotten.result, forgotten.handle) == ("forgotten", handle_of(PageId("page"), KEY))
    assert forgotten.record is not None
    assert await store.fetch([handle_of(PageId("page"), KEY)]) == [forgotten.record.pack()]


async def test_forgetting_again_finds_the_same_stub_and_no_former() -> None:
    store = await holding(page())

    (first,) = await forget([asked("page")], store, KEY, NOW)
    (again,) = await forget([asked("page")], store, KEY, NOW + 60)

    assert (first.former, again.former) == (page(), None)
    assert (again.result, again.record) == ("replayed", first.record)


async def test_a_page_that_was_never_seen_is_unknown_and_leaves_nothing() -> None:
    store = await holding(page("other"))

    (forgotten,) = await forget([asked("page")], store, KEY, NOW)

    assert forgotten == Forgotten(asked("page"), "unknown", places=(handle_of(PageId("page"), KEY),))
    assert await store.fetch([handle_of(PageId("page"), KEY)]) == [None]


async def test_of_the_ids_it_may_mean_the_first_known_one_is_forgotten() -> None:
    store = await holding(page("b"), page("c"))

    (forgotten,) = await forget([asked("a", "b", "c")], store, KEY, NOW)

    assert forgotten.handle == handle_of(PageId("b"), KEY)
    assert await store.fetch([handle_of(PageId("c"), KEY)]) == [page("c").pack()]


async def test_of_the_ids_it_may_mean_one_whose_page_lives_comes_before_one_that_is_gone() -> None:
    gone, living = page("gone", 1).expired(NOW - 9), page("living", 2)
    store = await holding(gone, living)

    (first,) = await forget([asked("gone", "living")], store, KEY, NOW)
    (again,) = await forget([asked("gone", "living")], store, KEY, NOW)

    assert (first.result, first.former) == ("forgotten", living)
    assert (again.result, again.record, again.former) == ("replayed", first.record, None)


async def test_of_ids_of_pages_that_are_all_gone_the_one_that_a_later_record_removed_is_meant() -> None:
    """A replay finds that its page was forgotten again since, and leaves the other stub as it is."""
    other, stub = page("other", 1).expired(NOW - 9), page("page", 2).forgotten_by(Position(HERE, 12), NOW)
    store = await holding(other, stub)

    (replayed,) = await forget([asked("other", "page", offset=9)], store, KEY, NOW)

    assert (replayed.result, replayed.record) == ("superseded", stub)


async def test_a_forget_that_is_read_again_after_its_page_returned_and_went_removes_no_page_that_lives() -> (
    None
):
    stub, living = page("page", 6).forgotten_by(Position(HERE, 7), NOW), page("living", 2)
    store = await holding(stub, living)

    (replayed,) = await forget([asked("page", "living", offset=5)], store, KEY, NOW)

    assert (replayed.result, replayed.record, replayed.former) == ("superseded", stub, None)


async def test_a_page_is_found_behind_another_one_that_took_its_handle() -> None:
    taken = handle_of(PageId("page"), KEY)
    store = MemoryRecords()
    await store.replace(
        [
            RecordChange(taken, None, page("other").pack()),
            RecordChange(next_handle(taken), None, page().pack()),
        ]
    )

    (forgotten,) = await forget([asked("page")], store, KEY, NOW)

    assert (forgotten.result, forgotten.handle) == ("forgotten", next_handle(taken))


async def test_two_forgets_of_one_page_in_one_batch_follow_each_other() -> None:
    store = await holding(page())

    first, second = await forget([asked("page", offset=9), asked("page", offset=10)], store, KEY, NOW)

    assert [each.result for each in (first, second)] == ["forgotten", "forgotten"]
    assert [each.record.version for each in (first, second) if each.record is not None] == [2, 3]
    assert (first.former, second.former) == (page(), None)


async def test_the_answer_keeps_the_order_of_the_batch() -> None:
    store = await holding(page("a"), page("c"))
    batch = [asked("a"), asked("b"), asked("c", offset=1)]

    answers = await forget(batch, store, KEY, NOW)

    assert [each.forget for each in answers] == batch
    assert [each.result for each in answers] == ["forgotten", "unknown", "superseded"]


async def stored(store: MemoryRecords, page_id: str) -> PageRecord | None:
    (packed,) = await store.fetch([handle_of(PageId(page_id), KEY)])
    return None if packed is None else PageRecord.unpack(packed)


KNOWN = {Position(HERE, 9): KnownVersion(handle_of(PageId("page"), KEY), 5)}
"""What the clusters know of the page that is asked about."""


async def test_a_stub_that_was_written_before_the_clusters_were_asked_is_written_above_them() -> None:
    store = await holding(PageRecord.stub(PageId("page"), Position(HERE, 9), NOW, floor=1))

    (forgotten,) = await forget([asked("page")], store, KEY, NOW, KNOWN)

    assert (forgotten.result, forgotten.record) == ("forgotten", await stored(store, "page"))
    assert forgotten.record is not None
    assert forgotten.record.version == 6


async def test_a_stub_of_a_first_version_stays_as_it_is_where_the_clusters_were_not_asked() -> None:
    stub = PageRecord.stub(PageId("page"), Position(HERE, 9), NOW, floor=0)

    (forgotten,) = await forget([asked("page")], await holding(stub), KEY, NOW)

    assert (forgotten.result, forgotten.record) == ("replayed", stub)


async def test_of_ids_without_a_record_the_one_that_the_clusters_know_is_forgotten() -> None:
    store = MemoryRecords()

    (forgotten,) = await forget([asked("other", "page")], store, KEY, NOW, KNOWN)

    assert (forgotten.result, forgotten.handle) == ("forgotten", handle_of(PageId("page"), KEY))
    assert await stored(store, "other") is None
    stub = await stored(store, "page")
    assert stub is not None
    assert (stub.state, stub.version) == ("gone", 6)


async def test_a_stub_without_a_record_before_it_is_written_where_the_version_floor_has_risen() -> None:
    store = MemoryRecords()
    assert await store.drop([RecordDrop(handle_of(PageId("page"), KEY), None, 3)]) == [True]

    (forgotten,) = await forget([asked("page")], store, KEY, NOW, KNOWN)

    assert (forgotten.result, forgotten.record) == ("forgotten", await stored(store, "page"))


async def test_an_empty_batch_forgets_nothing() -> None:
    assert await forget([], MemoryRecords(), KEY, NOW) == []
