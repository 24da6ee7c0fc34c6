"""The views of the web page, and tabs that look at them."""

from typing import NamedTuple
from urllib.parse import quote

from neardup_daemon.demo.sample_crawl.truth import SampleCrawl
from playwright.sync_api import Page

from tests.servers.query_api import QueryApi
from tests.shown_crawls import (
    HOSTILE,
)

__all__ = [
    "READY",
    "TOKEN",
    "Look",
    "Shown",
    "cluster_id",
    "compare_view",
    "fill_in",
    "hostile_views",
    "page_view",
]

TOKEN = "right"  # noqa: S105 - of this test
READY = "main[aria-busy=false] h1"


class Shown(NamedTuple):
    """What is looked at: the demo's crawl beside Kafka, many clusters without, and the first with a token."""

    crawl: SampleCrawl
    demo: QueryApi
    many: QueryApi
    locked: QueryApi


class Look(NamedTuple):
    """A tab of the browser, and what went wrong in it."""

    page: Page
    faults: list[str]

    def at(self, api: QueryApi, view: str = "") -> Page:
        """Open a view and wait until it is shown."""
        self.page.goto(f"http://127.0.0.1:{api.port}/#/{view}")
        self.page.reload()  # where only the fragment differs, the browser loads nothing
        self.page.wait_for_selector(READY)
        return self.page


def page_view(url: str) -> str:
    return f"page?url={quote(url, safe='')}"


def compare_view(first: str, second: str) -> str:
    return f"compare?first={quote(first, safe='')}&second={quote(second, safe='')}"


def cluster_id(api: QueryApi, url: str) -> str:
    found: str = api.get("/v1/pages", url=url).value["cluster"]["id"]
    return found


def fill_in(page: Page, name: str, kind: str, content: str) -> None:
    side = page.locator(".side", has=page.locator(f"#{name}-url"))
    side.locator("summary").click()
    side.get_by_label(kind, exact=True).check()
    side.locator("textarea").fill(content)


def hostile_views(shown: Shown) -> list[str]:
    cluster = f"clusters/{cluster_id(shown.demo, HOSTILE[0])}"
    return [
        "",
        "dead-letters",
        cluster,
        f"{cluster}?show=graph",
        *map(page_view, HOSTILE),
        *(compare_view(HOSTILE[0], other) for other in HOSTILE[1:]),
        page_view("<img src=x onerror='window.injected = true'>"),
        "clusters/<script>window.injected = true</script>",
    ]
