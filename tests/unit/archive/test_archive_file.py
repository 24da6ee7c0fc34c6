"""Archive files: written whole or not at all, and read only where they are sound."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import fuzzy_keys, page_keys
from neardup_stream.archive.layout import MAGIC
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.archive.texts import KeptTexts, TextsWriter
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.fingerprints.fuzzy import PREFIX_COUNT, SCHEMES, fuzzy_codes
from neardup_stream.indexes.fuzzy_keys import read_reference
from neardup_stream.indexes.passages import PassageIndex
from tests.archives import build_archive, frozen_page, keyed_page, text_writers

_RECOGNIZED_BYTES = 10
"""Magic and version: where they differ it is another kind of file."""

_PADDING_STEP = 37
"""Of the padding, whose bytes are all alike, one in so many is flipped."""

_TRUNCATION_STEP = 61

COMMON = "page says what the second page says too and nothing else whatever else it might have said"

PAGES = [
    frozen_page(1, content=f"the first {COMMON}"),
    frozen_page(2, text=1, content=f"{COMMON} the second"),
    frozen_page(3, whole=b"whole"),
    frozen_page(4, page_id="four", scope=77),
    frozen_page(5, is_short=True),
]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "small.nda"
    build_archive(path, PAGES, parts=text_writers(tmp_path))
    return path


@pytest.fixture
def fuzzy_archive(tmp_path: Path) -> Path:
    path = tmp_path / "fuzzy.nda"
    build_archive(path, PAGES, is_fuzzy=True)
    return path


def fuzzy_answers(path: Path) -> object:
    """Everything that an archive with fuzzy keys answers by its keys."""
    index = FrozenIndex(path)
    reference = read_reference(index)
    assert reference is not None
    counted = [np.frombuffer(page.prefixes, PREFIX_COUNT) for page in PAGES]
    keys = fuzzy_keys(fuzzy_codes(counted, reference), np.array([page.scope for page in PAGES], np.uint64))
    queries = np.arange(len(PAGES)).repeat(keys.shape[1])
    found = index.probe(keys.reshape(-1), queries)
    exact = index.probe(*page_keys([keyed_page(number) for number in range(1, 9)]))
    return (
        [column.tolist() for column in (*found[:2], *exact[:2])],
        [index.log.page(row) for row in found.rows.tolist()],
        index.sketches(found.rows),
        index.facts,
    )


def text_answers(path: Path) -> object:
    """Everything that an archive says of its pages and of one that it does not have."""
    index = FrozenIndex(path)
    rows = np.arange(index.header.page_count)
    found = index.probe(*page_keys([keyed_page(number) for number in range(1, 9)]))
    return (
        list(index.log.all_pages()),
        index.sketches(rows),
        [column.tolist() for column in found[:2]],
        dict(index.log.find(["four", "https://site1.example/page/1", "https://nowhere.example/"])),
        index.facts,
        list(map(KeptTexts(index).text, rows.tolist())),
        PassageIndex.open(path).overlaps(f"quoted: {COMMON}!", min_tokens=8),
    )


def test_an_archive_says_what_was_frozen(archive: Path) -> None:
    index = FrozenIndex(archive)

    rows = index.log.find([page.logged.id for page in PAGES])

    assert sorted(rows.values()) == [0, 1, 2, 3, 4]
    for page in PAGES:
        row = rows[page.logged.id]
        assert index.log.page(row) == page.logged
        (sketch,) = index.sketches(np.array([row]))
        assert sketch.shingle_count == page.shingle_count
        assert sketch.sketch == (page.sketch or bytes(8))
        assert (sketch.whole, sketch.whole_count) == (page.whole, page.whole_count)
        assert (sketch.fingerprint, sketch.scope) == (page.fingerprint, page.scope)


def test_an_archive_that_is_left_is_closed_at_once(archive: Path) -> None:
    """Not when garbage is collected, which may never be where it was there when a daemon started."""
    gc.disable()
    try:
        assert text_answers(archive)
        assert str(archive) not in Path("/proc/self/maps").read_text()
    finally:
        gc.enable()


def test_pages_are_found_by_each_of_their_keys(archive: Path) -> None:
    index = FrozenIndex(archive)
    rows = index.log.find([page.logged.id for page in PAGES])
    keys = page_keys([keyed_page(1), keyed_page(3)]).keys

    found = index.probe(keys, np.arange(keys.size))

    first = sorted(rows[PAGES[i].logged.id] for i in (0, 1))
    expected = [(query, row) for query in range(4) for row in first]
    expected += [(query, rows[PAGES[2].logged.id]) for query in range(4, 8)]
    assert list(zip(found.queries.tolist(), found.rows.tolist(), strict=True)) == expected


def test_of_pages_with_one_id_the_last_stays(tmp_path: Path) -> None:
    path = tmp_path / "repeats.nda"

    built = build_archive(
        path, [frozen_page(1, page_id="same"), frozen_page(2), frozen_page(3, page_id="same")]
    )

    assert (built.page_count, built.repeat_count) == (2, 1)
    assert FrozenIndex(path).log.page(FrozenIndex(path).log.find(["same"])["same"]).url.endswith("/3")


def test_an_archive_without_pages_is_valid_and_finds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.nda"

    build_archive(path, [])

    index = FrozenIndex(path)
    index.file.check_all()
    assert index.probe(*page_keys([keyed_page(1)])).rows.size == 0
    assert list(index.log.all_pages()) == []


def test_a_key_of_very_many_pages_lists_some_of_them(tmp_path: Path) -> None:
    path = tmp_path / "equal-pages.nda"
    build_archive(path, [frozen_page(number, text=0) for number in range(1000)])

    found = FrozenIndex(path).probe(*page_keys([keyed_page(0)]))

    assert found.rows.size == 128
    assert found.rows[0] == 0
    assert found.rows[-1] > 950
    assert found.sampled_count == 4


def test_pages_are_found_by_their_fuzzy_codes_where_they_have_words(fuzzy_archive: Path) -> None:
    index = FrozenIndex(fuzzy_archive)
    reference = read_reference(index)
    assert reference is not None
    codes = fuzzy_codes([np.frombuffer(PAGES[1].prefixes, PREFIX_COUNT)], reference)
    keys = fuzzy_keys(codes, np.zeros(1, np.uint64)).reshape(-1)

    found = index.probe(keys, np.arange(keys.size))

    (row,) = index.log.find([PAGES[1].logged.id]).values()
    assert set(found.queries[found.rows == row].tolist()) == set(range(len(SCHEMES)))
    assert index.key_kinds == {"bands", "fuzzy"}


@pytest.mark.parametrize("kind", ["archive", "fuzzy_archive"])
def test_every_flipped_byte_is_an_error_or_changes_no_answer(
    kind: str, request: pytest.FixtureRequest
) -> None:
    archive: Path = request.getfixturevalue(kind)
    answers = {"archive": text_answers, "fuzzy_archive": fuzzy_answers}[kind]
    sound = archive.read_bytes()
    expected = answers(archive)
    positions = [at for at in range(len(sound)) if sound[at] or at < PAGE_BYTES or at % _PADDING_STEP == 0]
    damaged = archive.with_name("damaged.nda")
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


@pytest.mark.parametrize("kind", ["archive", "fuzzy_archive"])
def test_every_truncation_is_an_error(kind: str, request: pytest.FixtureRequest) -> None:
    archive: Path = request.getfixturevalue(kind)
    size = archive.stat().st_size
    archive.chmod(0o600)

    for cut in [size - 1, *range(size - 2, PAGE_BYTES, -_TRUNCATION_STEP), *range(PAGE_BYTES, -1, -1)]:
        os.truncate(archive, cut)
        with pytest.raises(CorruptData):
            FrozenIndex(archive)


def test_another_file_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc"
    path.write_bytes(b"WARC/1.0\r\n" * 1000)

    with pytest.raises(ConfigError, match="no archive"):
        FrozenIndex(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.nda"):
        FrozenIndex(tmp_path / "missing.nda")


def test_a_name_that_is_taken_is_refused_and_left_alone(archive: Path) -> None:
    before = archive.read_bytes()

    with pytest.raises(ConfigError, match="exists already"):
        build_archive(archive, [])

    assert archive.read_bytes() == before


def test_what_is_no_file_is_refused_and_left_alone_even_where_it_may_be_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null"), Path("/dev/stdout"), Path("-")):
        with pytest.raises(ConfigError, match="must be a file"):
            ArchiveWriter(path, replaces=True).__enter__()

    assert (tmp_path / "pipe").is_fifo()
    assert list(tmp_path.iterdir()) == [tmp_path / "pipe"]


def test_a_name_that_is_taken_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "late.nda"

    with ArchiveWriter(path) as writer:
        path.write_bytes(b"another's")
        with pytest.raises(ConfigError, match="exists already"):
            writer.finish(0, 0, 0, {})

    assert path.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_of_one_name_write_a_file_each(tmp_path: Path) -> None:
    path = tmp_path / "shared.nda"

    def write_other() -> bytes:
        with ArchiveWriter(path) as other:
            other.add("other", [b"other" * 9000], 1)
            other.finish(0, 0, 0, {})
        return ArchiveFile(path).section("other").tobytes()

    with ThreadPoolExecutor(1) as threads, ArchiveWriter(path, replaces=True) as writer:
        writer.add("first", [b"first" * 9000], 1)
        assert threads.submit(write_other).result(timeout=10) == b"other" * 9000
        writer.finish(0, 0, 0, {})

    ArchiveFile(path).check_all()
    assert ArchiveFile(path).section("first").tobytes() == b"first" * 9000
    assert list(tmp_path.iterdir()) == [path, *tmp_path.glob(".shared.nda.gone.lock")]


@pytest.mark.parametrize("suffix", ["0123456789abcdef", "4711"])
def test_partial_files_of_killed_writers_are_removed_and_those_of_living_ones_stay(
    tmp_path: Path, suffix: str
) -> None:
    path, abandoned = tmp_path / "again.nda", tmp_path / f".again.nda.{suffix}.tmp"
    abandoned.write_bytes(b"half")

    with ArchiveWriter(path):
        living = list(tmp_path.iterdir())
        with ArchiveWriter(path):
            pass
        assert list(tmp_path.iterdir()) == living

    assert len(living) == 1
    assert living != [abandoned]


def test_readers_of_a_replaced_archive_keep_the_old_one(archive: Path) -> None:
    reader = FrozenIndex(archive)

    build_archive(archive, [frozen_page(9)], replaces=True)

    assert len(list(reader.log.all_pages())) == len(PAGES)
    reader.file.check_all()
    assert FrozenIndex(archive).header.page_count == 1


def test_what_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "unfinished.nda"

    with ArchiveWriter(path) as writer:
        writer.add("facts", [b"{}"], 1)

    assert list(tmp_path.iterdir()) == []


def test_parts_that_were_not_frozen_are_named_with_the_remedy(tmp_path: Path) -> None:
    texts_alone, without_texts = tmp_path / "alone.nda", tmp_path / "without.nda"
    build_archive(without_texts, [])
    with (
        ArchiveWriter(texts_alone) as writer,
        ArchiveBuilder(writer, tmp_path, LEAST_MEMORY_BYTES, [TextsWriter(tmp_path)]) as builder,
    ):
        builder.add(PAGES[0])
        builder.finish({"schema": {}})

    with pytest.raises(ConfigError, match=r"frozen without texts: .* '--with texts'"):
        KeptTexts(LoggedArchive(without_texts))
    with pytest.raises(ConfigError, match=r"frozen without archive: .* '--with archive'"):
        FrozenIndex(texts_alone)


def test_unknown_sections_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "later.nda"

    with ArchiveWriter(path) as writer:
        writer.add("of-the-future", [b"?" * 5000], 1)
        writer.finish(0, 0, 0, {})

    file = ArchiveFile(path)
    file.check_all()
    assert path.read_bytes().startswith(MAGIC)
    assert file.section("of-the-future").tobytes() == b"?" * 5000
