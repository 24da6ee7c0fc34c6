from typing import Any, get_args

import msgspec
import pytest

from neardup_stream.errors import CorruptData
from neardup_stream.fingerprints.framed import frame_share
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.stores.page_record import PageRecord, PageState, decided_text, record_header

POSITION = Position(Partition("pages", 3), 2**40)


def record(page_id: str = "https://example.com/", **fields: Any) -> PageRecord:
    first = PageRecord.first(
        page_id=PageId(page_id),
        url="https://example.com/",
        fingerprint=2**64 - 1,
        text_fingerprint=0,
        position=POSITION,
        seen_seconds=1_790_000_000,
    )
    return msgspec.structs.replace(first, **fields)


@pytest.mark.parametrize(
    "stored",
    [
        record(),
        record("crawl-17"),
        record("ünïcode"),
        record(sketch=b"\xff" * 128, shingle_count=2**31, bands=b"\x00" * 40),
        record(sketch=b"\1", shingle_count=1, bands=b"\2" * 4, whole=b"\3" * 40, whole_count=2**31),
        record(whole=b"\xff" * 100, whole_count=110, whole_bands=bytes(48)),
        record(later=(("pages", 4, 0),)),
        record(later=(("pages", 4, 0),), former_count=1, rank=5),
        record(scope="example.com"),
        record(state="gone"),
        record(rank=2**48 - 1),
        record(version=2**20 + 255, rank=1),
    ],
    ids=[
        "all-defaults",
        "id",
        "unicode",
        "sketch",
        "whole-text",
        "short-whole-text",
        "later",
        "former",
        "scope",
        "state",
        "highest-rank",
        "high-version",
    ],
)
def test_a_record_survives_packing(stored: PageRecord) -> None:
    unpacked = PageRecord.unpack(stored.pack())

    assert unpacked == stored
    assert unpacked.id == stored.id


def test_the_header_is_the_rank_and_the_low_byte_of_the_version() -> None:
    packed = record(version=0x1FE, rank=0x0102_0304_0506).pack()

    assert packed[:7] == record_header(0x0102_0304_0506, 0xFE) == bytes([1, 2, 3, 4, 5, 6, 0xFE])


def test_its_rank_and_text_are_read_without_the_rest() -> None:
    stored = record(rank=77, text_fingerprint=2**63 + 5, version=300)

    assert decided_text(stored.pack()) == (77, stored.content) == (77, 5)
    for cut in (b"", stored.pack()[:9]):
        with pytest.raises(CorruptData):
            decided_text(cut)


def test_a_rank_takes_no_room_in_the_body() -> None:
    assert record(rank=5).pack()[7:] == record().pack()[7:]


def test_fields_that_have_their_default_take_no_room() -> None:
    assert len(record().pack()) < len(record(shingle_count=1).pack())
    assert len(record(sketch=b"s").pack()) < len(record(sketch=b"s", other_id="x").pack())


@pytest.mark.parametrize("last", [each for each in PageRecord.__struct_fields__[6:] if each != "rank"])
def test_only_fields_behind_the_last_that_is_set_are_left_out(last: str) -> None:
    fields = PageRecord.__struct_fields__
    values: dict[str, Any] = {"state": "short", "later": (("pages", 4, 0),), "claimed": (("pages", 4, 0),)}
    kinds: dict[type, Any] = {bytes: b"set", int: 7, str: "set", bool: True}
    fields_set: dict[str, Any] = {last: values.get(last) or kinds[type(getattr(record(), last))]}

    body = msgspec.msgpack.decode(record(**fields_set).pack()[7:])

    assert len(body) == fields.index(last) + 1


def test_a_record_with_a_usual_url_its_sketch_and_bands_stays_within_its_budget() -> None:
    stored = record(
        url=f"https://example.com/{'x' * 40}",
        text_fingerprint=2**64 - 1,
        sketch=bytes(range(128)),
        shingle_count=400,
        bands=bytes(range(40)),
        rank=10**9,
    )

    assert len(stored.pack()) < 290


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x90",
        b"no rank",
        record_header(0, 1) + b"\x90",
        record_header(0, 1) + b"not msgpack",
        record().pack()[:-1],
        record().pack() + b"\x00",
        record_header(0, 2) + record().pack()[7:],
    ],
    ids=[
        "empty",
        "too-short",
        "header-only",
        "empty-array",
        "garbage",
        "cut-off",
        "too-long",
        "header-of-another-version",
    ],
)
def test_bytes_that_are_no_record_are_corrupt_data(packed: bytes) -> None:
    with pytest.raises(CorruptData, match="page record"):
        PageRecord.unpack(packed)


def test_only_pages_that_can_be_judged_and_are_there_are_indexed() -> None:
    assert [state for state in get_args(PageState) if record(state=state).is_indexed] == ["live", "expiring"]


def test_a_stub_keeps_who_it_was_and_its_rank_and_nothing_of_the_content() -> None:
    views: dict[str, Any] = {"sketch": b"s" * 128, "shingle_count": 9, "bands": b"b" * 40}
    stored = record("crawl-17", text_fingerprint=7, scope="x", rank=5, **views)

    stub = stored.expired(seen_seconds=1_790_000_100)

    assert stub == record(
        "crawl-17",
        scope="x",
        state="gone",
        fingerprint=0,
        text_fingerprint=0,
        seen_seconds=1_790_000_100,
        rank=5,
    )


def test_a_forgotten_page_is_a_version_of_its_own_made_by_the_forget() -> None:
    forget = Position(Partition("pages", 4), 2)

    stub = record(version=7, rank=5).forgotten_by(forget, seen_seconds=1)

    assert (stub.version, stub.is_made_by(forget), stub.state, stub.rank) == (8, True, "gone", 0)
    assert stub.maker == forget
    assert [stub.last_applied(Partition("pages", number)) for number in (3, 4, 5)] == [2**40, 2, None]


def test_a_version_that_is_claimed_is_to_be_decided_by_its_last_maker_and_knows_the_others() -> None:
    claimant = Position(Partition("pages", 4), 2)

    claimed = record(rank=7).claimed_by(claimant, 0)

    assert (claimed.version, claimed.rank) == (1, 0)
    assert (claimed.maker, claimed.former_makers) == (claimant, (POSITION,))


def test_a_version_above_one_that_may_have_been_published_is_a_return() -> None:
    assert record(rank=7).raised_above(5) == record(version=6, is_return=True)


def test_a_page_was_last_seen_at_the_latest_time_reported() -> None:
    stored = record(seen_seconds=100)

    for again in (stored.seen_again, stored.claimed_by):
        assert again(POSITION, 99).seen_seconds == 100
        assert again(POSITION, 101).seen_seconds == 101


FRAMED = record(
    sketch=b"\1" * 80,
    shingle_count=60,
    bands=b"\2" * 48,
    whole=b"\3" * 100,
    whole_count=80,
    whole_bands=b"\4" * 48,
)


def test_a_page_without_a_frame_takes_no_bytes_for_one() -> None:
    plain = msgspec.structs.replace(FRAMED, whole=b"", whole_count=0, whole_bands=b"")
    fields = msgspec.msgpack.decode(plain.pack()[7:])

    assert fields[-1] == plain.bands


@pytest.mark.parametrize(
    "gone",
    [FRAMED.expired(seen_seconds=1), FRAMED.forgotten_by(POSITION, seen_seconds=1)],
    ids=["expired", "forgotten"],
)
def test_nothing_of_its_text_stays_of_a_page_that_is_gone(gone: PageRecord) -> None:
    assert (gone.sketch, gone.shingle_count, gone.bands) == (b"", 0, b"")
    assert (gone.whole, gone.whole_count, gone.whole_bands) == (b"", 0, b"")
    assert frame_share(gone) == 0


def test_a_page_that_is_seen_again_or_about_to_go_keeps_its_views() -> None:
    for later in (FRAMED.seen_again(POSITION, 2), FRAMED.expiring()):
        assert (later.sketch, later.bands) == (FRAMED.sketch, FRAMED.bands)
        assert (later.whole, later.whole_count) == (FRAMED.whole, 80)
        assert later.whole_bands == FRAMED.whole_bands


def test_a_new_version_has_the_views_of_its_own_content() -> None:
    followed = FRAMED.followed_by(record(sketch=b"\5", shingle_count=1))

    assert (followed.version, followed.sketch, followed.whole, followed.whole_count) == (2, b"\5", b"", 0)


def test_the_frame_share_is_that_of_the_shingles_that_are_left_out() -> None:
    assert frame_share(FRAMED) == 0.25
    assert frame_share(record(shingle_count=60)) == 0


@pytest.mark.parametrize(
    ("applied", "position", "has_passed"),
    [
        pytest.param("pages", Position(Partition("pages", 0), 7), True, id="the same offset"),
        pytest.param("pages", Position(Partition("pages", 0), 8), False, id="a later offset"),
        pytest.param("pages@2", Position(Partition("pages", 0), 8), True, id="epoch 0 after epoch 2"),
        pytest.param("pages@2", Position(Partition("pages@1", 9), 8), True, id="epoch 1 after epoch 2"),
        pytest.param("pages@2", Position(Partition("pages@2", 0), 8), False, id="the same epoch"),
        pytest.param("pages@2", Position(Partition("pages@10", 0), 0), False, id="a later epoch"),
        pytest.param("pages@2", Position(Partition("others", 0), 0), False, id="another topic"),
        pytest.param("pages@2", Position(Partition("file:01@1", 0), 0), False, id="a file"),
        pytest.param("file:01@2", Position(Partition("file:01@1", 0), 0), False, id="files have no epochs"),
    ],
)
def test_what_an_epoch_that_has_ended_brings_is_older(
    applied: str, position: Position, *, has_passed: bool
) -> None:
    made = record(made_by=(applied, 0, 7))
    seen = record(made_by=("other", 0, 7), later=((applied, 0, 7),))

    assert (made.has_passed(position), seen.has_passed(position)) == (has_passed, has_passed)


def test_a_record_forgets_the_offsets_of_epochs_that_have_ended() -> None:
    later = (("pages", 0, 5), ("pages@1", 3, 2), ("others", 1, 4), ("file:01@0", 0, 9))
    stored = record(made_by=("pages", 1, 1), later=later)
    kept = (("others", 1, 4), ("file:01@0", 0, 9))
    position = Position(Partition("pages@2", 0), 0)

    seen = stored.seen_again(position, 0)
    changed = stored.followed_by(record(made_by=("pages@2", 0, 0)))

    assert seen.later == (*kept, ("pages@2", 0, 0))
    assert changed.later == kept
