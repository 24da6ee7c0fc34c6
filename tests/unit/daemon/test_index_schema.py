from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from neardup_daemon.index_schema import schema
from neardup_daemon.preparing import index_layout
from neardup_daemon.settings.settings import Settings

from neardup_stream.indexes.layout import IndexLayout

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
