"""Pictures of the web page in Chromium, over the demo's crawl: `python -m monitoring.screenshots DIRECTORY`.

Each view is written as `web-VIEW-light.png` and `web-VIEW-dark.png`.
"""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from playwright.sync_api import Browser, Page

from tests.servers.browser import start_chromium
from tests.servers.daemon import start_daemon
from tests.servers.kafka import start_kafka
from tests.servers.query_api import QueryApi, start_query_api
from tests.servers.redis import start_redis
from tests.shown_crawls import demo_crawl, publish, records_of, syndicated

CRAWL_PAGES = 900
STORY_PAGES = 24
TOPICS: Final = ("pages", "events", "dead_letters")
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
MOST_BYTES = 200_000

SHARED: Final = (
    "The northern ferry runs again from Monday, the harbour office {}. Repairs to the landing stage took six"
    " weeks and cost less than planned."
)
TEXTS: Final = (
    f"Ferry service resumes on Monday\n{SHARED.format('said')}\nTickets are sold at the pier and on board.",
    f"Ferry runs again next week\n{SHARED.format('announced')}\nIslanders had waited since the storm.",
)


@contextmanager
def serving() -> Iterator[QueryApi]:
    """Serve the demo's crawl and one story on many sites."""
    with ExitStack() as stack:
        broker, redis = stack.enter_context(start_kafka()), stack.enter_context(start_redis())
        for topic in TOPICS:
            broker.create_topic(topic)
        settings = (
            f"kafka.bootstrap_servers={broker.bootstrap_servers}",
            f"redis.url={redis.url}",
            "index.expected_pages=10000",
            *(f"kafka.{topic}_topic={topic}" for topic in TOPICS),
        )
        fed = [*records_of(demo_crawl(CRAWL_PAGES)), *syndicated(STORY_PAGES)]
        publish(broker.bootstrap_servers, "pages", fed)
        daemon = stack.enter_context(start_daemon(settings))
        daemon.wait_for_pages(len(fed))
        yield stack.enter_context(start_query_api(settings))


def views(api: QueryApi) -> Mapping[str, str]:
    """Return the fragment of each view by its name."""
    first, second = (quote(syndicated(STORY_PAGES)[at][0].decode(), safe="") for at in (0, 20))
    cluster = api.ask("GET", f"/v1/pages?url={first}", None).value["cluster"]["id"]
    return {
        "overview": "",
        "graph": f"clusters/{cluster}?show=graph",
        "figures": f"compare?first={first}&second={second}",
        "texts": "compare",
    }


def show(page: Page, api: QueryApi, name: str, view: str) -> None:
    """Open a view and wait until it is shown whole."""
    page.goto(f"http://127.0.0.1:{api.port}/#/{view}")
    page.wait_for_selector("main[aria-busy=false] h1")
    if name == "graph":
        page.get_by_role("navigation", name="Show the members as").evaluate("shown => shown.scrollIntoView()")
        page.locator(".node").last.evaluate("node => node.focus({preventScroll: true})")
    if name == "figures":
        page.get_by_role("region", name="Verdict").evaluate("shown => shown.scrollIntoView()")
    if name == "texts":
        for side, text in zip(page.locator(".side").all(), TEXTS, strict=True):
            side.locator("summary").click()
            side.locator("textarea").fill(text)
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("region", name="Texts").evaluate("shown => shown.scrollIntoView()")


def write_screenshots(browser: Browser, api: QueryApi, directory: Path) -> None:
    """Write every view in both schemes."""
    for scheme in SCHEMES:
        for name, view in views(api).items():
            page = browser.new_page(color_scheme=scheme, viewport={"width": 1000, "height": 680})
            show(page, api, name, view)
            picture = page.screenshot(animations="disabled")
            if len(picture) > MOST_BYTES:
                raise AssertionError(f"{name} takes {len(picture):,} bytes, more than {MOST_BYTES:,}")
            (directory / f"web-{name}-{scheme}.png").write_bytes(picture)
            page.close()


def main() -> None:
    """Start everything, write the pictures, end everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    with serving() as api, start_chromium() as browser:
        write_screenshots(browser, api, directory)


if __name__ == "__main__":
    main()
