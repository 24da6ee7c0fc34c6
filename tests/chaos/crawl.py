"""An endless crawl for runs that are cut again and again: its clusters do not depend on when they are cut.

Pages come in families. The texts of one family are all alike, each to each other, and unlike all others. So
it never matters in what order the partitions are read, or whether a version was passed over because a later
one was recorded before it could be decided: no page is the only link between two others, and in the end two
living pages are in one cluster exactly if their last texts are of one family.
"""

import random
from collections import deque
from collections.abc import Iterator

from neardup_stream.message import Message
from tests.pipelines import essay, page_json

__all__ = ["crawl"]

_FAMILY_TEXTS = 6
"""So few that no range of the index is ever an oversized bucket, of which probes see only a sample."""

_RECENT = 400
"""Most of what happens happens to pages that came lately, and may still be on their way."""

_WORDS = 200
_EDITS = 2
"""Of 200 words: any two texts of a family share nearly nine tenths of their shingles."""


def crawl(record_count: int, seed: int) -> list[Message]:
    """So many records: pages, copies, re-crawls, changes, forgets, returns, pages too short, and rubbish.

    The key of each is the page's id, so all records of one page are in one partition.
    """
    return list(_Crawler(random.Random(seed)).records(record_count))


class _Crawler:
    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._texts: dict[int, str] = {}
        self._gone: deque[int] = deque(maxlen=_RECENT)
        self._living: list[int] = []
        self._families: list[int] = []

    def records(self, count: int) -> Iterator[Message]:
        kinds = {
            self._new_family: 45,
            self._new_relative: 24,
            self._again: 10,
            self._changed: 9,
            self._forgotten: 5,
            self._returned: 3,
            self._too_short: 2,
            self._rubbish: 1,
            self._unheard_of: 1,
        }
        yield self._new_family()
        chosen = self._dice.choices(list(kinds), list(kinds.values()), k=count - 1)
        for make in chosen:
            yield make()

    def _new_family(self) -> Message:
        return self._page(self._new(), self._family_text(len(self._families), found=True))

    def _new_relative(self) -> Message:
        return self._page(self._new(), self._relative_text())

    def _again(self) -> Message:
        page = self._recent(self._living)
        return self._page(page, self._texts[page])

    def _changed(self) -> Message:
        return self._page(self._recent(self._living), self._relative_text())

    def _forgotten(self) -> Message:
        if len(self._living) < 2:
            return self._new_family()
        page = self._recent(self._living)
        self._living.remove(page)
        self._gone.append(page)
        return Message(key=_url(page).encode(), value=None)

    def _returned(self) -> Message:
        if not self._gone:
            return self._new_family()
        page = self._gone.popleft()
        self._living.append(page)
        return self._page(page, self._texts[page])

    def _too_short(self) -> Message:
        return self._page(self._recent(self._living), "moved")

    def _rubbish(self) -> Message:
        return Message(key=b"%d" % self._dice.randrange(100), value=b"json failed to parse")

    def _unheard_of(self) -> Message:
        return Message(key=b"https://example.com/unheard-of/%d" % self._dice.randrange(100), value=None)

    def _new(self) -> int:
        page = len(self._texts)
        self._living.append(page)
        return page

    def _page(self, page: int, text: str) -> Message:
        self._texts[page] = text
        return Message(key=_url(page).encode(), value=page_json(str(page), text))

    def _relative_text(self) -> str:
        return self._family_text(self._recent(range(len(self._families))), found=False)

    def _family_text(self, family: int, *, found: bool) -> str:
        """Another text of a family, or of a new one when the family is large enough."""
        if found or self._families[family] == _FAMILY_TEXTS:
            family = len(self._families)
            self._families.append(0)
        self._families[family] += 1
        return essay(family, self._dice.sample(range(_WORDS), self._dice.randint(0, _EDITS)))

    def _recent(self, things: list[int] | range) -> int:
        """Return one of the last, but for one in ten, which is any."""
        first = 0 if self._dice.random() < 0.1 else max(0, len(things) - _RECENT)
        return things[self._dice.randrange(first, len(things))]


def _url(page: int) -> str:
    return f"https://example.com/{page}"
