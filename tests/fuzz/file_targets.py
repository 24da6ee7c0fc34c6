"""Files that are fuzzed: archives of crawls, frozen archives and settings."""

import io
import zipfile
from collections import Counter
from pathlib import Path
from typing import Self

import numpy as np

from daemon.settings import Settings
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import page_keys
from neardup_stream.archive.texts import KeptTexts, TextsWriter
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.streams.inputs import open_input
from neardup_stream.streams.warc import read_warc
from tests.archives import build_archive, frozen_page, keyed_page
from tests.fuzz import corpora
from tests.fuzz.corpora import Corpus
from tests.fuzz.oracles import FileTarget, Finding

__all__ = ["CollectionTarget", "FrozenTarget", "SettingsTarget", "WarcTarget"]

_ARCHIVE_SECONDS = 6.0
"""CPU time worth a look: 4 MiB hold up to 200,000 records."""


class WarcTarget(FileTarget):
    """WARC: every record is a page, skipped or refused, and the one behind is read."""

    corpus = corpora.WARC
    slow_seconds = _ARCHIVE_SECONDS

    def read(self, content: bytes) -> None:
        is_packed = content.startswith(b"\x1f\x8b")
        path = self.folder / ("a.warc.gz" if is_packed else "a.warc")
        path.write_bytes(content)
        _read_pages(path)


class CollectionTarget(FileTarget):
    """WACZ: every record of the archives in it is a page, skipped or refused, or the file is damaged."""

    slow_seconds = _ARCHIVE_SECONDS

    def __init__(self) -> None:
        super().__init__()
        self.corpus = Corpus(
            [_collection(zipfile.ZIP_STORED), _collection(zipfile.ZIP_DEFLATED)],
            [
                *corpora.WARC.words,
                b"PK\1\2",
                b"PK\3\4",
                b"PK\5\6",
                b"PK\6\6",
                b"\xff\xff\xff\xff",
                b"archive/",
            ],
        )

    def read(self, content: bytes) -> None:
        path = self.folder / "a.wacz"
        path.write_bytes(content)
        _read_pages(path)


class FrozenTarget(FileTarget):
    """Frozen archives: each answer is that of the archive as it was written, or the file is damaged."""

    def __init__(self) -> None:
        super().__init__()
        self.corpus = Corpus([], [b"\0" * 8, b"\xff" * 8, b"NDA", b"\x80" * 9, *corpora.WARC.words])
        self._expected: object = None

    def __enter__(self) -> Self:
        super().__enter__()
        path = self.folder / "sound.nda"
        pages = [frozen_page(number, content=f"text {number}", whole=b"whole") for number in range(1, 40)]
        pages += [frozen_page(40, page_id="forty", is_short=True), frozen_page(41, text=1)]
        build_archive(path, pages, parts=[TextsWriter(self.folder)])
        self.corpus = self.corpus._replace(inputs=[path.read_bytes()])
        self._expected = _answers(path)
        return self

    def read(self, content: bytes) -> None:
        path = self.folder / "a.nda"
        path.write_bytes(content)
        try:
            answers = _answers(path)
        except (CorruptData, ConfigError):
            return
        if answers != self._expected:
            raise Finding(f"a damaged archive has another answer: {answers}")


class SettingsTarget(FileTarget):
    """Settings: they are in force, or somebody is told what is wrong with them, and no password."""

    corpus = corpora.SETTINGS

    def read(self, content: bytes) -> None:
        path = self.folder / "settings.toml"
        path.write_bytes(content)
        first_line = content.split(b"\n")[0].decode("latin-1").replace("\0", "")
        for config, overrides, environ in (
            (path, (), {}),
            (None, (first_line,), {}),
            (None, (), {"NEARDUP_KAFKA__PAGES_TOPIC": first_line}),
        ):
            try:
                Settings.load(config, overrides, environ)
            except ConfigError as error:
                if "secret@" in str(error):
                    raise Finding(f"a password is told: {error}") from error


def _read_pages(path: Path) -> None:
    with open_input(str(path), Counter()) as source:
        try:
            records = [record for records in read_warc(source, 1 << 20) for record in records]
        except CorruptData:
            return
    for record in records:
        if record.decoded is None:
            raise Finding(f"neither a page nor a reason: {record}")


def _collection(compression: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as collection:
        collection.writestr("datapackage.json", "{}")
        for number, archive in enumerate(corpora.WARC.inputs[:2]):
            collection.writestr(f"archive/{number}.warc{'.gz' * number}", archive)
    return content.getvalue()


def _answers(path: Path) -> object:
    index = FrozenIndex(path)
    rows = np.arange(index.header.page_count)
    found = index.probe(*page_keys([keyed_page(number) for number in range(1, 50)]))
    return (
        list(index.log.all_pages()),
        index.sketches(rows),
        [column.tolist() for column in found[:2]],
        dict(index.log.find(["forty", "https://site1.example/page/1", "https://nowhere.example/"])),
        index.facts,
        list(map(KeptTexts(index).text, rows.tolist())),
    )
