"""What is fuzzed, and three oracles: it ends within the limits; a page or a reason; the next is unharmed."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

import msgspec
from neardup_daemon.preparing import build_preparation
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import BadPage, CorruptData
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters, WorkerEnd
from neardup_stream.page import Page, PageId
from neardup_stream.pipeline.arrival import Arrival, metadata_of
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation
from neardup_stream.wire.dead_letters import dead_letter, to_json_line
from neardup_stream.wire.pages import PageDecoder
from neardup_stream.wire.presets import PRESETS
from neardup_stream.wire.replays import fate, from_json_line, replayed
from tests.fuzz import corpora
from tests.fuzz.archive_targets import FrozenTarget, PassagesTarget, SearchTarget
from tests.fuzz.corpus import Corpus
from tests.fuzz.file_targets import CollectionTarget, ParquetTarget, SettingsTarget, WarcTarget
from tests.fuzz.markup_corpus import MARKUP
from tests.fuzz.oracles import SLOW_SECONDS, Backstop, Finding, Target

__all__ = ["TARGETS"]

_PARTITION = Partition("fuzz", 0)
_GOOD = (
    b'{"url":"https://good.example/",'
    b'"text":"the page behind is as good as ever, and has words enough for it"}'
)


class _Ends(NoMeters):
    """Why worker processes ended."""

    def __init__(self) -> None:
        self.ends: Counter[WorkerEnd] = Counter()

    def worker_ended(self, end: WorkerEnd) -> None:
        self.ends[end] += 1


class _Prepared(Target):
    """Pages on their whole way to a fingerprint, in a process that can be ended."""

    def __init__(
        self, corpus: Corpus, to_record: Callable[[bytes], Record], extraction: str = "all_text"
    ) -> None:
        self.corpus = corpus
        self._to_record = to_record
        settings = Settings.load(
            overrides=[f"text.extraction={extraction}", f"limits.page_seconds={SLOW_SECONDS}"]
        )
        self._meters = _Ends()
        self._preparation = GuardedPreparation(
            partial(build_preparation, settings), settings.limits.worker(), self._meters
        )
        self._good = Record(position=Position(_PARTITION, 1), key=None, value=_GOOD)
        self._expected: list[Arrival] = []

    def __enter__(self) -> Self:
        self._preparation.start()
        (expected,) = self._preparation.prepare([self._good]).arrivals
        self._expected = [msgspec.structs.replace(expected, lines=None)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._preparation.close()

    def read(self, content: bytes) -> None:
        self._meters.ends.clear()
        prepared = self._preparation.prepare([self._to_record(content), self._good])
        behind = [item for item in prepared.items if item.record == metadata_of(self._good)]
        if [
            msgspec.structs.replace(item, lines=None) for item in behind if isinstance(item, Arrival)
        ] != self._expected:
            raise Finding(f"the page behind is another: {behind}")
        if len(prepared.items) + len(prepared.rejected) + len(prepared.skipped) != 2:
            raise Finding(f"neither a page nor a reason: {prepared}")
        reasons = [str(rejected.error) for rejected in prepared.rejected]
        if self._meters.ends["failed"]:
            raise Finding(f"the process failed: {reasons}")
        if self._meters.ends:
            raise Backstop(str(reasons))
        for item in prepared.items:
            if isinstance(item, Arrival):
                msgspec.json.encode([item.page.id, item.scope, item.site])
        for rejected in prepared.rejected:
            to_json_line(dead_letter(rejected.record, rejected.error, None))


def _json_record(content: bytes) -> Record:
    return Record(position=Position(_PARTITION, 0), key=None, value=content)


def _html_record(content: bytes) -> Record:
    page = Page(
        id=PageId("p"), url="https://p.example", fetched_at_seconds=0, body=content, content_type="text/html"
    )
    return Record(position=Position(_PARTITION, 0), key=None, value=b"", decoded=page)


def _text_record(content: bytes) -> Record:
    page = Page(
        id=PageId("p"),
        url="https://p.example",
        fetched_at_seconds=0,
        text=content.decode("utf-8", "surrogatepass") if _is_text(content) else content.decode("latin-1"),
    )
    return Record(position=Position(_PARTITION, 0), key=None, value=b"", decoded=page)


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


class _Foreign(Target):
    """Pages as crawlers write them: with every preset a page, skipped or a reason."""

    corpus = corpora.FOREIGN_PAGES

    def __init__(self) -> None:
        self._decoders = [PageDecoder(preset=preset) for preset in PRESETS]

    def read(self, content: bytes) -> None:
        for decoder in self._decoders:
            try:
                page = decoder.decode(_json_record(content))
            except BadPage:
                continue
            if isinstance(page, Page):
                msgspec.json.encode([page.id, page.url, page.fetched_at_seconds])


class _DeadLetter(Target):
    """Dead letters: they are published again, or an error names the reason."""

    corpus = corpora.DEAD_LETTERS

    def read(self, content: bytes) -> None:
        try:
            letter = from_json_line(content)
        except CorruptData:
            return
        fate(letter, frozenset({"not_json"}), 3)
        back = replayed(letter, 1, "pages")
        record = Record(
            position=Position(_PARTITION, 0), key=back.key, value=back.value, headers=back.headers
        )
        again = dead_letter(record, BadPage("not_json", "bad"), 1 << 20)
        if from_json_line(to_json_line(again)) != again:
            raise Finding("a dead letter is another when it is read again")


TARGETS: dict[str, Callable[[], Target]] = {
    "presets": _Foreign,
    "wire": lambda: _Prepared(corpora.PAGES, _json_record),
    "markup": lambda: _Prepared(MARKUP, _html_record),
    "main-content": lambda: _Prepared(MARKUP, _html_record, "main_content"),
    "text": lambda: _Prepared(corpora.TEXTS, _text_record),
    "warc": WarcTarget,
    "wacz": CollectionTarget,
    "parquet": ParquetTarget,
    "frozen": FrozenTarget,
    "passages": PassagesTarget,
    "search": SearchTarget,
    "settings": SettingsTarget,
    "dead-letters": _DeadLetter,
}
"""By name."""
