"""Passages, tiles and texts of archives with right checksums, whose numbers do not fit, are damaged."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from neardup_daemon.inspect.archive_facts import check_archive

from neardup_stream.archive.layout import Section
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.archive.rewriting import rewrite_archive
from neardup_stream.archive.search_tiles import SearchTiles
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import CorruptData
from tests.archives import build_archive, frozen_page, text_writers
from tests.false_archives import falsify, restate
from tests.searches import build_searched

TEXT = "what the first page says is said by no other one and nothing else is said by this page but that"


@pytest.fixture
def quoted(tmp_path: Path) -> Path:
    path = tmp_path / "quoted.nda"
    build_archive(
        path,
        [frozen_page(number, content=f"{number} {TEXT}") for number in range(3)],
        parts=text_writers(tmp_path),
    )
    return path


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    path = tmp_path / "searched.nda"
    build_searched(path, ["cold war", "war and peace", *["the end"] * 20])
    return path


def rewrite(path: Path) -> None:
    index = LoggedArchive(path)
    with ArchiveWriter(path.with_name("rewritten.nda")) as writer:
        rewrite_archive(index, np.zeros(index.header.page_count, np.bool_), writer, path.parent)


def first_items(path: Path) -> tuple[int, bytes]:
    """Return where the items of the first block of passages begin, and its bytes from there on."""
    block = LoggedArchive(path).file.section("passages.blocks")[:PAGE_BYTES].tobytes()
    at = 8 * (1 + int.from_bytes(block[2:4], "little"))
    return at, block[at:]


def test_entries_of_passages_that_are_not_in_their_order_are_not_rewritten(quoted: Path) -> None:
    rewrite(quoted)
    quoted.with_name("rewritten.nda").unlink()
    at, items = first_items(quoted)
    falsify(quoted, "passages.blocks", at, bytes(len(items)))

    with pytest.raises(CorruptData, match=r"'passages\.blocks'"):
        rewrite(quoted)


def test_an_entry_of_a_page_that_is_not_there_is_not_rewritten(quoted: Path) -> None:
    at, items = first_items(quoted)
    falsify(quoted, "passages.blocks", at, bytes([items[0] | 3]))

    with pytest.raises(CorruptData, match=r"'passages\.blocks'"):
        rewrite(quoted)


def test_a_block_of_more_entries_than_there_is_room_for_is_not_read(quoted: Path) -> None:
    falsify(quoted, "passages.blocks", 0, b"\xff\xff")

    with pytest.raises(CorruptData, match=r"'passages\.blocks'"):
        rewrite(quoted)
    with pytest.raises(CorruptData, match=r"'passages\.blocks'"):
        PassageLists(LoggedArchive(quoted)).find(np.array([1 << 63], np.uint64), 20)


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("passages.tokens", lambda section: section._replace(item_bits=0)),
        ("passages.tokens", lambda section: section._replace(item_count=2)),
        ("passages.firsts", lambda section: section._replace(size_bytes=section.size_bytes + 1)),
        ("passages.common", lambda section: section._replace(size_bytes=8)),
    ],
)
def test_sections_of_passages_that_do_not_fit_are_damage_wherever_they_are_opened(
    quoted: Path, name: str, stated: Callable[[Section], Section]
) -> None:
    assert check_archive(quoted).endswith("sound")
    restate(quoted, name, stated)

    with pytest.raises(CorruptData, match="of passages do not fit each other"):
        PassageLists(LoggedArchive(quoted))
    with pytest.raises(CorruptData):
        check_archive(quoted)
    with pytest.raises(CorruptData):
        rewrite(quoted)


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("search.terms", lambda section: section._replace(size_bytes=section.size_bytes + 1)),
        ("search.tiles", lambda section: section._replace(size_bytes=section.size_bytes + 1)),
        ("search.columns", lambda section: section._replace(item_count=1)),
    ],
)
def test_sections_of_search_that_do_not_fit_are_damage_wherever_they_are_opened(
    searched: Path, name: str, stated: Callable[[Section], Section]
) -> None:
    assert check_archive(searched).endswith("sound")
    restate(searched, name, stated)

    with pytest.raises(CorruptData, match="of search do not fit each other"):
        SearchTiles(LoggedArchive(searched))
    with pytest.raises(CorruptData):
        check_archive(searched)


@pytest.mark.parametrize(
    ("at", "number"),
    [("offset", 1 << 40), ("first", 1 << 40), ("pages", 0), ("pages", 1 << 31), ("width", 1 << 31)],
)
def test_a_tile_lies_within_its_sections(searched: Path, at: str, number: int) -> None:
    places = {"offset": (0, 8), "first": (8, 8), "pages": (16, 4), "width": (20, 4)}
    start, size = places[at]
    falsify(searched, "search.tiles", start, number.to_bytes(size, "little"))

    with pytest.raises(CorruptData, match="of search do not fit each other"):
        SearchTiles(LoggedArchive(searched))


def test_a_column_of_a_page_that_is_not_there_is_damage(searched: Path) -> None:
    falsify(searched, "search.columns", 0, (1 << 30).to_bytes(4, "little"))

    with pytest.raises(CorruptData, match="of search do not fit each other"):
        rewrite(searched)


def test_texts_that_do_not_fit_are_no_sound_archive(quoted: Path) -> None:
    restate(quoted, "texts.starts", lambda section: section._replace(item_count=1))

    with pytest.raises(CorruptData, match="where its texts begin"):
        check_archive(quoted)
