"""HTML pages of a few sites: each site repeats a frame, and pages of one site differ in their topic only.

A page says in its `meta` what it is made of, so that a judge knows which pages are copies of each other.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from neardup_stream.page import PageId
from neardup_stream.pipeline.frames import site_hash

__all__ = ["CONTENT_SHINGLES", "SITE_COUNT", "SitePage", "draw_page", "page_of", "page_url", "site_hashes"]

_FRAME_LINES = (16, 6)
"""Of each site, in lines: with the first one, pages of different topics match until the frame is known."""

_LINE_WORDS = 15
_PARAGRAPHS, _PARAGRAPH_WORDS = 5, 16

_EDITS = (((17, "e8"), (25, "e8")), ((19, "e1"), (29, "e4")), ((17, "e0"), (23, "e0")))
"""Of each topic: words of the content, and what replaces them. The simhash moves by at most 3 bits."""

SITE_COUNT = len(_FRAME_LINES)
_CONTENT_WORDS = _PARAGRAPHS * _PARAGRAPH_WORDS
CONTENT_SHINGLES = _CONTENT_WORDS - 2


class SitePage(NamedTuple):
    """What a page is made of.

    Attributes:
        site: its number; it decides the frame.
        topic: decides the content; pages of two topics share no word of it.
        edits: words of the content that are replaced, 0 to 2.
        frame_version: a site replaces one line of its frame from one version to the next.
    """

    site: int
    topic: int
    edits: int
    frame_version: int

    def value(self, page: int) -> bytes:
        """Return the record of a crawler."""
        return msgspec.json.encode(
            {"url": page_url(page), "html": self._html(), "meta": {"made_of": tuple(self)}}
        )

    def shingles(self) -> frozenset[tuple[str, ...]]:
        """Of three words, of the whole text."""
        words = " ".join([*self._frame(), *self._content()]).split()
        return frozenset(zip(words, words[1:], words[2:], strict=False))

    def _html(self) -> str:
        navigation, *others = _blocks(list(self._frame()))
        before, after = others[: len(others) // 2], others[len(others) // 2 :]
        return (
            f"<html><body><nav>{navigation}</nav>{''.join(before)}<main>"
            f"{''.join(f'<p>{line}</p>' for line in self._content())}</main>{''.join(after)}</body></html>"
        )

    def _frame(self) -> Iterator[str]:
        for line in range(_FRAME_LINES[self.site]):
            version = self.frame_version if line == 1 else 0
            yield " ".join(f"s{self.site}v{version}l{line}w{word}" for word in range(_LINE_WORDS))

    def _content(self) -> Iterator[str]:
        words = [f"t{self.topic}w{word}" for word in range(_CONTENT_WORDS)]
        for word, edited in _EDITS[self.topic][: self.edits]:
            words[word] = f"t{self.topic}{edited}"
        for paragraph in range(_PARAGRAPHS):
            yield " ".join(words[paragraph * _PARAGRAPH_WORDS : (paragraph + 1) * _PARAGRAPH_WORDS])


def page_url(page: int) -> str:
    """Return the id of a page of these sites."""
    return f"https://{_host(page % SITE_COUNT)}/{page}"


def site_hashes() -> list[int]:
    """Return what the frame store calls the sites, by number."""
    return [site_hash(_host(site), bytes(16)) for site in range(SITE_COUNT)]


def draw_page(page: int, dice: random.Random) -> SitePage:
    """Return a page of the site that its number says; often a copy of another page, or a sibling."""
    edits = dice.choice([0, 0, 1, 2])
    return SitePage(page % SITE_COUNT, dice.randrange(len(_EDITS)), edits, int(dice.random() < 0.25))


def page_of(value: bytes | None) -> SitePage | None:
    """Return what a record's page is made of; None where it is no page of a site."""
    try:
        return msgspec.json.decode(value or b"", type=_Crawled).meta.made_of
    except msgspec.DecodeError:
        return None


class _Meta(msgspec.Struct):
    made_of: SitePage


class _Crawled(msgspec.Struct):
    url: PageId
    meta: _Meta


def _host(site: int) -> str:
    return f"site{site}.example"


def _blocks(lines: list[str]) -> list[str]:
    """Return the first two lines as one block, each other one by itself."""
    return [
        "".join(f"<div>{line}</div>" for line in lines[:2]),
        *(f"<div>{line}</div>" for line in lines[2:]),
    ]
