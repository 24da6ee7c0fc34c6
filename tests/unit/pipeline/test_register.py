from collections.abc import Callable

import msgspec
import pytest

from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.register import plan
from neardup_stream.stores.page_record import PageRecord
from tests.unit.pipeline.arrivals import HERE, NOW, THERE, arrival


def history(*arrivals: Arrival) -> PageRecord | None:
    """Return what is stored after these arrivals of one page."""
    stored = None
    for each in arrivals:
        stored = plan(each, stored, NOW).record
    return stored


def live(first: Arrival) -> PageRecord:
    return plan(first, None, NOW).record


def test_a_page_never_seen_is_new_at_version_one() -> None:
    planned = plan(arrival(text=1, offset=5), None, NOW)

    assert (planned.change, planned.record.version, planned.is_write) == ("new", 1, True)


def test_the_same_content_again_is_unchanged_and_remembered() -> None:
    planned = plan(arrival(text=1, offset=9), history(arrival(text=1, offset=5)), NOW)

    assert (planned.change, planned.record.version) == ("unchanged", 1)
    assert planned.record.last_applied(HERE) == 9


def test_other_content_is_the_next_version() -> None:
    planned = plan(arrival(text=2, offset=9), history(arrival(text=1, offset=5)), NOW)

    assert (planned.change, planned.record.version, planned.record.text_fingerprint) == ("changed", 2, 2)
    assert planned.record.last_applied(HERE) == 9


def test_the_position_that_made_the_live_version_is_judged_again_without_a_write() -> None:
    stored = history(arrival(text=1, offset=5), arrival(text=1, offset=7))

    planned = plan(arrival(text=1, offset=5), stored, NOW)

    assert (planned.change, planned.is_write, planned.record) == ("replayed", False, stored)


@pytest.mark.parametrize(
    ("offset", "change"), [(4, "superseded"), (8, "superseded"), (9, "replayed"), (10, "changed")]
)
def test_what_an_offset_means_beside_the_one_that_made_the_version(offset: int, change: str) -> None:
    stored = history(arrival(text=1, offset=5), arrival(text=2, offset=9))

    assert plan(arrival(text=3, offset=offset), stored, NOW).change == change


def test_an_equal_offset_that_was_unchanged_stays_unchanged() -> None:
    stored = history(arrival(text=1, offset=5), arrival(text=1, offset=9))

    planned = plan(arrival(text=1, offset=9), stored, NOW)

    assert (planned.change, planned.is_write) == ("unchanged", False)


def test_partitions_are_applied_independently() -> None:
    stored = history(arrival(text=1, offset=500), arrival(text=2, offset=3, partition=THERE))

    assert stored is not None
    assert (stored.last_applied(HERE), stored.last_applied(THERE)) == (500, 3)
    assert plan(arrival(text=3, offset=499), stored, NOW).change == "superseded"
    assert plan(arrival(text=3, offset=4, partition=THERE), stored, NOW).change == "changed"


def test_a_page_that_loses_its_text_is_changed_even_if_its_fingerprint_is_not() -> None:
    short = msgspec.structs.replace(arrival(text=1, offset=9), has_enough_tokens=False)

    assert plan(short, history(arrival(text=1, offset=5)), NOW).change == "changed"


def test_a_page_that_moves_to_another_scope_is_changed() -> None:
    moved = msgspec.structs.replace(arrival(text=1, offset=9), scope="other.example")

    assert plan(moved, history(arrival(text=1, offset=5)), NOW).change == "changed"


def test_a_short_page_that_stays_short_is_unchanged() -> None:
    stored = history(msgspec.structs.replace(arrival(text=1, offset=5), has_enough_tokens=False))

    assert (
        plan(msgspec.structs.replace(arrival(text=1, offset=9), has_enough_tokens=False), stored, NOW).change
        == "unchanged"
    )


def test_what_only_a_page_that_can_be_judged_needs_is_not_kept_of_a_short_one() -> None:
    page = msgspec.structs.replace(
        arrival(text=1, offset=5), sketch=b"sketch", shingle_count=3, bands=b"band"
    )

    full, short = (
        plan(page, None, NOW).record,
        plan(msgspec.structs.replace(page, has_enough_tokens=False), None, NOW).record,
    )

    assert (full.state, full.fingerprint, full.sketch, full.shingle_count, full.bands) == (
        "live",
        1,
        b"sketch",
        3,
        b"band",
    )
    assert (short.state, short.fingerprint, short.sketch, short.shingle_count, short.bands) == (
        "short",
        0,
        b"",
        0,
        b"",
    )


@pytest.mark.parametrize(
    ("whole_count", "bands", "kept"),
    [
        (SHORT_SHINGLES, b"content.", b"of all.."),
        (SHORT_SHINGLES + 1, b"content.", b""),
        (SHORT_SHINGLES, b"of all..", b""),
    ],
    ids=["short", "long", "of-the-same-bands"],
)
def test_only_a_short_framed_page_is_found_by_the_bands_of_its_whole_text_too(
    whole_count: int, bands: bytes, kept: bytes
) -> None:
    framed = msgspec.structs.replace(
        arrival(text=1, offset=0),
        whole=b"whole",
        whole_count=whole_count,
        whole_bands=b"of all..",
        bands=bands,
    )

    record = live(framed)

    assert (record.bands, record.whole_bands) == (bands, kept)


def test_a_change_hands_over_what_it_replaced() -> None:
    stored = history(arrival(text=1, offset=5))

    assert plan(arrival(text=2, offset=9), stored, NOW).former == stored
    assert plan(arrival(text=1, offset=9), stored, NOW).former is None


def test_a_new_version_is_undecided_and_the_same_one_keeps_its_rank() -> None:
    stored = msgspec.structs.replace(live(arrival(text=1, offset=5)), rank=17)

    assert plan(arrival(text=2, offset=9), stored, NOW).record.rank == 0
    assert plan(arrival(text=1, offset=9), stored, NOW).record.rank == 17


def test_the_same_content_again_moves_when_the_page_was_seen() -> None:
    stored = history(arrival(text=1, offset=5))

    assert plan(arrival(text=1, offset=9), stored, NOW + 60).record.seen_seconds == NOW + 60


@pytest.mark.parametrize("text", [1, 2], ids=["same-content", "other-content"])
def test_a_page_that_is_about_to_expire_returns_as_a_new_version(text: int) -> None:
    expiring = live(arrival(text=1, offset=5)).expiring()

    planned = plan(arrival(text=text, offset=9), expiring, NOW)

    assert (planned.change, planned.record.version, planned.record.state) == ("changed", 2, "live")
    assert planned.former == expiring


def test_a_page_that_is_about_to_expire_is_still_decided_by_the_position_that_made_it() -> None:
    expiring = live(arrival(text=1, offset=5)).expiring()

    assert plan(arrival(text=1, offset=5), expiring, NOW).change == "replayed"


GONE = {
    "expired": lambda record: record.expired(NOW),
    "forgotten": lambda record: record.forgotten_by(Position(HERE, 7), NOW),
}


@pytest.mark.parametrize("go", GONE.values(), ids=GONE)
def test_a_page_that_is_gone_returns_above_its_stub(go: Callable[[PageRecord], PageRecord]) -> None:
    stub = go(live(arrival(text=1, offset=5)))

    planned = plan(arrival(text=1, offset=9), stub, NOW)

    assert (planned.change, planned.record.version) == ("returned", stub.version + 1)
    assert (planned.record.state, planned.former) == ("live", None)


@pytest.mark.parametrize("go", GONE.values(), ids=GONE)
@pytest.mark.parametrize("offset", [4, 5])
def test_a_gone_page_stays_gone_for_whatever_its_stub_has_seen(
    go: Callable[[PageRecord], PageRecord], offset: int
) -> None:
    planned = plan(arrival(text=1, offset=offset), go(live(arrival(text=1, offset=5))), NOW)

    assert (planned.change, planned.is_write) == ("superseded", False)


def known(version: int, content: int = 0) -> KnownVersion:
    """Return what the clusters know of the page."""
    return KnownVersion(Handle(1), version, content)


def test_a_record_that_has_caught_up_with_the_clusters_is_not_claimed() -> None:
    """Another daemon has decided this version and text while this one held an older record."""
    stored = live(arrival(text=1, offset=5))

    planned = plan(arrival(text=1, offset=9), stored, NOW, known=known(stored.version, stored.content))
    other = plan(arrival(text=1, offset=9), stored, NOW, known=known(stored.version, stored.content ^ 1))

    assert (planned.change, planned.record.version) == ("unchanged", stored.version)
    assert planned.record.is_made_by(Position(HERE, 5))
    assert (other.change, other.record.version) == ("claimed", stored.version + 1)


def test_an_undecided_version_is_claimed_by_a_position_that_brings_it_again() -> None:
    planned = plan(arrival(text=1, offset=9), live(arrival(text=1, offset=5)), NOW, known=known(0))

    assert (planned.change, planned.record.version) == ("claimed", 1)
    assert planned.record.is_made_by(Position(HERE, 9))
    assert planned.claimed_from == (Position(HERE, 5),)


def test_a_version_that_was_claimed_before_is_claimed_from_all_who_may_have_decided_it() -> None:
    first = live(arrival(text=1, offset=5))
    second = plan(arrival(text=1, offset=2, partition=THERE), first, NOW, known=known(0)).record

    third = plan(arrival(text=1, offset=9), second, NOW, known=known(0))

    assert third.claimed_from == (Position(HERE, 5), Position(THERE, 2))
    assert plan(arrival(text=1, offset=9), third.record, NOW).claimed_from == third.claimed_from
    assert third.record.former_makers == third.claimed_from
    assert plan(arrival(text=2, offset=10), third.record, NOW).record.former_makers == ()


def test_a_version_that_was_decided_since_the_clusters_were_asked_is_not_claimed() -> None:
    decided = msgspec.structs.replace(live(arrival(text=1, offset=5)), rank=17)

    planned = plan(arrival(text=1, offset=9), decided, NOW, known=known(0))

    assert (planned.change, planned.record.version, planned.record.rank) == ("unchanged", 1, 17)
    assert planned.record.is_made_by(Position(HERE, 5))


def test_a_decided_version_that_is_behind_what_the_clusters_know_is_claimed_above_it() -> None:
    decided = msgspec.structs.replace(live(arrival(text=1, offset=5)), rank=17)

    planned = plan(arrival(text=1, offset=9), decided, NOW, known=known(3))

    assert (planned.change, planned.record.version, planned.record.rank) == ("claimed", 4, 0)
    assert planned.record.is_made_by(Position(HERE, 9))


def test_a_claimed_version_that_its_former_position_has_decided_is_not_decided_again() -> None:
    claimed = plan(arrival(text=1, offset=9), live(arrival(text=1, offset=5)), NOW, known=known(0)).record
    decided = msgspec.structs.replace(claimed, rank=17)

    planned = plan(arrival(text=1, offset=9), decided, NOW)

    assert (planned.change, planned.is_write, planned.record) == ("unchanged", False, decided)
