"""Chromium, driven by Playwright: one process for all tests of a file."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.servers.process import find_program

__all__ = ["open_tab", "start_chromium"]

# Playwright's own deadlines are shorter than what a busy machine takes.
LAUNCH_MILLISECONDS = 180_000
ACTION_MILLISECONDS = 120_000
EXPECT_MILLISECONDS = 60_000


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """Start Debian's Chromium without a window; no event loop of ours can run in this thread meanwhile."""
    program = find_program("chromium", "chromium")
    with sync_playwright() as playwright:
        expect.set_options(timeout=EXPECT_MILLISECONDS)
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--disable-gpu", "--disable-lcd-text"],
            timeout=LAUNCH_MILLISECONDS,
        )
        try:
            yield browser
        finally:
            browser.close()


def open_tab(context: BrowserContext) -> Page:
    """Open a tab whose actions have time, also on a busy machine."""
    context.set_default_timeout(ACTION_MILLISECONDS)
    return context.new_page()
