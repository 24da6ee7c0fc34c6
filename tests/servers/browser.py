"""Chromium, driven by Playwright: one process for all tests of a file."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.servers.process import find_program

__all__ = ["start_chromium"]


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """Start Debian's Chromium without a window; no event loop of ours can run in this thread meanwhile."""
    program = find_program("chromium", "chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--disable-gpu", "--disable-lcd-text"]
        )
        try:
            yield browser
        finally:
            browser.close()
