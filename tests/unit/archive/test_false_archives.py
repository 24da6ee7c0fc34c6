"""Archives with right checksums and numbers that do not fit are damaged: no answer, and no crash."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import page_keys
from neardup_stream.archive.layout import Section
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.archive.rewriting import rewrite_archive
from neardup_stream.archive.texts import KeptTexts
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import CorruptData
from tests.archives import build_archive, frozen_page, keyed_page, text_writers
from tests.false_archives import falsify, restate

PART = struct.Struct("<QQQIHH")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "small.nda"
    pages = [frozen_page(number, text=number // 2, whole=b"whole", scope=number) for number in range(200)]
    build_archive(path, pages, parts=text_writers(tmp_path))
    return path


@pytest.mark.parametrize(
    ("field", "number"),
    [
        ("first slot", 1 << 40),
        ("first vertex", 1 << 40),
        ("first vertex", (1 << 64) - 32),
        ("first vertex", 32),
        ("first rank", 1 << 40),
        ("first rank", (1 << 64) - 1),
        ("segments", 1 << 20),
        ("segments", (1 << 32) - 1),
        ("segment bits", 30),
        ("segment bits", 64),
        ("segment bits", (1 << 16) - 1),
    ],
)
def test_parts_of_the_hash_lie_within_their_sections(archive: Path, field: str, number: int) -> None:
    fields = ("first slot", "first vertex", "first rank", "segments", "segment bits", "seed")
    described = list(PART.unpack(FrozenIndex(archive).file.section("key.parts")[: PART.size].tobytes()))
    described[fields.index(field)] = number
    falsify(archive, "key.parts", 0, PART.pack(*described))

    with pytest.raises(CorruptData, match="do not fit each other"):
        FrozenIndex(archive)


def test_a_part_that_begins_within_a_word_of_vertices_is_damage(archive: Path) -> None:
    seed_at, first_vertex_at = 30, 8
    falsify(archive, "key.parts", seed_at, bytes(2))
    FrozenIndex(archive)  # a part without keys

    falsify(archive, "key.parts", first_vertex_at, (1).to_bytes(8, "little"))

    with pytest.raises(CorruptData, match="do not fit each other"):
        FrozenIndex(archive)


def test_a_list_of_pages_whose_rows_overflow_names_only_pages_that_are_there(archive: Path) -> None:
    largest = b"\xff" * 8 + b"\x7f"
    posts = FrozenIndex(archive).file.section("key.posts").size
    falsify(archive, "key.posts", 0, (b"\x02" + largest * 2).ljust(posts, b"\x02"))

    found = FrozenIndex(archive).probe(*page_keys([keyed_page(number) for number in range(100)]))

    assert set(found.rows.tolist()) <= set(range(200))
    assert set(found.queries.tolist()) <= set(range(100))


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("checks", lambda section: section._replace(size_bytes=section.size_bytes - 1)),
        ("checks", lambda section: section._replace(item_bits=16)),
        ("checks", lambda section: section._replace(size_bytes=1 << 60)),
        ("facts", lambda section: section._replace(offset=section.offset + (1 << 40))),
        ("facts", lambda section: section._replace(offset=0)),
        ("simhash", lambda section: section._replace(offset=section.offset + 1)),
        ("simhash", lambda section: section._replace(item_count=section.item_count + 1)),
        ("shingles", lambda section: section._replace(item_bits=3000)),
        ("passages.tokens", lambda section: section._replace(item_bits=63, item_count=1)),
        ("texts.frames", lambda section: section._replace(size_bytes=1 << 40)),
    ],
)
def test_an_archive_whose_header_states_what_cannot_be_is_not_opened(
    archive: Path, name: str, stated: Callable[[Section], Section]
) -> None:
    restate(archive, name, stated)

    with pytest.raises(CorruptData, match="not possible"):
        ArchiveFile(archive)


def test_no_section_lies_where_there_are_no_checksums(archive: Path) -> None:
    checks = ArchiveFile(archive).sections["checks"]
    restate(archive, "facts", lambda section: section._replace(offset=checks.offset))

    with pytest.raises(CorruptData, match="not possible"):
        ArchiveFile(archive)


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("shingles", lambda section: section._replace(item_bits=0)),
        ("shingles", lambda section: section._replace(item_bits=64, item_count=1)),
        ("shingles", lambda section: section._replace(item_count=section.item_count - 1)),
        ("whole.count", lambda section: section._replace(item_bits=0)),
        ("whole.count", lambda section: section._replace(item_count=0)),
        ("scope", lambda section: section._replace(item_bits=8)),
        ("scope", lambda section: section._replace(item_count=1)),
        ("simhash", lambda section: section._replace(item_bits=32)),
        ("sketch", lambda section: section._replace(item_count=1)),
    ],
)
def test_a_column_has_an_item_of_its_width_for_each_page(
    archive: Path, name: str, stated: Callable[[Section], Section]
) -> None:
    restate(archive, name, stated)

    with pytest.raises(CorruptData, match="do not fit each other"):
        FrozenIndex(archive)


@pytest.mark.parametrize(
    "stated",
    [
        lambda section: section._replace(item_count=section.item_count - 1),
        lambda section: section._replace(item_bits=64),
    ],
)
def test_a_log_says_where_each_of_its_blocks_begins(
    archive: Path, stated: Callable[[Section], Section]
) -> None:
    restate(archive, "log.starts", stated)

    with pytest.raises(CorruptData, match="log blocks begins"):
        LoggedArchive(archive)


@pytest.mark.parametrize("count", [0, 1])
def test_texts_say_where_each_of_their_blocks_begins(archive: Path, count: int) -> None:
    restate(archive, "texts.starts", lambda section: section._replace(item_count=count))

    with pytest.raises(CorruptData, match="where its texts begin"):
        KeptTexts(LoggedArchive(archive))


@pytest.mark.parametrize("at", [0, 16])
def test_blocks_of_texts_are_in_the_order_of_their_pages(archive: Path, at: int) -> None:
    falsify(archive, "texts.starts", at, (190).to_bytes(8, "little"))

    with pytest.raises(CorruptData, match="order of their pages"):
        KeptTexts(LoggedArchive(archive))


def test_a_text_that_is_not_utf_8_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "bytes.nda"
    build_archive(path, [frozen_page(1)._replace(text=b"\xff\xfe")], parts=text_writers(tmp_path))

    with pytest.raises(CorruptData, match="is not UTF-8"):
        KeptTexts(LoggedArchive(path)).text(0)


def test_a_rewrite_refuses_a_column_that_lacks_pages(archive: Path) -> None:
    restate(archive, "shingles", lambda section: section._replace(item_count=section.item_count - 1))
    index = LoggedArchive(archive)

    with (
        pytest.raises(CorruptData, match="an item for each page"),
        ArchiveWriter(archive.with_name("rewritten.nda")) as writer,
    ):
        rewrite_archive(index, np.zeros(200, np.bool_), writer, archive.parent)


def test_a_log_whose_dictionary_is_none_is_damage(archive: Path) -> None:
    restate(archive, "log.dict", lambda section: section._replace(size_bytes=4))

    with pytest.raises(CorruptData, match="dictionary of its log"):
        LoggedArchive(archive)
