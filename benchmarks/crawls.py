"""What end-to-end benchmarks are fed with: plain texts, or HTML pages of sites with frames.

The HTML has the same texts, each in the frame of one of `SITES` sites: a page of 560 words carries 300 words
of navigation, side list and footer more. A near-duplicate stands on the site of its original, so that it
is found with frames and without them, and both settings do the same work.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from neardup_daemon.demo.sample_crawl.plain_texts import TextPage, generate_texts

from benchmarks.quality.edits import Vocabulary
from benchmarks.quality.frames.generated_hosts import Host, generate_host, render_page

__all__ = ["CRAWLS", "Crawl", "text_pages"]

SITES = 100
FRAME_WORDS = 300
SEED = 7


class Crawl(NamedTuple):
    """One kind of input.

    Attributes:
        field: of a page's JSON that holds its content.
        pages: makes so many pages, the same at every call.
    """

    field: str
    pages: Callable[[int], Iterator[TextPage]]


def text_pages(count: int) -> Iterator[TextPage]:
    """Plain texts of 3.5 KB."""
    return generate_texts(count)


def html_pages(count: int) -> Iterator[TextPage]:
    """Yield the same texts as HTML, each with the frame of its site; `text` is the markup."""
    hosts = _hosts()
    for number, page in enumerate(generate_texts(count)):
        original = page.near_duplicate_of
        host = hosts[(number if original is None else int(original.removeprefix("page-"))) % SITES]
        yield page._replace(url=f"https://{host.name}/{number}", text=render_page(host, page.text.split()))


def _hosts() -> list[Host]:
    rng = np.random.default_rng(SEED)
    vocabulary = Vocabulary.make(rng)
    return [generate_host(number, FRAME_WORDS, vocabulary, rng) for number in range(SITES)]


CRAWLS: Mapping[str, Crawl] = {"text": Crawl("text", text_pages), "html": Crawl("html", html_pages)}
