"""What is kept of the records of a topic."""

from neardup_stream.invariants.inputs import Content, Input, read_inputs
from neardup_stream.streams.memory.streams import numbered
from tests.page_histories import SHORT, text_of
from tests.page_histories import Content as Text
from tests.pipelines import Pipeline, page_json

PAGE = "https://example.com/a"


def read(*values: bytes | None, key: bytes | None = None) -> list[Input]:
    records = numbered(values, keys=[key] * len(values))
    return read_inputs(records, Pipeline(statuses=frozenset({200})).preparation())


def test_each_record_is_what_the_pipeline_takes_it_for_in_the_order_given() -> None:
    found = read(
        page_json("a", text_of(Text(1, 0))),
        b"no JSON",
        None,
        page_json("a", "x", status=404),
        key=PAGE.encode(),
    )

    assert [(each.position.offset, each.kind) for each in found] == [
        (0, "page"),
        (1, "rejected"),
        (2, "forget"),
        (3, "skipped"),
    ]
    assert [each.page_ids for each in found] == [(PAGE,), (), (PAGE,), ()]


def test_a_rejected_record_names_the_limit_it_exceeds_or_else_the_reason() -> None:
    deep = page_json("a", "x").rstrip()[:-1] + b', "meta":' + 300 * b"[" + 300 * b"]" + b"}"

    found = read(deep, b"no JSON", page_json("a", "x"))

    assert [each.cause for each in found] == ["max_json_depth", "not_json", ""]


def test_a_forget_keeps_every_id_that_its_key_may_mean() -> None:
    (forget,) = read(None, key=b"https://example.com:443/a")

    assert forget.page_ids == ("https://example.com:443/a", PAGE)


def test_what_makes_a_recrawl_a_change_is_kept() -> None:
    same, again, other, short = (
        each.content
        for each in read(
            page_json("a", text_of(Text(1, 0))),
            page_json("b", text_of(Text(1, 0)), score=1),
            page_json("a", text_of(Text(1, 1))),
            page_json("a", text_of(SHORT)),
        )
    )

    assert same == again != other
    assert isinstance(short, Content)
    assert not short.has_enough_tokens
