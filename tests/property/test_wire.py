"""Laws of decoding pages and encoding events."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.errors import BadPage
from neardup_stream.event_parts import EventMatch, EventPage
from neardup_stream.events import DuplicateFound, Event
from neardup_stream.message import Message, Partition, Position, Record, Skipped
from neardup_stream.page import Page
from neardup_stream.wire.dead_letters import ENVELOPE_BYTES, TRUNCATED_BYTES, dead_letter
from neardup_stream.wire.events import event_id, from_message, to_message, to_structured
from neardup_stream.wire.pages import PageDecoder, forget_ids
from neardup_stream.wire.urls import _is_plainly_canonical, _spelled_canonically, canonical_url

SPELLING_PARTS = [
    *["http://", "HTTPS://", "ftp://", "//", "/", "/.", "/..", ".", "a", "A", "b.c", "~", "-", "_"],
    *[
        "%",
        "%25",
        "%2f",
        "%2F",
        "%41",
        "%C3%BC",
        "%zz",
        "%2e",
        "%0a",
        "3",
        "4",
        "1",
        "|",
        "\\",
        '"',
        "'",
        "(",
    ],
    *["?", "&", "=", "+", ";", "#", "@", ":", ":80", ":443", "[", "]", "[::01]", " ", "\t", "\n", "\0"],
    *["xn--", "xn--a", "ü", "ß", "。", "\uff11", "℀", "\u200d", "\ud800", "x" * 64],
]
spellings = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["http://", "https://", "http://a.b/", ""]),
        st.builds("".join, st.lists(st.sampled_from(SPELLING_PARTS), max_size=10)),
    ),
)
plain_urls = st.from_regex(
    r"\Ahttps?://[a-z0-9-]{1,3}(\.[a-z0-9-]{1,9})?(/[A-Za-z0-9_.~!$&'()*+,=:@-]{0,4}){1,3}"
    r"(\?[ab_.-]{1,2}=[a-c.-]{0,2}(&[ab_.-]{1,2}=[a-c.-]{0,2}){0,3})?\Z",
    fullmatch=True,
)

texts = st.text(max_size=20)
names = st.text(min_size=1, max_size=20)
positions = st.builds(Position, st.builds(Partition, names, st.integers(0, 2**31)), st.integers(0, 2**63 - 1))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
headers = st.lists(
    st.tuples(st.sampled_from(["a", "traceparent", "neardup.error.reason"]), st.binary(max_size=99))
)
records = st.builds(
    Record,
    position=positions,
    key=st.none() | st.binary(max_size=9),
    value=st.binary(max_size=99),
    headers=headers,
    timestamp_ms=st.integers(-(2**63), 2**63 - 1),
)


@given(spellings | plain_urls)
def test_canonicalizing_twice_is_canonicalizing_once(url: str) -> None:
    try:
        once = canonical_url(url)
    except BadPage:
        return

    assert canonical_url(once) == once


@given(spellings | plain_urls)
def test_a_url_recognized_as_canonical_is_what_parsing_makes_of_it(url: str) -> None:
    if _is_plainly_canonical(url):
        assert _spelled_canonically(url) == url


@given(st.permutations(["x=1", "x=2", "y-z=1", "y=", "a.b=c"]))
def test_the_order_of_a_query_makes_no_other_page(pairs: list[str]) -> None:
    assert canonical_url("http://a/?" + "&".join(pairs)) == "http://a/?a.b=c&x=1&x=2&y=&y-z=1"


@given(st.binary(max_size=60) | st.builds(msgspec.json.encode, json_values))
def test_any_bytes_are_a_page_or_a_bad_page(value: bytes) -> None:
    for decoder in (PageDecoder(), PageDecoder(fields={"url": "a.b"})):
        assert decoded(value, decoder)


@given(
    st.fixed_dictionaries(
        {"url": names},
        optional={"id": names, "status": st.integers(0, 999), "meta": json_values, "other": json_values},
    ),
    texts,
)
def test_a_page_under_foreign_names_is_the_same_page(fields: dict[str, Any], text: str) -> None:
    ours = msgspec.json.encode({**fields, "text": text})
    theirs = msgspec.json.encode({"target": {"at": fields}, "content": {"plain": text}})
    paths = {name: f"target.at.{name}" for name in ("url", "id", "status", "meta")}

    assert decoded(theirs, PageDecoder(fields={**paths, "text": "content.plain"})) == decoded(
        ours, PageDecoder()
    )


def decoded(value: bytes, decoder: PageDecoder) -> object:
    try:
        page = decoder.decode(Record(position=Position(Partition("t", 0), 0), key=None, value=value))
    except BadPage as error:
        return error.reason
    return page if isinstance(page, Skipped) else msgspec.json.encode(page)


@given(spellings.filter(bool), st.none() | names)
def test_a_forget_finds_the_page_by_its_id_or_by_its_url(url: str, given_id: str | None) -> None:
    page = {"url": url, "text": "x"} | ({} if given_id is None else {"id": given_id})
    try:
        value = msgspec.json.encode(page)
        decoded = PageDecoder().decode(Record(position=Position(Partition("t", 0), 0), key=None, value=value))
    except (BadPage, UnicodeEncodeError):
        return

    assert isinstance(decoded, Page)
    assert decoded.id in forget_ids((given_id or url).encode())


places = st.tuples(positions, st.sampled_from(["", "0193a", "0193b"]))


@given(places, places)
def test_two_event_ids_are_equal_only_for_the_same_event_of_one_index(
    a: tuple[Position, str], b: tuple[Position, str]
) -> None:
    assert (event_id("duplicate", *a) == event_id("duplicate", *b)) == (a == b)


@st.composite
def events(draw: st.DrawFn) -> Event:
    meta = draw(st.none() | json_values)
    page = EventPage(
        id=draw(names),
        url=draw(texts),
        version=draw(st.integers(1, 9)),
        fetched_at="2024-01-01T00:00:00.000Z",
        fingerprint=str(draw(st.integers(0, 2**64 - 1))),
        meta=msgspec.UNSET if meta is None else msgspec.Raw(msgspec.json.format(msgspec.json.encode(meta))),
    )
    match = EventMatch(id=draw(names), url=draw(texts), version=1, distance_bits=draw(st.integers(0, 64)))
    return Event(
        id=event_id("duplicate", draw(positions)),
        name="duplicate",
        source="/neardup/nd/pages",
        subject=page.id,
        time_ms=draw(st.integers(-(2**63), 2**63 - 1)),
        data=DuplicateFound(page=page, kind="near", matches=(match,), matches_total=1),
        trace=tuple(draw(st.lists(st.tuples(st.just("traceparent"), st.binary(max_size=9)), max_size=1))),
    )


@given(events())
def test_one_event_has_one_rendering_and_both_modes_say_the_same(event: Event) -> None:
    again = msgspec.structs.replace(event)

    assert to_message(event) == to_message(again)
    assert to_structured(event) == to_structured(again)
    binary = msgspec.json.encode(from_message(to_message(event)))
    structured = msgspec.json.encode(from_message(Message(key=None, value=to_structured(event))))
    assert msgspec.json.decode(binary) == msgspec.json.decode(structured)


@given(events())
def test_an_event_in_a_file_is_one_line(event: Event) -> None:
    assert to_structured(event).splitlines() == [to_structured(event)]


@given(records, texts, st.integers(ENVELOPE_BYTES, TRUNCATED_BYTES))
def test_a_dead_letter_fits_and_begins_as_the_record_did(record: Record, detail: str, limit: int) -> None:
    large = msgspec.structs.replace(record, value=(record.value or b"") * 1000)

    letter = dead_letter(large, BadPage("not_json", detail), limit)

    assert letter.size_bytes <= limit
    assert large.value is not None
    assert large.value.startswith(letter.value or b"")
    own = [name for name, _ in letter.headers if name.startswith("neardup.error.")]
    assert len(own) == len(set(own))


@given(records, st.integers(0, 3))
def test_a_dead_letter_replayed_and_refused_again_is_the_same(record: Record, times: int) -> None:
    error = BadPage("not_json", "x")
    first = letter = dead_letter(record, error, None)

    for _ in range(times):
        letter = dead_letter(msgspec.structs.replace(record, headers=letter.headers), error, None)

    assert letter == first
