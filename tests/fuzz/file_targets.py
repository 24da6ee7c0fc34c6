"""Files that are fuzzed: archives of crawls, Parquet and settings."""

import io
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import BadPage, ConfigError, CorruptData
from neardup_stream.message import Record
from neardup_stream.streams.files.inputs import Input, open_input
from neardup_stream.streams.files.parquet import read_parquet
from neardup_stream.streams.files.warc import read_warc
from neardup_stream.wire.pages import PageDecoder
from tests.fuzz import corpora
from tests.fuzz.corpus import Corpus
from tests.fuzz.oracles import FileTarget, Finding

__all__ = ["CollectionTarget", "ParquetTarget", "SettingsTarget", "WarcTarget"]

_MAX_PAGE_BYTES = 1 << 20

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
            [
                _collection(zipfile.ZIP_STORED),
                _collection(zipfile.ZIP_DEFLATED),
                _collection_of_collections(),
            ],
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


class ParquetTarget(FileTarget):
    """Parquet: every row is a page, skipped or refused, or the file is damaged."""

    slow_seconds = _ARCHIVE_SECONDS
    corpus = Corpus(
        [corpora.in_parquet(compression) for compression in ("none", "zstd")],
        [*corpora.PAGES.words, b"PAR1", b"\x15", b"\x00\x00", b"\xff\xff\xff\x7f", b"\x80" * 9],
    )

    def read(self, content: bytes) -> None:
        path = self.folder / "a.parquet"
        path.write_bytes(content)
        decoder = PageDecoder()
        for record in _records(path, read_parquet):
            try:
                decoder.decode(record)
            except BadPage:
                continue


class SettingsTarget(FileTarget):
    """Settings: they are in force, or the error names what is wrong with them, and no password."""

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
                    raise Finding(f"a password is shown: {error}") from error


def _records(path: Path, read: Callable[[Input, int], Iterator[list[Record]]]) -> list[Record]:
    """Return the records of a file; none if it is damaged."""
    with open_input(str(path), Counter()) as source:
        try:
            return [record for records in read(source, _MAX_PAGE_BYTES) for record in records]
        except CorruptData:
            return []


def _read_pages(path: Path) -> None:
    for record in _records(path, read_warc):
        if record.decoded is None:
            raise Finding(f"neither a page nor a reason: {record}")


def _collection(compression: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as collection:
        collection.writestr("datapackage.json", "{}")
        for number, archive in enumerate(corpora.WARC.inputs[:2]):
            collection.writestr(f"archive/{number}.warc{'.gz' * number}", archive)
    return content.getvalue()


def _collection_of_collections() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as outer:
        outer.writestr("one.wacz", _collection(zipfile.ZIP_DEFLATED))
    return content.getvalue()
