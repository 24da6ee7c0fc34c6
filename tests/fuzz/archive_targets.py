"""Frozen archives that are fuzzed, with every part they can have."""

from abc import abstractmethod
from pathlib import Path
from typing import Self

import numpy as np

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import page_keys
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.archive.texts import KeptTexts
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.indexes.sliced import SlicedIndex
from tests.archives import build_archive, frozen_page, keyed_page, text_writers
from tests.fuzz import corpora
from tests.fuzz.corpus import Corpus
from tests.fuzz.oracles import FileTarget, Finding
from tests.searches import build_searched

__all__ = ["FrozenTarget", "PassagesTarget", "SearchTarget"]

_TEXTS = [
    " ".join(f"word{(number * each) % 61} text" for each in range(1, 30 + number)) for number in range(1, 40)
]


class _ArchiveTarget(FileTarget):
    """Frozen archives: each answer is that of the archive as it was written, or the file is damaged."""

    def __init__(self) -> None:
        super().__init__()
        self.corpus = Corpus([], [b"\0" * 8, b"\xff" * 8, b"NDA", b"\x80" * 9, *corpora.WARC.words])
        self._expected: object = None

    def __enter__(self) -> Self:
        super().__enter__()
        path = self.folder / "sound.nda"
        self._build(path)
        self.corpus = self.corpus._replace(inputs=[path.read_bytes()])
        self._expected = self._answers(path)
        return self

    def read(self, content: bytes) -> None:
        path = self.folder / "a.nda"
        path.write_bytes(content)
        try:
            answers = self._answers(path)
        except (CorruptData, ConfigError):
            return
        if answers != self._expected:
            raise Finding(f"a damaged archive has another answer: {answers}")

    def _build(self, path: Path) -> None:
        """Write the archive: pages with texts, one that is short, one of a text that another has."""
        pages = [
            frozen_page(number, content=text, whole=b"whole") for number, text in enumerate(_TEXTS, start=1)
        ]
        pages += [frozen_page(40, page_id="forty", is_short=True), frozen_page(41, text=1)]
        build_archive(path, pages, parts=text_writers(self.folder))

    @abstractmethod
    def _answers(self, path: Path) -> object:
        """Return what the archive says of everything."""


class FrozenTarget(_ArchiveTarget):
    """Near-duplicates, the document log and texts."""

    def _answers(self, path: Path) -> object:
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


class PassagesTarget(_ArchiveTarget):
    """Passages: which pages have the hashes of others."""

    def _answers(self, path: Path) -> object:
        archive = LoggedArchive(path)
        lists = PassageLists(archive)
        hashes = np.unique(
            np.concatenate(
                [np.frombuffer(frozen_page(1, content=text).passages, np.uint64) for text in _TEXTS]
            )
        )
        found = lists.find(hashes, 20)
        tokens = lists.token_counts(np.arange(archive.header.page_count))
        return [column.tolist() for column in (*found, tokens)], lists.facts


class SearchTarget(_ArchiveTarget):
    """Search: which pages hold words."""

    def _build(self, path: Path) -> None:
        build_searched(path, _TEXTS)

    def _answers(self, path: Path) -> object:
        index = SlicedIndex.open(path)
        answers = [
            index.search(query) for query in ("word1", "word2 AND NOT word3", "text", "word5 OR nowhere")
        ]
        return [(each.yes.tolist(), each.maybe.tolist(), each.expected_false_drops) for each in answers]
