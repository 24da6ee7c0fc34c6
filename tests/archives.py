"""Small archives for tests: pages that are made up, and what is to be found in them."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder, Built
from neardup_stream.archive.keys import KeyedPage, page_keys
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.parts import PartWriter
from neardup_stream.archive.passage_lists import COMMON_PAGES, PASSAGES, PassagesWriter
from neardup_stream.archive.texts import TEXTS, TextsWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.fingerprints.located import locate_tokens
from neardup_stream.fingerprints.selective import stored_recipe
from neardup_stream.indexes.fuzzy_keys import FuzzyKeysWriter, key_schema
from neardup_stream.pipeline.kept_text import PREFIXES, keep_text

SKETCH_BYTES = 8
TEXT_PARTS = frozenset({PASSAGES, TEXTS})
SCHEMA: dict[str, str | int] = {"scheme": "of this test"}


def keyed_page(number: int, *, text: int | None = None) -> KeyedPage:
    """Return the keys of a page of this text, else of its own."""
    random = Random(number if text is None else text)
    return KeyedPage(random.getrandbits(64), [random.randbytes(3 * 4)])


def frozen_page(
    number: int,
    *,
    page_id: str = "",
    url: str = "",
    text: int | None = None,
    whole: bytes = b"",
    scope: int = 0,
    is_short: bool = False,
    content: str = "",
) -> FrozenPage:
    """Return a page that says what its number, or its text, makes it say."""
    own_url = url or f"https://site{number % 3}.example/page/{number}"
    logged = LoggedPage(page_id or own_url, own_url, 1_700_000_000_000 + 1000 * number)
    kept = keep_text(content, locate_tokens(content).hashes, TEXT_PARTS | {PREFIXES})
    if is_short:
        return FrozenPage(logged, **kept._asdict())
    keyed = keyed_page(number, text=text)
    return FrozenPage(
        logged=logged,
        fingerprint=number,
        text_fingerprint=keyed.text_fingerprint,
        sketch=Random(number).randbytes(SKETCH_BYTES),
        shingle_count=100 + number,
        whole=whole,
        whole_count=200 + number if whole else 0,
        scope=scope,
        keys=page_keys([keyed]).keys.tobytes(),
        **kept._asdict(),
    )


def build_archive(
    path: Path,
    pages: Sequence[FrozenPage],
    *,
    memory_bytes: int = LEAST_MEMORY_BYTES,
    replaces: bool = False,
    parts: Sequence[PartWriter] = (),
    is_fuzzy: bool = False,
) -> Built:
    """Write an archive of these pages, with the parts beside their keys."""
    fuzzy = FuzzyKeysWriter(path.parent) if is_fuzzy else None
    matching = MatchingWriter(path.parent, SKETCH_BYTES, 1 << 26, fuzzy)
    schema = SCHEMA | dict(key_schema(frozenset({"bands", "fuzzy"})) if is_fuzzy else {})
    with (
        ArchiveWriter(path, replaces=replaces) as writer,
        ArchiveBuilder(writer, path.parent, memory_bytes, [matching, *parts]) as builder,
    ):
        for page in pages:
            builder.add(page)
        return builder.finish({"schema": schema})


def text_writers(
    directory: Path, *, common_pages: int = COMMON_PAGES, memory_bytes: int = LEAST_MEMORY_BYTES
) -> list[PartWriter]:
    """Return the parts that are made of texts."""
    return [
        PassagesWriter(directory, memory_bytes, stored_recipe(), common_pages),
        TextsWriter(directory),
    ]
