"""Ask Scrapy whether a crawl is ending: it has neither a signal nor a public attribute for that.

At every end of a crawl, by Ctrl-C or by an extension, the engine waits for the requests in progress. One that
begins after the last of them ends in an error.
"""

from scrapy.crawler import Crawler

__all__ = ["is_ending"]


def is_ending(crawler: Crawler) -> bool:
    """Return whether the spider of a crawl is being closed, or is closed."""
    engine = crawler.engine
    return engine is None or engine._slot is None or engine._slot.closing is not None
