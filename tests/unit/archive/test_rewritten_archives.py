"""A rewritten archive keeps nothing of the pages that it leaves out, and finds all the others."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from neardup_daemon.inspect.archive_facts import archive_facts, readable
from neardup_daemon.repair.archive_forgetting import forget_in_archive, rewrite_without

from neardup_stream.archive.document_log import DocumentLog, LogWriter
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.log_blocks import BLOCK_PAGES, LoggedPage, log_key
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.archive.writing import ArchiveWriter
from tests.archives import build_archive, frozen_page

PAGE_COUNT = 3 * BLOCK_PAGES
EMPTIED_BLOCKS = 2000


@pytest.fixture
def urls(tmp_path: Path) -> list[str]:
    """The pages of `0.nda` in the order of its rows."""
    build_archive(tmp_path / "0.nda", [frozen_page(number) for number in range(PAGE_COUNT)])
    return [page.url for page in LoggedArchive(tmp_path / "0.nda").log.all_pages()]


def rewritten(folder: Path, forgets: Sequence[Sequence[str]]) -> LoggedArchive:
    """Forget some pages and rewrite the archive under the next number, as often as there are lists."""
    paths = [folder / f"{number}.nda" for number in range(len(forgets) + 1)]
    for names, (path, output) in zip(forgets, pairwise(paths), strict=True):
        assert forget_in_archive(names, path).new_count == len(names)
        rewrite_without(path, output, replaces=False)
    return LoggedArchive(paths[-1])


@pytest.mark.usefixtures("urls")
def test_the_latest_time_is_that_of_a_page_that_stays(tmp_path: Path) -> None:
    latest, second = (frozen_page(PAGE_COUNT - number).logged for number in (1, 2))

    archive = rewritten(tmp_path, [[latest.url]])

    assert archive.header.created_ms == second.fetched_ms


def test_an_archive_of_which_no_page_stays_has_no_latest_time(tmp_path: Path, urls: list[str]) -> None:
    archive = rewritten(tmp_path, [urls])

    assert archive.header.created_ms == 0
    assert archive_facts(archive.file.path).latest_fetched_at is None


def test_a_second_rewrite_keeps_no_time_of_a_page_in_the_rows_that_the_first_one_left_out(
    tmp_path: Path, urls: list[str]
) -> None:
    first = rewritten(tmp_path, [urls[:1], urls[1:2]])

    former = LoggedArchive(tmp_path / "0.nda").log.page(1).fetched_ms

    assert former not in {page.fetched_ms for page in first.log.all_pages()}


def test_every_page_that_stays_is_found_after_a_second_rewrite(tmp_path: Path, urls: list[str]) -> None:
    first_of_block = urls[BLOCK_PAGES]

    archive = rewritten(tmp_path, [[first_of_block], [urls[-1]]])

    living = [url for url in urls if url not in {first_of_block, urls[-1]}]
    assert sorted(archive.log.find(urls)) == sorted(living)


@pytest.mark.parametrize("emptied", [{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}])
def test_every_page_is_found_beside_blocks_of_which_none_stays(
    tmp_path: Path, urls: list[str], emptied: set[int]
) -> None:
    blocks = [urls[number * BLOCK_PAGES : (number + 1) * BLOCK_PAGES] for number in range(3)]

    archive = rewritten(tmp_path, [[url for number in emptied for url in blocks[number]]])

    living = [url for number in range(3) if number not in emptied for url in blocks[number]]
    assert sorted(archive.log.find(urls)) == sorted(living)


@pytest.mark.parametrize("is_former", [False, True], ids=["last key", "first key, as earlier releases"])
def test_a_page_before_many_emptied_blocks_is_found_without_reading_them(
    tmp_path: Path, *, is_former: bool
) -> None:
    path = tmp_path / "emptied.nda"
    pages = sorted((frozen_page(number).logged for number in range(BLOCK_PAGES)), key=log_key)
    keys = [log_key(page) for page in pages]
    removed = LoggedPage("", "", 0)
    with ArchiveWriter(path) as writer, LogWriter(tmp_path) as log:
        log.add(pages, keys, keys[0])
        for _ in range(EMPTIED_BLOCKS):
            log.add([removed] * BLOCK_PAGES, [b""] * BLOCK_PAGES, keys[0] if is_former else keys[-1])
        log.write(writer)
        writer.finish((1 + EMPTIED_BLOCKS) * BLOCK_PAGES, 0, 0, {})
    file = ArchiveFile(path)
    document_log = DocumentLog(file)
    frames = file.require("log.frames")

    found = document_log.find([page.id for page in pages])
    absent = document_log.find(["https://zzz.example/"])

    assert list(found.values()) == list(range(BLOCK_PAGES))
    assert absent == {}
    read = file.seen[frames.offset // PAGE_BYTES : (frames.offset + frames.size_bytes) // PAGE_BYTES]
    assert read.sum() <= read.size / 2


def test_the_pages_that_were_left_out_before_are_counted_again(tmp_path: Path, urls: list[str]) -> None:
    archive = rewritten(tmp_path, [urls[:3], urls[3:5]])

    assert archive.facts["counts"]["removed"] == 5


def test_info_says_how_many_pages_were_removed(tmp_path: Path, urls: list[str]) -> None:
    facts = archive_facts(rewritten(tmp_path, [urls[:3]]).file.path)

    assert f"  {len(urls):,} pages, 3 of them removed, fetched until " in readable(facts)


@pytest.mark.parametrize("largest_bytes", [255, 256, 1024 + 128])
def test_whole_sketches_of_any_size_are_kept_and_those_of_removed_pages_emptied(
    tmp_path: Path, largest_bytes: int
) -> None:
    """As many bytes as 1,024 bins of 8 bits take, with a bit for each."""
    pages = [
        frozen_page(number, whole=bytes([1 + number % 255]) * (largest_bytes - number % 3))
        for number in range(PAGE_COUNT)
    ]
    build_archive(tmp_path / "0.nda", pages)
    removed = {pages[7].logged.url, pages[-1].logged.url}

    rewritten(tmp_path, [sorted(removed)])

    rows = np.arange(PAGE_COUNT)
    wholes = {page.logged.url: page.whole for page in pages}
    before, after = (FrozenIndex(tmp_path / f"{number}.nda") for number in range(2))
    for row, was, is_now in zip(rows.tolist(), before.sketches(rows), after.sketches(rows), strict=True):
        url = before.log.page(row).url
        assert was.whole == wholes[url]
        assert is_now.whole == (bytes(len(was.whole)) if url in removed else was.whole)
