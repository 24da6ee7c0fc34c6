"""The texts of an archive are read back to the character."""

from pathlib import Path

from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.texts import KeptTexts, TextsWriter
from tests.archives import build_archive, frozen_page


def test_texts_are_read_back_to_the_character(tmp_path: Path) -> None:
    path = tmp_path / "texts.nda"
    said = [
        "",
        "one",
        "\ud800 lone",
        "naïve 東京",
        *(f"{n} " * 9000 for n in range(9)),
        *map(str, range(200)),
    ]
    pages = [frozen_page(number, content=text) for number, text in enumerate(said)]

    build_archive(path, pages, parts=[TextsWriter(tmp_path)])

    archive = LoggedArchive(path)
    texts = KeptTexts(archive)
    assert archive.facts["texts"]["text_bytes"] == sum(len(page.text) for page in pages)
    rows = archive.log.find([page.logged.id for page in pages])
    assert [texts.text(rows[page.logged.id]) for page in pages] == said


def test_an_archive_without_pages_has_no_texts(tmp_path: Path) -> None:
    build_archive(tmp_path / "empty.nda", [], parts=[TextsWriter(tmp_path)])

    KeptTexts(LoggedArchive(tmp_path / "empty.nda"))
