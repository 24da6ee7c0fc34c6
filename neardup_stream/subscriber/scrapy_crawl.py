"""What each of our pipelines asks of its Scrapy crawl."""

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import is_asyncio_available

__all__ = ["count", "require_asyncio"]


def require_asyncio() -> None:
    """Refuse a crawl in which no pipeline can await asyncio.

    Raises:
        RuntimeError: Scrapy has another reactor; it does not start the crawl.
    """
    if not is_asyncio_available():
        raise RuntimeError(
            "the pipelines of neardup need Scrapy's default TWISTED_REACTOR, the one of asyncio"
        )


def count(crawler: Crawler, outcome: str) -> None:
    """Count an item in the statistics of its crawl."""
    if crawler.stats is not None:
        crawler.stats.inc_value(f"neardup/{outcome}")
