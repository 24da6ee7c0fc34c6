import re
from typing import Any

import pytest

from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.errors import ConfigError
from neardup_stream.indexes.layout import MEAN_FILL, PERMUTED_FILL, RECORD_FILL, IndexConfig, IndexLayout


@pytest.mark.parametrize(
    ("expected_pages", "bucket_bits"),
    [(1, 0), (32 * 256, 0), (32 * 256 + 1, 1), (200_000, 5), (1_000_000, 7), (10**9, 8)],
    ids=["one-page", "all-buckets-full", "one-more", "a-site", "default", "prefix-ends"],
)
def test_bucket_bits_keep_the_mean_fill_as_far_as_the_prefix_reaches(
    expected_pages: int, bucket_bits: int
) -> None:
    layout = IndexLayout(IndexConfig(expected_pages=expected_pages))

    assert layout.bucket_bits == bucket_bits


@pytest.mark.parametrize("expected_pages", [16_385, 10**5, 10**6, 2 * 10**6])
def test_the_mean_fill_at_the_stated_size_is_above_half_and_at_most_full(expected_pages: int) -> None:
    layout = IndexLayout(IndexConfig(expected_pages=expected_pages, bands=12))

    for bits, fill in (
        (8 + layout.bucket_bits, PERMUTED_FILL),
        (8 + layout.band_bucket_bits, MEAN_FILL),
        (layout.shard_bits + layout.slot_bits, RECORD_FILL),
        (layout.cluster_slot_bits, MEAN_FILL),
    ):
        assert fill / 2 < expected_pages / 2**bits <= fill


@pytest.mark.parametrize(
    ("expected_pages", "bands", "bits"), [(10**6, 12, 7), (10**8, 12, 13), (10**8, 0, 8)]
)
def test_a_bucket_number_in_a_key_has_the_most_bits_of_any_table(
    expected_pages: int, bands: int, bits: int
) -> None:
    assert IndexLayout(IndexConfig(expected_pages=expected_pages, bands=bands)).key_bucket_bits == bits


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"expected_pages": 0}, "index.expected_pages (0)"),
        ({"expected_pages": 10**12 + 1}, "index.expected_pages (1000000000001)"),
        ({"bucket_cap": 0}, "index.bucket_cap (0)"),
        ({"bucket_cap": 10**6 + 1}, "index.bucket_cap (1000001)"),
        ({"oversized_considered": 0}, "IndexConfig.oversized_considered (0)"),
        ({"oversized_same_fingerprint": 0}, "IndexConfig.oversized_same_fingerprint (0)"),
        ({"oversized_candidates": 0}, "IndexConfig.oversized_candidates (0)"),
        ({"bands": -1}, "index.bands (-1)"),
        ({"bands": 33}, "index.bands (33)"),
        (
            {"permuted": PermutedConfig(10, 5), "bands": 5},
            "index.blocks (10) and index.distance_bits (5) take 252 tables and index.bands 5 more",
        ),
        ({"shards": 0}, "index.shards (0)"),
        ({"shards": 12}, "index.shards (12)"),
        ({"shards": 512}, "index.shards (512)"),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        IndexConfig(**config)


@pytest.mark.parametrize(
    "config",
    [
        {"expected_pages": 10**12},
        {"bucket_cap": 1},
        {"bucket_cap": 10**6},
        {"oversized_considered": 1},
        {"oversized_same_fingerprint": 1},
        {"oversized_candidates": 1},
        {"shards": 1},
        {"shards": 256},
        {"bands": 32},
        {"permuted": PermutedConfig(10, 5), "bands": 4},
    ],
)
def test_numbers_at_the_edge_are_taken(config: dict[str, Any]) -> None:
    IndexConfig(**config)


def test_a_prefix_of_eight_bits_is_taken() -> None:
    assert IndexLayout(IndexConfig(PermutedConfig(8, 7))).bucket_bits == 0


def test_a_prefix_shorter_than_a_leading_byte_is_refused() -> None:
    with pytest.raises(ConfigError, match=re.escape("index.blocks (9) with index.distance_bits (8)")):
        IndexLayout(IndexConfig(PermutedConfig(9, 8)))


@pytest.mark.parametrize(
    ("expected_pages", "kept_bits"),
    [(1, 8 + 0 + 16), (200_000, 8 + 4 + 16), (10**6, 8 + 6 + 16), (10**8, 32), (10**12, 32)],
    ids=["one-page", "a-site", "default", "all-bits-fit", "no-more-bits"],
)
def test_a_band_keeps_sixteen_bits_below_its_bucket_as_far_as_its_word_reaches(
    expected_pages: int, kept_bits: int
) -> None:
    layout = IndexLayout(IndexConfig(expected_pages=expected_pages, bands=1))
    band, *_ = layout.cuts

    assert 8 + band.bucket_bits + band.suffix_bits == kept_bits
    assert (1 <= band.suffix_bits <= 16, band.open_bits, band.member_suffix_bytes) == (True, 0, 0)


def test_band_tables_come_before_the_permuted_ones() -> None:
    layout = IndexLayout(IndexConfig(bands=10))

    assert [cut.open_bits for cut in layout.cuts] == [0] * 10 + [48] * 4
    assert layout.table_count == 14
