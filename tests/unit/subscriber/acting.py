"""A subscriber whose pages note what they are asked to do."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from neardup_stream.events import DuplicateFound, EventData, Gone, UniqueFound
from neardup_stream.subscriber import Actions, Subscription
from tests.events import At, duplicate
from tests.subscriptions import read_event

__all__ = [
    "COPIES",
    "FIRST",
    "LONG",
    "NEXT",
    "Act",
    "DiskFullError",
    "Pages",
    "Subscriber",
    "at_url",
    "deleted",
    "kinds",
    "redirected",
]

COPIES = tuple(f"copy {number}" for number in range(9))
FIRST = At("x", 1, "first")
NEXT = At("x", 2, COPIES[0])
LONG = 100.0
Act = tuple[str, ...]


class DiskFullError(Exception):
    """A method fails."""


class Pages:
    """Pages that are there or not, and what was asked."""

    def __init__(self) -> None:
        self.held = {"first", *COPIES}
        self.asked: list[Act] = []
        self.looked_for: list[str] = []
        self.failing: Act | None = None
        self.failing_after: Act | None = None

    def has(self, page_id: str) -> bool:
        self.looked_for.append(page_id)
        return page_id in self.held

    def mark_canonical(self, page_id: str, canonical_id: str | None) -> None:
        self._note("mark", page_id, canonical_id or "")

    def redirect(self, url: str, canonical_url: str | None) -> None:
        self._note("redirect", url, canonical_url or "")

    def delete(self, page_id: str, version: int) -> None:
        self._note("delete", page_id, str(version))
        self.held.discard(page_id)

    def forget(self, page_id: str, version: int) -> None:
        self._note("forget", page_id, str(version))
        self.held.discard(page_id)

    def fetch(self, page_id: str, url: str) -> None:
        self._note("fetch", page_id, url)
        self.held.add(page_id)

    def _note(self, *act: str) -> None:
        if act == self.failing:
            raise DiskFullError
        self.asked.append(act)
        if act == self.failing_after:
            raise DiskFullError


class Subscriber:
    """A subscription that acts on pages."""

    def __init__(self, path: Path) -> None:
        self.pages = Pages()
        self.now = 0.0
        self._path = path
        self._count = 0
        self._start()

    def take(self, events: Iterable[EventData], index: str = "") -> list[Act]:
        """Return what the pages are asked after these events of an index, without waiting."""
        self.pages.asked.clear()
        for event in events:
            read = read_event(event, index, event_id=str(self._count))
            self.subscription.feed(read, "events", 0, self._count)
            self._count += 1
        self.act(self._count)
        return list(self.pages.asked)

    def act(self, end: int) -> None:
        """Act while the topic ends at this offset."""
        self.actions.act({("events", 0): end})

    def wait(self) -> list[Act]:
        """Return what the pages are asked once all that may be deleted is due."""
        self.now += LONG
        return self.take(()) + self.take(())

    def start_again(self) -> None:
        """End without saving, and open the file again."""
        self.subscription.close()
        self._start()

    def _start(self) -> None:
        self.subscription = Subscription(self._path)
        self.actions = Actions(self.subscription, self.pages, LONG, clock=lambda: self.now)


def kinds(asked: Iterable[Act], kind: str) -> list[Act]:
    return [act for act in asked if act[0] == kind]


def redirected(page_id: str, url: str) -> DuplicateFound:
    """Return the event that a page is a duplicate of one with this URL."""
    event = duplicate(page_id, FIRST)
    assert event.cluster is not UNSET
    representative = replace(event.cluster.representative, url=url)
    return replace(event, cluster=replace(event.cluster, representative=representative))


def deleted(subscriber: Subscriber) -> None:
    """All copies of the first page are deleted."""
    subscriber.take(duplicate(each, FIRST, version=3) for each in COPIES)
    assert sorted(kinds(subscriber.wait(), "delete")) == [("delete", each, "3") for each in COPIES]


def at_url(event: DuplicateFound | UniqueFound | Gone, url: str) -> DuplicateFound | UniqueFound | Gone:
    return replace(event, page=replace(event.page, url=url))
