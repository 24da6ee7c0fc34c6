"""Archives with right checksums and numbers that do not fit are damaged: no answer, and no crash."""

import struct
from pathlib import Path

import pytest

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import page_keys
from neardup_stream.errors import CorruptData
from tests.archives import build_archive, frozen_page, keyed_page, text_writers
from tests.false_archives import falsify

PART = struct.Struct("<QQQIHH")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "small.nda"
    pages = [frozen_page(number, text=number // 2, whole=b"whole") for number in range(200)]
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


def test_a_list_of_pages_whose_rows_overflow_names_no_page(archive: Path) -> None:
    largest = b"\xff" * 8 + b"\x7f"
    posts = FrozenIndex(archive).file.section("key.posts").size
    falsify(archive, "key.posts", 0, (b"\x02" + largest * 2).ljust(posts, b"\x02"))

    found = FrozenIndex(archive).probe(*page_keys([keyed_page(number) for number in range(100)]))

    assert set(found.rows.tolist()) <= set(range(200))
    assert set(found.queries.tolist()) <= set(range(100))
