from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from neardup_daemon.first_dead_letters import FIRST_DEAD_LETTERS
from neardup_daemon.producing import Limits, Produced, key_of, messages_of

from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.message import Message, Partition, Position, Record, Skipped
from neardup_stream.page import Page, PageId
from neardup_stream.streams.files.source import FileSource
from neardup_stream.wire.pages import PageDecoder, foreign_fields
from neardup_stream.wire.presets import Preset

PAGE = Page(id=PageId("a"), url="http://a.example/", fetched_at_seconds=0, text="words")


def records(*decoded: Page | Skipped | BadPage | None) -> Sequence[Record]:
    return [
        Record(position=Position(Partition("file", 0), offset), key=None, value=b'{"url": "u"}', decoded=each)
        for offset, each in enumerate(decoded)
    ]


def test_every_record_is_published_or_counted() -> None:
    produced = Produced()
    bad = BadPage("bad_encoding", "the body is labelled gzip: it is cut off")

    messages = messages_of(
        records(PAGE, bad, Skipped("warc_type"), None, Skipped("warc_type"), bad),
        Limits(1000, 1000),
        produced,
    )

    assert [message.key for message in messages] == [b"a", b"u"]
    assert produced.bad == {"bad_encoding": 2}
    assert produced.skipped == {"warc_type": 2}
    assert produced.first_bad.lines == [f"record {offset}: {bad}" for offset in (2, 6)]


def test_an_outcome_is_that_of_records_and_not_of_the_source_that_names_them() -> None:
    assert Produced(place_of=lambda position: f"line {position.offset}") == Produced()
    assert Produced(published=1) != Produced()


def test_only_the_first_bad_pages_are_shown() -> None:
    produced = Produced()

    messages_of(records(*[BadPage("bad_url", "empty")] * 20), Limits(1000, 1000), produced)

    assert (len(produced.first_bad.lines), produced.bad["bad_url"]) == (FIRST_DEAD_LETTERS, 20)


@pytest.mark.parametrize(
    ("max_page_bytes", "max_message_bytes", "remedy"),
    [(11, 1000, "raise limits.max_page_bytes"), (1000, 12, "raise its max.message.bytes")],
    ids=["cut-by-the-reader", "too-large-for-the-topic"],
)
def test_a_page_that_is_too_large_ends_the_run_or_is_counted(
    max_page_bytes: int, max_message_bytes: int, remedy: str
) -> None:
    produced = Produced()

    assert (
        messages_of(records(None), Limits(max_page_bytes, max_message_bytes, skips_too_large=True), produced)
        == []
    )
    assert produced.bad == {"over_limit": 1}
    with pytest.raises(ConfigError, match=rf"{remedy}; or leave such pages out with --skip-too-large"):
        messages_of(records(None), Limits(max_page_bytes, max_message_bytes), produced)


def test_a_page_of_an_archive_is_as_large_as_the_message_that_the_daemon_reads() -> None:
    page = replace(PAGE, text=None, body=bytes(900))
    (message,) = messages_of(records(page), Limits(2000, None), Produced())
    assert message.value is not None
    size_bytes = len(message.value)
    assert size_bytes > 1200

    assert len(messages_of(records(page), Limits(size_bytes, None), Produced())) == 1
    with pytest.raises(ConfigError, match=r"raise limits\.max_page_bytes"):
        messages_of(records(page), Limits(size_bytes - 1, None), Produced())


def test_a_page_as_large_as_may_be_is_published() -> None:
    assert len(messages_of(records(None), Limits(12, 13), Produced())) == 1


SAMPLES = Path(__file__).parents[2] / "data" / "crawlers"
PRESET_SAMPLES: Sequence[tuple[Preset, str]] = [
    ("scrapy", "scrapy-1.jsonl"),
    ("browsertrix", "browsertrix-1.jsonl"),
    ("nutch", "nutch-dump-1.jsonl"),
    ("nutch", "nutch-response-1.warc"),
    ("nutch", "nutch-resource-1.warc"),
]


@pytest.mark.parametrize(("preset", "sample"), PRESET_SAMPLES)
@pytest.mark.parametrize("is_set_in_the_daemon", [True, False], ids=["same-preset", "no-preset"])
async def test_pages_of_crawlers_are_published_as_dedup_reads_them_under_their_ids(
    preset: Preset, sample: str, *, is_set_in_the_daemon: bool
) -> None:
    async with FileSource([str(SAMPLES / sample)], 1 << 20) as source:
        read = list(await source.read(100, 1 << 24))

    messages = messages_of(read, Limits(1 << 20, None), Produced(), foreign_fields({}, preset))

    reading = PageDecoder(preset=preset)
    pages = [page for record in read if isinstance(page := reading.decode(record), Page)]
    decoder = PageDecoder(preset=preset if is_set_in_the_daemon else "none")
    published = [decoder.decode(_consumed(message)) for message in messages]
    assert [_fields(page) for page in published] == [_fields(page) for page in pages]
    assert [message.key for message in messages] == [page.id.encode() for page in pages]


def _consumed(message: Message) -> Record:
    """Return what the daemon reads."""
    position = Position(Partition("pages", 0), 0)
    return Record(position=position, key=message.key, value=message.value, headers=message.headers)


def _fields(page: Page | Skipped) -> tuple[object, ...]:
    assert isinstance(page, Page)
    body = None if page.body is None else bytes(page.body)
    return (page.id, page.url, page.html, page.text, body, page.content_type, page.status)


def test_a_line_that_cannot_be_rewritten_is_sent_unchanged() -> None:
    deep = b'{"target": {"url": "u"}, "other": %b}' % (b"[" * 300 + b"]" * 300)
    lines = [b"no JSON", b'{"url": "u", "other": "\xff"}', b'{"target": 1}', b"[" * 100_000, deep]
    foreign = foreign_fields({"url": "target.url"}, "none")

    messages = [messages_of([_line(line)], Limits(1 << 20, None), Produced(), foreign)[0] for line in lines]

    assert [message.value for message in messages] == lines
    assert [message.headers for message in messages] == [()] * len(lines)


def test_what_the_preset_of_a_crawler_skips_is_counted_and_not_published() -> None:
    image = b'{"url": "u", "response": {"headers": {"Content-Type": "image/png"}, "body": "PNG"}}'
    produced = Produced()

    messages = messages_of([_line(image)], Limits(1 << 20, None), produced, foreign_fields({}, "nutch"))

    assert (messages, produced.skipped) == ([], {"content_type": 1})


def _line(line: bytes) -> Record:
    return Record(position=Position(Partition("file", 0), 0), key=None, value=line)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"url": "http://a.example/", "html": ""}', b"http://a.example/"),
        (b'{"url": "http://a.example/", "id": "a"}', b"a"),
        (b'{"html": ""}', None),
        (b"no JSON", None),
        (b'{"url": "\xff"}', None),
        (b'{"url": 1}', None),
        (b'{"url": "a", "x": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", None),
        (b"[" * 1_000_000, None),
    ],
    ids=["url", "id", "neither", "no-json", "no-utf-8", "wrong-type", "nested", "nested-and-cut-off"],
)
def test_a_line_is_published_under_its_id_or_url_and_without_a_key_where_it_has_none(
    line: bytes, key: bytes | None
) -> None:
    assert key_of(line) == key
