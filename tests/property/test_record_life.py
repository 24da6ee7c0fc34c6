"""The life of one page, in whatever order records, forgets, expiry and sweeps come, and come again."""

from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.message import Partition, Position, RecordMetadata
from neardup_stream.page import Fingerprint64, Page, PageId
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.forgetting import plan_forget
from neardup_stream.pipeline.register import plan
from neardup_stream.stores.page_record import PageRecord

NOW = 1_790_000_000


class Crawled(NamedTuple):
    """A record of the page, with a text and enough tokens, or too few."""

    partition: int
    offset: int
    text: int
    has_enough_tokens: bool


class Asked(NamedTuple):
    """A record that wants the page forgotten."""

    partition: int
    offset: int


class Mark(NamedTuple):
    """A sweep finds the page unseen for long."""


class Finish(NamedTuple):
    """A sweep continues with an expiring page."""


class Drop(NamedTuple):
    """A sweep finds the stub old."""


Step = Crawled | Asked | Mark | Finish | Drop


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Steps of one page: each position is one record for ever, however often it comes."""
    what = {
        (partition, offset): draw(
            st.one_of(
                st.builds(Asked, st.just(partition), st.just(offset)),
                st.builds(
                    Crawled,
                    st.just(partition),
                    st.just(offset),
                    st.integers(1, 2),
                    st.sampled_from([True, False]),
                ),
            )
        )
        for partition in range(2)
        for offset in range(5)
    }
    sweeps: list[Step] = [Mark(), Finish(), Drop()]
    return draw(st.lists(st.sampled_from([*what.values(), *what.values(), *sweeps]), max_size=40))


class Life:
    """Takes steps as the pipeline and the sweeper do."""

    def __init__(self) -> None:
        self.record: PageRecord | None = None
        self.floor = 0

    def take(self, step: Step) -> str:
        """Apply a step; what it changes, in a word, empty for a sweep."""
        match step:
            case Crawled():
                planned = plan(arrival(step), self.record, NOW, self.floor)
                self.record = planned.record
                return planned.change
            case Asked() if self.record is not None:
                forgotten = plan_forget(position(step), self.record, NOW)
                self.record = forgotten.record
                return forgotten.result
            case Mark() if self.record is not None and self.record.state == "live":
                self.record = self.record.expiring()
            case Finish() if self.record is not None and self.record.state in ("expiring", "short"):
                self.record = self.record.expired(NOW)
            case Drop() if self.record is not None and self.record.state == "gone":
                self.floor, self.record = max(self.floor, self.record.version), None
        return ""


def position(step: Crawled | Asked) -> Position:
    return Position(Partition("pages", step.partition), step.offset)


def arrival(step: Crawled) -> Arrival:
    return Arrival(
        record=RecordMetadata(position=position(step)),
        page=Page(id=PageId("page"), url="page", fetched_at_seconds=0),
        fingerprint=Fingerprint64(step.text),
        text_fingerprint=step.text,
        token_count=100,
        has_enough_tokens=step.has_enough_tokens,
    )


@given(histories())
def test_a_version_is_made_once_and_never_again(steps: list[Step]) -> None:
    life, made = Life(), [0]
    for step in steps:
        change = life.take(step)
        if change in ("new", "changed", "returned", "forgotten"):
            assert life.record is not None
            assert life.record.version > made[-1]
            made.append(life.record.version)
        elif life.record is not None:
            assert life.record.version == made[-1]


@given(histories())
def test_what_was_taken_once_changes_nothing_when_it_comes_again(steps: list[Step]) -> None:
    life = Life()
    for step in steps:
        life.take(step)
        before = life.record
        if before is None or not isinstance(step, Crawled | Asked):
            continue

        assert life.take(step) in ("replayed", "unchanged", "superseded")
        assert life.record == before


@given(histories())
def test_offsets_never_fall_while_there_is_a_record(steps: list[Step]) -> None:
    life, partitions = Life(), [Partition("pages", number) for number in range(2)]
    for step in steps:
        before = life.record
        life.take(step)
        if before is not None and life.record is not None:
            for partition in partitions:
                assert (life.record.last_applied(partition) or 0) >= (before.last_applied(partition) or 0)


@given(histories())
def test_one_partition_in_order_ends_with_its_last_record(steps: list[Step]) -> None:
    life = Life()
    ordered = sorted({step for step in steps if isinstance(step, Crawled | Asked) and step.partition == 0})
    for step in ordered:
        life.take(step)

    last = ordered[-1] if ordered else None
    if isinstance(last, Crawled):
        assert life.record is not None
        assert life.record.state == ("live" if last.has_enough_tokens else "short")
        assert life.record.text_fingerprint == last.text
    else:
        assert life.record is None or life.record.state == "gone"


@given(histories(), st.integers(0, 2**48 - 1))
def test_every_record_of_a_life_survives_packing(steps: list[Step], rank: int) -> None:
    life = Life()
    for step in steps:
        life.take(step)
        if life.record is not None:
            ranked = msgspec.structs.replace(life.record, rank=rank)
            assert PageRecord.unpack(ranked.pack()) == ranked
