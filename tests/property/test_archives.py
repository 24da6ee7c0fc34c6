"""Laws of archives: a hash without gaps or clashes, keys that sort and return, one file for any memory."""

import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import KeyedPage, page_keys
from neardup_stream.archive.leb128 import NumberReader, put_numbers
from neardup_stream.archive.log_blocks import BLOCK_PAGES, LoggedPage, log_key, pack_block, unpack_block
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.perfect import PartHasher
from neardup_stream.archive.post_lists import MOST_POSTS, PostLists
from neardup_stream.archive.spills import PARTITIONS, PartitionedRows, SortedRows
from neardup_stream.archive.surt import surt_key, url_of_key
from neardup_stream.bits.packed import MAX_PACKED_BITS, bits_for, pack, unpack
from tests.archives import build_archive, frozen_page, keyed_page

words = st.integers(0, 2**64 - 1)
urls = st.from_regex(
    r"https?://[a-z]{1,3}(\.[a-z]{1,2}){0,2}(:[0-9]{1,4})?([/?#][\x20-\x7eéß]{0,9})?", fullmatch=True
)
names = st.one_of(urls, st.text(max_size=12))
logged_pages = st.builds(LoggedPage, names, names, st.integers(0, 2**45))


@given(st.sets(words, max_size=300))
def test_every_key_gets_a_slot_of_its_own(keys: set[int]) -> None:
    part = PartHasher().add(np.array(sorted(keys), np.uint64))

    assert sorted(part.slots.tolist()) == list(range(len(keys)))


@given(st.lists(st.sets(words, max_size=50), max_size=5))
def test_parts_number_their_slots_on(parts: list[set[int]]) -> None:
    hasher = PartHasher()

    slots = [slot for keys in parts for slot in hasher.add(np.array(sorted(keys), np.uint64)).slots.tolist()]

    assert sorted(slots) == list(range(sum(map(len, parts))))


@given(st.integers(1, MAX_PACKED_BITS), st.lists(words, max_size=200))
def test_packed_items_are_read_as_they_were_written(width: int, values: list[int]) -> None:
    kept = np.array([value & ((1 << width) - 1) for value in values], np.uint64)

    packed = np.frombuffer(pack(kept, width) + bytes(8), np.uint8)

    assert unpack(packed, width, np.arange(kept.size)).tolist() == kept.tolist()


@given(words)
def test_the_bits_for_a_number_hold_it(number: int) -> None:
    assert number < 1 << bits_for(number)


@given(st.lists(st.integers(0, 2**70), max_size=20), st.binary(max_size=5))
def test_numbers_are_read_as_they_were_written(numbers: list[int], rest: bytes) -> None:
    out = bytearray()
    put_numbers(numbers, out)

    reader = NumberReader(bytes(out) + rest, "here")

    assert reader.numbers(len(numbers)) == numbers
    assert reader.take(len(rest)) == rest


@given(st.integers(-(2**63), -1))
def test_numbers_below_0_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="0"):
        put_numbers([number], bytearray())
    with pytest.raises(ValueError, match="a number below 0"):
        pack_block([LoggedPage("a", "a", number)], [log_key(LoggedPage("a", "a", number))])


@given(names)
def test_a_log_key_returns_its_string(name: str) -> None:
    assert url_of_key(surt_key(name)) == name


@given(names, names)
def test_distinct_strings_have_distinct_log_keys(one: str, other: str) -> None:
    assert (surt_key(one) == surt_key(other)) == (one == other)


@given(st.lists(logged_pages, min_size=1, max_size=BLOCK_PAGES))
def test_a_log_block_returns_its_pages(pages: list[LoggedPage]) -> None:
    pages.sort(key=log_key)

    assert unpack_block(pack_block(pages, [log_key(page) for page in pages]), "a block") == pages


@given(st.lists(st.tuples(st.binary(max_size=3), st.binary(max_size=200)), max_size=50))
def test_rows_sort_the_same_whatever_memory_there_is(rows: list[tuple[bytes, bytes]]) -> None:
    expected = sorted((key, number, data) for number, (key, data) in enumerate(rows))
    for memory_bytes in (1, 2000, 10**6):
        with SortedRows(Path(tempfile.gettempdir()), memory_bytes) as sorter:
            for key, data in rows:
                sorter.add(key, data)
            assert [tuple(row) for row in sorter.in_order()] == expected


posts = st.lists(st.integers(0, 2**32 - 2), min_size=1, max_size=300) | st.sampled_from([[7], [7, 9]])


@given(st.lists(st.lists(posts, max_size=6), max_size=4), st.sampled_from([2, 1 << 10]))
def test_a_list_of_pages_is_written_once_while_it_is_remembered(
    parts: list[list[list[int]]], most_remembered: int
) -> None:
    lists = PostLists(most_remembered)
    written, remembered = bytearray(), dict[bytes, int]()
    for part in parts:
        pages = np.array([page for of_key in part for page in of_key], np.uint32)
        ends = np.cumsum([len(of_key) for of_key in part], dtype=np.int64)
        expected = []
        for of_key in part:
            packed = bytes(_packed_posts(of_key))
            name = np.sort(np.array(of_key, np.uint32)).tobytes()
            if name not in remembered:
                if len(remembered) == most_remembered:
                    remembered.clear()
                remembered[name] = len(written)
                written += packed
            expected.append(remembered[name])

        before = len(written)
        offsets, new = lists.add(pages, np.concatenate([[0], ends[:-1]])[: ends.size], ends)

        assert offsets.tolist() == expected
        assert written[before - len(new) :] == new


def _packed_posts(pages: list[int]) -> bytearray:
    """Return a list of pages as docs/archive-format.md describes it."""
    ascending = sorted(set(pages))
    count = len(ascending)
    listed = [ascending[place * count // MOST_POSTS] for place in range(MOST_POSTS)]
    chosen = listed if count > MOST_POSTS else ascending
    out = bytearray()
    put_numbers([count, chosen[0], *(page - former for former, page in pairwise(chosen))], out)
    return out


wide_rows = st.lists(st.tuples(words, st.integers(0, 2**32 - 1)), max_size=40)


@given(st.lists(wide_rows, max_size=5), st.sampled_from([1, 10**6]))
def test_a_partition_has_the_rows_that_begin_with_its_number_in_their_order(
    parts: list[list[tuple[int, int]]], memory_bytes: int
) -> None:
    dtype = np.dtype([("key", "<u8"), ("page", "<u4")])
    with PartitionedRows(dtype, Path(tempfile.gettempdir()), memory_bytes) as rows:
        for part in parts:
            rows.add(np.array(part, dtype))

        found = [rows.partition(number).tolist() for number in range(PARTITIONS)]

    for number, of_partition in enumerate(found):
        assert of_partition == [row for part in parts for row in part if row[0] >> 56 == number]


band_words = st.sampled_from([b"aaaa", b"bbbb", b"\xff\x00\xff\x00"])
views = st.lists(st.lists(band_words, max_size=4).map(b"".join), max_size=3)
keyed_pages = st.none() | st.builds(KeyedPage, words, views, st.just(0) | words)


@given(st.lists(keyed_pages, max_size=6))
def test_keys_of_pages_are_those_of_the_format_each_once_a_page(pages: list[KeyedPage | None]) -> None:
    expected = [(key, place) for place, page in enumerate(pages) if page for key in _keys_of(page)]

    keys, places = page_keys(pages)

    assert list(zip(keys.tolist(), places.tolist(), strict=True)) == expected


def _keys_of(page: KeyedPage) -> list[int]:
    """Return the keys of a page as docs/archive-format.md computes them."""
    numbered = [
        (2 << 32 | start // 4, int.from_bytes(view[start : start + 4], "big") ^ page.scope % (1 << 32))
        for view in page.views
        for start in range(0, len(view), 4)
    ]
    words = dict.fromkeys([(1 << 32, page.text_fingerprint ^ page.scope), *numbered])
    return [_mix(_mix(kind) ^ word) for kind, word in words]


def _mix(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD % (1 << 64)
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 % (1 << 64)
    return word ^ word >> 33


numbered_pages = st.builds(
    frozen_page,
    number=st.integers(0, 40),
    text=st.one_of(st.none(), st.integers(0, 5)),
    page_id=st.sampled_from(["", "", "a", "https://site0.example/page/7"]),
    whole=st.sampled_from([b"", b"w", b"whole"]),
    scope=st.sampled_from([0, 2**64 - 1]),
    is_short=st.booleans(),
)


@settings(max_examples=40)
@given(st.lists(numbered_pages, max_size=150))
def test_an_archive_finds_what_a_dictionary_finds(pages: list[FrozenPage]) -> None:
    latest = {page.logged.id: page for page in pages}
    by_key = defaultdict(set)
    for page in latest.values():
        for key in np.frombuffer(page.keys, np.uint64).tolist():
            by_key[key].add(page.logged)
    keys = np.concatenate([page_keys([keyed_page(number)]).keys for number in range(42)])
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "frozen.nda"
        build_archive(path, pages)
        index = FrozenIndex(path)

        found = index.probe(keys, np.arange(keys.size))

        by_query = defaultdict(set)
        for query, row in zip(found.queries.tolist(), found.rows.tolist(), strict=True):
            by_query[query].add(index.log.page(row))
        assert {keys[query]: rows for query, rows in by_query.items()} == {
            key: by_key[key] for key in keys.tolist() if key in by_key
        }
        assert dict(index.log.find(list(latest))).keys() == latest.keys()
        for row, sketch in enumerate(index.sketches(np.arange(len(latest)))):
            page = latest[index.log.page(row).id]
            assert sketch.text_fingerprint == page.text_fingerprint
            assert (sketch.whole, sketch.whole_count) == (page.whole, page.whole_count)


def test_the_same_pages_give_the_same_bytes_whatever_memory_there_is(tmp_path: Path) -> None:
    pages = [frozen_page(number % 5000, text=number % 3000) for number in range(6000)]
    files = []
    for memory_bytes in (1 << 26, 1 << 30):
        path = tmp_path / f"{memory_bytes}.nda"
        build_archive(path, pages, memory_bytes=memory_bytes)
        files.append(path.read_bytes())

    assert files[0] == files[1]
