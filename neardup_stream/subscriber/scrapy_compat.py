"""Ask Scrapy whether a crawl is ending: it has neither a signal nor a public attribute for that.

At every end of a crawl, by Ctrl-C or by an extension, the engine waits for the requests in progress, which
are those whose items are processed. One that begins after the last of them ends in an error.
"""

from typing import Any

from scrapy.crawler import Crawler

__all__ = ["is_ending", "takes_requests"]


def is_ending(crawler: Crawler) -> bool:
    """Return whether the spider of a running crawl is being closed."""
    return getattr(_slot(crawler), "closing", None) is not None


def takes_requests(crawler: Crawler) -> bool:
    """Return whether a request that begins now gets its answer."""
    return not is_ending(crawler) or bool(getattr(_slot(crawler), "inprogress", ()))


def _slot(crawler: Crawler) -> Any:
    """Return what the engine knows of the spider; None where it has none, or names it otherwise."""
    return getattr(crawler.engine, "_slot", None)
