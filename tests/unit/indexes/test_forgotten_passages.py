"""Forgotten pages count no more for what is common to too many pages."""

from pathlib import Path

from neardup_stream.archive.gone import write_gone
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.indexes.passages import PassageIndex
from tests.archives import build_archive, frozen_page, text_writers


def test_a_passage_is_found_once_so_many_of_its_pages_are_forgotten_that_it_is_not_common(
    tmp_path: Path,
) -> None:
    path = tmp_path / "syndicated.nda"
    passage = " ".join(f"word{number}" for number in range(60))
    pages = [frozen_page(number, content=f"page{number} {passage}") for number in range(4)]
    build_archive(path, pages, parts=text_writers(tmp_path))
    before = PassageIndex.open(path).overlaps(passage, common_pages=3)

    write_gone(path, LoggedArchive(path).header, [2])
    after = PassageIndex.open(path).overlaps(passage, common_pages=3)
    fewer = PassageIndex.open(path).overlaps(passage, common_pages=2)

    assert (before.found, before.common_count, before.chosen_count) == ((), 53, 53)
    assert sorted(overlap.row for overlap in after.found) == [0, 1, 3]
    assert after.common_count == 0
    assert (fewer.found, fewer.common_count) == ((), 53)
