"""How deep the JSON of a page may be nested."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
import pytest

from neardup_stream.errors import BadPage
from neardup_stream.wire.json_depth import MAX_JSON_DEPTH
from neardup_stream.wire.pages import PageDecoder
from tests.unit.wire.decoding import decode
from tests.unit.wire.records import record

_T = TypeVar("_T")

INSIDE_A_PAGE = MAX_JSON_DEPTH - 1


def arrays(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def objects(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def page_with(field: bytes, value: bytes) -> bytes:
    return b'{"url": "http://a/", "text": "x", "%b": %b}' % (field, value)


def beneath(frames: int, call: Callable[[], _T]) -> _T:
    return beneath(frames - 1, call) if frames else call()


def refused_limit(value: bytes, decoder: PageDecoder | None = None) -> str | None:
    with pytest.raises(BadPage, match="deeper than 256") as refused:
        decode(value, decoder)
    assert refused.value.reason == "over_limit"
    return refused.value.limit


@pytest.mark.parametrize("field", [b"meta", b"ignored"])
@pytest.mark.parametrize("nested", [arrays, objects])
def test_a_page_is_nested_up_to_the_limit_and_no_deeper(nested: Callable[[int], bytes], field: bytes) -> None:
    assert decode(page_with(field, nested(INSIDE_A_PAGE)))
    assert refused_limit(page_with(field, nested(INSIDE_A_PAGE + 1))) == "max_json_depth"


@pytest.mark.parametrize("frames", [0, 500])
def test_the_limit_does_not_depend_on_the_stack_of_the_reader(frames: int) -> None:
    assert beneath(frames, lambda: decode(page_with(b"meta", arrays(INSIDE_A_PAGE))))
    assert beneath(frames, lambda: refused_limit(page_with(b"meta", arrays(INSIDE_A_PAGE + 1))))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"[%b 0]" % (b"[]," * 1_000), id="side-by-side"),
        pytest.param(b'"%b"' % (b"[{" * 1_000), id="in-a-string"),
        pytest.param(b'"\\"%b"' % (b"[{" * 1_000), id="behind-an-escaped-quote"),
        pytest.param(b'"\\\\\\"%b"' % (b"[{" * 1_000), id="behind-an-escaped-backslash-and-quote"),
        pytest.param(b'{"%b": 1}' % (b"[{" * 1_000), id="in-a-name"),
    ],
)
def test_brackets_that_nest_nothing_do_not_count(value: bytes) -> None:
    assert decode(page_with(b"meta", value))


@pytest.mark.parametrize("string", [rb'"\\"', rb'"\\\\\\"', rb'"\""', b'"[]]]"'], ids=repr)
def test_brackets_behind_a_string_count(string: bytes) -> None:
    value = b"[%b, %b]" % (string, arrays(INSIDE_A_PAGE))

    assert refused_limit(page_with(b"meta", value)) == "max_json_depth"


def test_a_page_of_other_field_names_has_the_limit_too() -> None:
    decoder = PageDecoder(fields={"text": "content"})
    page = page_with(b"ignored", arrays(INSIDE_A_PAGE + 1)).replace(b"text", b"content")

    assert refused_limit(page, decoder) == "max_json_depth"


def test_what_is_too_deep_is_no_header() -> None:
    header = b'{"format": "json-pages-1.0", "ignored": %b}'

    assert PageDecoder().decode(record(header % arrays(INSIDE_A_PAGE)))
    with pytest.raises(BadPage):
        decode(header % arrays(INSIDE_A_PAGE + 1))


@pytest.mark.parametrize(
    "body", [{"html": "<p>" + "[" * 5_000}, {"text": "é" * 5_000}, {"body": b"x" * 5_000}]
)
def test_the_limit_holds_beside_any_content(body: dict[str, str | bytes]) -> None:
    page = msgspec.json.encode({"url": "http://a/", **body})

    assert decode(page)
    assert refused_limit(page[:-1] + b', "meta": %b}' % arrays(INSIDE_A_PAGE + 1)) == "max_json_depth"


def test_what_a_repeated_name_hides_counts_too() -> None:
    page = page_with(b"ignored", arrays(INSIDE_A_PAGE + 1))

    assert refused_limit(page[:-1] + b', "ignored": 1}') == "max_json_depth"


def test_scripts_are_not_looked_into() -> None:
    script = "if (a[0]) { f({b: [1]}); }\n" * 1_000

    assert decode(msgspec.json.encode({"url": "http://a/", "html": f"<script>{script}</script>"}))
