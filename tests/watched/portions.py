"""What groups of daemons are fed: a crawl in good order, and crawls that are not."""

import time
from base64 import b64encode
from collections.abc import Sequence

import msgspec

from tests.pipelines import essay
from tests.watched.groups import Fed

__all__ = ["crawl", "garbage", "old_and_skewed", "oversized", "some_garbage"]

NEW_PAGES = 6
OLD_COPIES = 12
BURST = 400
DAYS_OLD = 2
MENU = " ".join(f"menu entry {number}" for number in range(20))


def crawl(number: int) -> Sequence[Fed]:
    """New pages with a frame, copies elsewhere, and a little of everything else that is no error."""
    topics = range(number * NEW_PAGES, (number + 1) * NEW_PAGES)
    new = [_html(f"https://news.example/{topic}", essay(topic)) for topic in topics]
    copies = [_html(f"https://mirror{topic % 3}.example/{topic}", essay(topic)) for topic in topics[::2]]
    url = f"https://misc.example/{number % 7}"
    return [
        *new,
        *copies,
        new[0],
        _html(url, essay(10_000 + number)),
        _page(f"https://short.example/{number}", text="two words"),
        _page(f"https://pdf.example/{number}", body=_base64(b"%PDF"), content_type="application/pdf"),
        _page(
            f"https://odd.example/{number}", body=_base64(essay(20_000 + number).encode()), charset="klingon"
        ),
        Fed(None, key=f"https://news.example/{topics[0] - 30}".encode()),
    ]


def some_garbage(number: int, first_number: int) -> Sequence[Fed]:
    """Return a crawl of which a sixth is unreadable, with copies of pages that came before `first_number`.

    Once each of these was copied, the next host copies them.
    """
    begin = (number - first_number) * OLD_COPIES
    copied = [divmod(place, first_number * NEW_PAGES) for place in range(begin, begin + OLD_COPIES)]
    copies = [_html(f"https://archive{host}.example/{topic}", essay(topic)) for host, topic in copied]
    return [*crawl(number), *copies, Fed(b"{"), Fed(b""), Fed(b"[]"), Fed(b"{}")]


def garbage(number: int) -> Sequence[Fed]:
    """Nothing that can be read, and some of it large."""
    return [Fed(b"%d is no page" % number)] * 80 + [Fed(b"x" * 40_000)]


def old_and_skewed(number: int) -> Sequence[Fed]:
    """More than a slow daemon can take, two days old, and nearly all of it in one partition."""
    timestamp_ms = round((time.time() - DAYS_OLD * 86_400) * 1000)
    return [
        Fed(
            _page(f"https://old.example/{number}/{page}", text=essay(number * BURST + page)).value,
            partition=0 if page else 1,
            timestamp_ms=timestamp_ms,
        )
        for page in range(BURST)
    ]


def oversized(number: int) -> Sequence[Fed]:
    """Versions of one text on ever more pages."""
    return [
        _page(
            f"https://equal-pages.example/{number}/{page}",
            text=essay(1, edits=[page, (number + page) % 200]),
        )
        for page in range(20)
    ]


def _html(url: str, text: str) -> Fed:
    return _page(url, html=f"<body><nav><p>{MENU}</p></nav><article><p>{text}</p></article></body>")


def _page(url: str, **fields: object) -> Fed:
    return Fed(msgspec.json.encode({"url": url, **fields}))


def _base64(value: bytes) -> str:
    return b64encode(value).decode()
