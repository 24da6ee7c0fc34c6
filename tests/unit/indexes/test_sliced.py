"""The term search over an archive: what it finds, drops falsely, forgets, and refuses to read."""

import os
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.gone import read_gone, write_gone
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.archive.rewriting import rewrite_archive
from neardup_stream.archive.search_tiles import MAX_TILE_PAGES
from neardup_stream.archive.texts import KeptTexts
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.indexes.false_drops import Found, expected_false_drops
from neardup_stream.indexes.queries import parse_query
from neardup_stream.indexes.query_logic import bounds
from neardup_stream.indexes.settling import settle_by_kept_texts
from neardup_stream.indexes.sliced import SearchAnswer, SlicedIndex
from neardup_stream.indexes.slicing import SlicesWriter, sampled_step
from tests.archives import SCHEMA, build_archive, frozen_page
from tests.searches import build_searched, searched_pages

_RECOGNIZED_BYTES = 10
"""Magic and version: where they differ it is another kind of file."""

_STEP = 41
"""Of what other tests flip, one byte in so many is flipped."""

_TEXTS = ["cold war", "war and peace", "a press release on peace", "", "release the press", *["the end"] * 20]
_QUERIES = ("peace", "war NOT cold", '"press release"', "the", "NOT the")


def said(answer: SearchAnswer) -> tuple[list[int], list[int], float]:
    return answer.yes.tolist(), answer.maybe.tolist(), answer.expected_false_drops


def answers(path: Path) -> object:
    """Everything that an archive says to some queries."""
    index = SlicedIndex.open(path)
    return [said(index.search(query)) for query in _QUERIES], index.archive.facts["search"]


def estimate(index: SlicedIndex, answer: SearchAnswer) -> float:
    """Return the false drops that are expected, also where there are fewer maybes."""
    tiles, bound = index.tiles, answer.query
    bitmaps = {term: tiles.find(term) for term in bound.distinct}
    exact = {term for term in bitmaps if tiles.private_slice(term) >= 0}
    possible = bounds(bound, bitmaps, exact).possible & tiles.pages
    return expected_false_drops(tiles, bound, Found(bitmaps, exact, tiles.pages), possible)


def rewrite(path: Path, output: Path) -> None:
    archive = LoggedArchive(path)
    with ArchiveWriter(output) as writer:
        rewrite_archive(archive, read_gone(path, archive.header), writer, output.parent)


def test_pages_are_found_by_rare_and_frequent_words(tmp_path: Path) -> None:
    rows = build_searched(tmp_path / "a.nda", _TEXTS)
    index = SlicedIndex.open(tmp_path / "a.nda")

    peace, end = index.search("peace"), index.search("end")

    assert {rows[1], rows[2]} <= set(peace.maybe.tolist())
    assert peace.yes.size == 0
    assert end.yes.tolist() == sorted(rows[5:])
    assert said(end)[1:] == ([], 0.0)


def test_an_archive_is_named_by_a_path_or_a_string_and_asked_a_query(tmp_path: Path) -> None:
    build_searched(tmp_path / "a.nda", _TEXTS)
    index: Any = SlicedIndex.open(str(tmp_path / "a.nda"))

    assert said(index.search("peace")) == said(index.search(parse_query("peace")))
    for query in (b"peace", None):
        with pytest.raises(TypeError, match=r"expected a text \(str\), got"):
            index.search(query)


def test_a_phrase_is_a_maybe_until_a_text_settles_it(tmp_path: Path) -> None:
    rows = build_searched(tmp_path / "a.nda", _TEXTS)
    index = SlicedIndex.open(tmp_path / "a.nda")

    answer = index.search('"the end"')
    settled = settle_by_kept_texts(index.search('"press release"'), KeptTexts(index.archive))

    assert answer.yes.size == 0
    assert answer.maybe.tolist() == sorted(rows[5:])
    assert said(settled) == ([rows[2]], [], 0.0)


def test_an_answer_that_is_settled_in_part_keeps_the_rest() -> None:
    answer = SearchAnswer(None, np.array([1]), np.array([0, 2, 3, 5]), 2.0)  # type: ignore[arg-type]

    settled = answer.settled({0: True, 3: False, 7: True})

    assert said(settled) == ([0, 1], [2, 5], 1.0)


def test_forgotten_pages_are_not_found_and_a_rewrite_leaves_no_bit_of_them(tmp_path: Path) -> None:
    path, rewritten = tmp_path / "a.nda", tmp_path / "b.nda"
    rows = build_searched(path, _TEXTS)
    write_gone(path, SlicedIndex.open(path).archive.header, [rows[1], rows[5]])
    before = [set(map(int, np.concatenate(said(SlicedIndex.open(path).search(q))[:2]))) for q in _QUERIES]

    rewrite(path, rewritten)

    after = SlicedIndex.open(rewritten)
    assert [set(map(int, np.concatenate(said(after.search(q))[:2]))) for q in _QUERIES] == before
    assert not any({rows[1], rows[5]} & found for found in before)
    after.archive.file.check_all()
    index = SlicedIndex.open(path)
    all_bits, left = (
        int(np.bitwise_count(each.archive.file.section("search.bits")).sum()) for each in (index, after)
    )
    assert left < all_bits
    alone = tmp_path / "c.nda"
    build_searched(alone, _TEXTS)
    write_gone(alone, SlicedIndex.open(alone).archive.header, list(range(len(_TEXTS))))
    rewrite(alone, tmp_path / "d.nda")
    assert not SlicedIndex.open(tmp_path / "d.nda").archive.file.section("search.bits").any()


def test_false_drops_are_as_many_as_estimated_for_every_kind_of_query(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lengths = np.maximum(5, rng.lognormal(3.5, 0.6, 4000).astype(int))
    vocabulary = np.array([f"w{n}" for n in range(3000)])
    weights = 1 / np.arange(1, 3001) ** 0.6
    chosen = (rng.choice(vocabulary, size, p=weights / weights.sum()) for size in lengths.tolist())
    build_searched(tmp_path / "a.nda", [" ".join(words) for words in chosen], false_drops=10)
    index = SlicedIndex.open(tmp_path / "a.nda")
    texts = KeptTexts(index.archive)
    for kind in ("{0}", "{0} AND {1}", "{0} OR {1}", "{0} NOT {1}", "{2} AND ({0} OR {1})"):
        predicted = measured = 0.0
        for _ in range(100):
            words = [*rng.choice(vocabulary[50:], 2, replace=False), rng.choice(vocabulary[:20])]
            answer = index.search(kind.format(*words))
            settled = settle_by_kept_texts(answer, texts)
            predicted += estimate(index, answer)
            measured += answer.yes.size + answer.maybe.size - settled.yes.size
        assert predicted > 20, kind
        assert abs(measured - predicted) < 0.25 * predicted, kind


def test_a_class_of_many_pages_fills_several_tiles(tmp_path: Path) -> None:
    texts = [f"one{n % 5} two three{n} four{n}" for n in range(MAX_TILE_PAGES + 9)]
    rows = build_searched(tmp_path / "a.nda", texts)
    index = SlicedIndex.open(tmp_path / "a.nda")

    assert sorted(index.tiles.page_counts.tolist()) == [9, MAX_TILE_PAGES]
    for number in (0, 7, MAX_TILE_PAGES - 1, MAX_TILE_PAGES + 8):
        answer = index.search(f"three{number} two")
        assert rows[number] in answer.maybe.tolist()
        assert answer.maybe.size < 20
    assert index.search("two").yes.tolist() == list(range(len(texts)))


def test_long_pages_get_longer_signatures_and_words_beyond_their_width_still_are_found(
    tmp_path: Path,
) -> None:
    texts = [" ".join(f"w{n}x{i}" for i in range(60_000 if n == 0 else 5)) for n in range(12)]
    rows = build_searched(tmp_path / "a.nda", texts)
    index = SlicedIndex.open(tmp_path / "a.nda")

    for number, word in ((0, "w0x59999"), (0, "w0x7"), (3, "w3x4")):
        assert rows[number] in index.search(word).maybe.tolist()


def test_an_archive_without_pages_is_searched_and_finds_nothing(tmp_path: Path) -> None:
    build_searched(tmp_path / "a.nda", [])
    index = SlicedIndex.open(tmp_path / "a.nda")

    assert [said(index.search(query)) for query in ("a", "NOT a")] == [([], [], 0.0)] * 2


def test_pages_too_short_to_be_judged_are_searched_too(tmp_path: Path) -> None:
    rows = build_searched(tmp_path / "a.nda", ["", "secret", *["the end"] * 9])

    answer = SlicedIndex.open(tmp_path / "a.nda").search("NOT end")

    assert set(answer.yes.tolist()) == {rows[0], rows[1]}


def test_an_archive_without_search_is_refused_with_the_remedy(tmp_path: Path) -> None:
    build_archive(tmp_path / "a.nda", [frozen_page(1)])

    with pytest.raises(ConfigError, match=r"frozen without search: .* '--with search'"):
        SlicedIndex.open(tmp_path / "a.nda")


def test_the_same_pages_give_the_same_bytes_whatever_memory_there_is(tmp_path: Path) -> None:
    pages = searched_pages([" ".join(f"w{n * i % 997}" for i in range(n % 40)) for n in range(3000)])
    files = []
    for memory_bytes in (LEAST_MEMORY_BYTES, 1 << 30):
        path = tmp_path / f"{memory_bytes}.nda"
        with (
            ArchiveWriter(path) as writer,
            ArchiveBuilder(
                writer, tmp_path, memory_bytes, [SlicesWriter(tmp_path, memory_bytes // 512)]
            ) as builder,
        ):
            for page in pages:
                builder.add(page)
            builder.finish({"schema": SCHEMA})
        files.append(path.read_bytes())

    assert files[0] == files[1]


def test_the_sample_of_frequent_words_is_sorted_in_bounded_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    terms_per_page, page_count = 4096, 512
    common = np.sort(rng.integers(0, 1 << 63, 40, np.uint64))
    sampled_bytes = 8 * page_count * (terms_per_page + common.size)
    logged = frozen_page(1).logged
    with SlicesWriter(tmp_path, 1 << 20) as writer:
        for first_row in range(page_count):
            own = rng.integers(0, 1 << 63, terms_per_page, np.uint64)
            writer.add([FrozenPage(logged, terms=np.union1d(own, common).tobytes())], first_row)
        tracemalloc.start()
        frequent = writer.facts()["frequent_terms"]
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert frequent == common.size
    assert peak_bytes < sampled_bytes


def test_of_long_pages_fewer_are_sampled_and_never_none() -> None:
    usual, long, one = np.full(40_000, 150), np.full(16_384, 1 << 16), np.full(1, 1 << 29)

    assert [sampled_step(counts) for counts in (usual, long, one)] == [3, 4, 1]


def test_every_flipped_byte_is_an_error_or_changes_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.nda"
    build_searched(path, _TEXTS)
    sound, expected = path.read_bytes(), answers(path)
    sections = LoggedArchive(path).file.sections.values()
    own = {
        at
        for section in sections
        if section.name.startswith("search")
        for at in range(section.offset, section.offset + section.size_bytes)
        if sound[at]
    }
    positions = [at for at in range(len(sound)) if at in own or at % _STEP == 0]
    damaged = tmp_path / "damaged.nda"
    damaged.write_bytes(sound)

    with damaged.open("r+b", buffering=0) as file:
        for at in positions:
            file.seek(at)
            file.write(bytes([sound[at] ^ 1 << at % 8]))
            with suppress(ConfigError if at < _RECOGNIZED_BYTES else CorruptData):
                assert answers(damaged) == expected, at
            if at >= PAGE_BYTES:
                with pytest.raises(CorruptData):
                    ArchiveFile(damaged).check_all()
            file.seek(at)
            file.write(sound[at : at + 1])


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.nda"
    build_searched(path, _TEXTS)
    path.chmod(0o600)

    for cut in range(path.stat().st_size - 1, 0, -977):
        os.truncate(path, cut)
        with pytest.raises(CorruptData):
            SlicedIndex.open(path)
