import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from neardup_daemon.index_schema import schema
from neardup_daemon.preparing import index_layout
from neardup_daemon.settings.settings import Settings

from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.stores.redis.index_formats import explain_difference, planned_pages

pages = st.one_of(st.integers(1, 20_000), st.integers(1, 10**12))


def settings(expected_pages: int, shards: int, blocks: int) -> Settings:
    default = Settings()
    index = replace(default.index, expected_pages=expected_pages, shards=shards, blocks=blocks)
    return replace(default, index=index)


def numbers(layout: IndexLayout) -> tuple[int, ...]:
    """Return the numbers of a layout that are in the names of keys, or say which key a page has."""
    tables = (layout.key_bucket_bits, layout.bucket_bits, layout.band_bucket_bits)
    return (*tables, layout.slot_bits, layout.cluster_slot_bits)


@given(one=pages, other=pages, shards=st.integers(0, 8).map(lambda bits: 1 << bits), blocks=st.integers(4, 6))
def test_plans_of_one_schema_give_the_same_keys(one: int, other: int, shards: int, blocks: int) -> None:
    first, second = settings(one, shards, blocks), settings(other, shards, blocks)

    if schema(first) == schema(second):
        assert numbers(index_layout(first)) == numbers(index_layout(second))


def test_an_index_of_one_substring_has_the_schema_it_had_before_there_were_more() -> None:
    assert "substrings" not in schema(Settings())
    halves = replace(Settings(), index=replace(Settings().index, blocks=3, substrings=2))
    assert schema(halves)["substrings"] == 2


def test_plans_that_differ_in_the_hashes_of_clusters_alone_have_different_schemas() -> None:
    small, larger = (settings(each, shards=16, blocks=4) for each in (100, 500))

    assert schema(small) != schema(larger)


@given(pages=pages, shards=st.integers(0, 8).map(lambda bits: 1 << bits), blocks=st.integers(4, 6))
def test_the_plans_named_are_those_that_have_the_schema(pages: int, shards: int, blocks: int) -> None:
    stored = schema(settings(pages, shards, blocks))

    least, most = planned_pages(stored)

    assert least <= pages <= most
    assert schema(settings(min(most, 10**12), shards, blocks)) == stored
    assert schema(settings(least, shards, blocks)) == stored
    if most < 10**12:
        assert schema(settings(most + 1, shards, blocks)) != stored


def test_a_difference_names_settings_and_rebuild_where_it_is_of_the_tables() -> None:
    stored = schema(Settings.load())
    planned = Settings.load(
        overrides=["index.expected_pages=20000000", "index.blocks=3", "index.substrings=2"]
    )

    refusal = explain_difference("nd", stored, schema(planned), "0.1.0")

    assert "index.expected_pages is 524289 to 1048576 there and 16777217 to 33554432 here" in refusal
    assert "index.blocks is 4 there and 3 here; index.substrings is 1 there and 2 here" in refusal
    assert "'neardup-stream rebuild --into PAGES'" in refusal
    assert "_bits" not in refusal


@pytest.mark.parametrize(
    ("override", "phrase"),
    [
        ("verdict.scheme=simhash", "verdict.scheme is 'sketch' there and 'simhash' here; use"),
        ("sketch.bins=320", "sketch.bins is 160 there and 320 here"),
        ("text.window_tokens=3", "text.window_tokens is 2 there and 3 here"),
        ("verdict.scope=host", "verdict.scope is 'everything' there and 'host' here"),
    ],
)
def test_a_difference_that_is_not_of_the_tables_takes_another_namespace(override: str, phrase: str) -> None:
    refusal = explain_difference(
        "nd", schema(Settings.load()), schema(Settings.load(overrides=[override])), "0.1.0"
    )

    assert phrase in refusal
    assert refusal.endswith("use those, or another namespace")
