"""A crawl whose clusters merge and change their representatives, and whose end does not depend on cuts.

To the families of `crawl`, which are alike each to each, it adds stories. A story has two texts that are not
alike, each on two pages; bridges, each like the next one, that connect the two; and an end in which its
first page is forgotten, changed or crawled again. Bridges stay as they are. So in the end a story is one
cluster, in whatever order its pages are decided.

Each page carries the number of its record as `meta`, which its events repeat.
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from neardup_stream.message import Message
from tests.chaos.crawl import crawl
from tests.pipelines import essay, page_json

__all__ = ["expected_partition", "families_of_pages", "family_of", "moving_crawl"]

_STORY_RECORDS = 13
_STORY_SHARE = 0.15
_STORY_PACE = 30
"""Most records of others between two of a story: it is not at its end when some seconds are lost."""

_FIRST_STORY = 1_000_000
_FIRST_CHANGED = 2_000_000
_BRIDGES = 7
_STEP = 12
"""Words in which a bridge differs from the next: they share 87 % of their shingles, and the ends 34 %."""


def moving_crawl(record_count: int, seed: int) -> list[Message]:
    """Return so many records, those of one page with one key."""
    dice = random.Random(seed)
    story_count = int(record_count * _STORY_SHARE / _STORY_RECORDS)
    others = crawl(record_count - story_count * _STORY_RECORDS, seed)
    last_start = max(1, len(others) - _STORY_RECORDS * _STORY_PACE)
    placed = list(enumerate(map(float, range(len(others)))))
    records = list(others)
    for story in range(story_count):
        place = dice.uniform(0, last_start)
        for record in _story(story, dice):
            place += dice.uniform(0, _STORY_PACE)
            placed.append((len(records), place))
            records.append(record)
    placed.sort(key=lambda each: each[1])
    return [_numbered(number, records[index]) for number, (index, _) in enumerate(placed)]


def family_of(message: Message) -> str | None:
    """Return the family or story of a page's text; None for no page, or one too short."""
    try:
        text = json.loads(message.value or b"{}").get("text", "")
    except ValueError:
        return None
    return next((word.partition("x")[0] for word in text.split() if word.startswith("word")), None)


def families_of_pages(messages: Iterable[Message]) -> Mapping[str, str]:
    """Return the family of each page's last text, of pages that have one."""
    last = {(message.key or b"").decode(): family_of(message) for message in messages}
    return {page: family for page, family in last.items() if family is not None}


def expected_partition(messages: Iterable[Message]) -> frozenset[frozenset[str]]:
    """Return the clusters of two or more in which all of this ends."""
    families: defaultdict[str, set[str]] = defaultdict(set)
    for page, family in families_of_pages(messages).items():
        families[family].add(page)
    return frozenset(frozenset(pages) for pages in families.values() if len(pages) > 1)


def _story(story: int, dice: random.Random) -> Iterator[Message]:
    topic = _FIRST_STORY + story

    def page(name: str, text: str) -> Message:
        url = f"story-{story}-{name}"
        return Message(key=f"https://example.com/{url}".encode(), value=page_json(url, text))

    def edited(text: str) -> str:
        words = text.split()
        for place in dice.sample(range(100, 200), 2):
            words[place] = f"edited{topic}x{place}"
        return " ".join(words)

    first, last = _between(topic, 0), _between(topic, _BRIDGES + 1)
    beginning = [page("a", first), page("b", edited(first)), page("y", last), page("z", edited(last))]
    bridges = [page(f"bridge-{number}", _between(topic, number)) for number in range(1, _BRIDGES + 1)]
    dice.shuffle(bridges)
    yield from (*beginning, *bridges)
    ends: Sequence[Message] = [
        Message(key=beginning[0].key, value=None),
        page("a", essay(_FIRST_CHANGED + story)),
        page("a", first),
    ]
    yield ends[story % len(ends)]
    yield page("y", edited(last))


def _between(topic: int, steps: int) -> str:
    """Return the first text of a story, so many steps on the way to its last."""
    words = [f"word{topic}x{number}" for number in range(200)]
    words[: steps * _STEP] = [f"other{topic}x{number}" for number in range(steps * _STEP)]
    return " ".join(words)


def _numbered(number: int, message: Message) -> Message:
    try:
        page = json.loads(message.value or b"")
    except ValueError:
        return message
    return Message(key=message.key, value=msgspec.json.encode({**page, "meta": number}))
