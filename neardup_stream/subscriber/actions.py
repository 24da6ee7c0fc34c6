"""Acts on duplicates: marks canonical pages, writes redirects, deletes copies later, never the last one."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from .known_time import KnownTime
from .subscription import Subscription
from .tracked import Change

__all__ = ["Actions", "Pages"]

_ASK_AGAIN_SECONDS: Final = 60.0
"""At least so long after a page was found missing, it is looked for again."""


class Pages(Protocol):
    """Your pages: a database, a search index, a folder. Every call must be safe to repeat."""

    def has(self, page_id: str) -> bool:
        """Return whether you still hold the page's content.

        Return False also where the text you hold is of a later version than `Subscription.fold.version_of`
        has: its event is not read yet.
        """

    def mark_canonical(self, page_id: str, canonical_id: str | None) -> None:
        """Mark a page as a copy of another; None: it is no copy."""

    def redirect(self, url: str, canonical_url: str | None) -> None:
        """Redirect a URL to another, always an http or https one; None: serve the page itself."""

    def delete(self, page_id: str, version: int) -> None:
        """Delete the content of a copy up to a version; nothing that you stored as a later version."""

    def forget(self, page_id: str, version: int) -> None:
        """Delete a forgotten page up to that version; nothing that you stored as a later one."""

    def fetch(self, page_id: str, url: str) -> None:
        """Fetch a page: it is needed, and you do not hold it. You may be asked while a request still runs."""


class Actions:
    """Carries out the changes that a subscription has due.

    A duplicate is marked and redirected at once and deleted later: until then its cluster may change. It is
    deleted only while another page is the representative of its cluster and you hold that page, and only once
    everything is read that was on the topic when its time came. So the last copy of a text is never deleted
    as a duplicate, however long the process was down. A page that was forgotten is deleted at once, because
    that was asked for. While you do not hold the representative, its copies are put off, each time by
    `delete_after_seconds`, or by a minute if that is longer, and it is fetched each time. A page that is
    needed and that you deleted before is fetched again, after `delete_after_seconds` where no event says what
    became of it: its representative left or expired, or a later index has not named it.

    An exception of one of your methods ends `act`. The page at fault and all pages behind it are due at the
    next call, in this process or after a restart, even if their status has changed back: every step is
    carried out again from the first.

    Args:
        subscription: whose changes are carried out.
        pages: your pages.
        delete_after_seconds: how long this version of a page must have been a duplicate of the same page
            before it is deleted. Longer is safer and takes more room.
        clock: returns the time in seconds; it must go on while the process does not run.
    """

    def __init__(
        self,
        subscription: Subscription,
        pages: Pages,
        delete_after_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._subscription = subscription
        self._pages = pages
        self._delete_after_seconds = delete_after_seconds
        self._clock = clock
        self._known_time = KnownTime(subscription, clock)

    def act(self, ends: Mapping[tuple[str, int], int]) -> None:
        """Save the subscription, carry out what is due, and delete copies whose time has come.

        Args:
            ends: end offset of every partition, by topic and partition, asked for since the last call. Until
                they are read nothing is deleted.
        """
        self._subscription.save()
        changes = self._subscription.due()
        for change in changes:
            self._note_address(change)
        self._subscription.save()
        for change in changes:
            self._carry_out(change)
            self._subscription.done(change)
        self._subscription.save()
        known_time = self._known_time.reached(ends)
        if known_time is not None:
            self._delete_copies(known_time)
            self._subscription.save()

    def _delete_copies(self, now: float) -> None:
        """Delete the copies whose time has come, or put them off while their representative is not held.

        The representative is fetched then, once for all of its copies. Those whose cluster has had no
        representative for so long, and those that a later index has not named, are fetched if they are
        deleted already.
        """
        fold, missing = self._subscription.fold, set[str]()
        for page_id in self._subscription.deletions(now):
            kept = fold.status(page_id).duplicate_of
            if kept is None:  # no other page may stand for it: expiry publishes no event
                self._fetch_if_missing(page_id)
                self._subscription.delete_never(page_id)
                continue
            if kept not in missing and self._pages.has(kept):
                self._pages.delete(page_id, fold.version_of(page_id))
                self._subscription.delete_never(page_id)
                continue
            if kept not in missing:
                missing.add(kept)
                self._pages.fetch(kept, self._url_of(kept))
            self._subscription.delete_later(
                page_id, now + max(self._delete_after_seconds, _ASK_AGAIN_SECONDS)
            )

    def _note_address(self, change: Change) -> None:
        """Note what is to be redirected, before it is: a process that dies in between releases it later.

        An address that was redirected before, and is no more the page's, is released.
        """
        url, former = self._url_of(change.page_id), self._subscription.redirected_url(change.page_id)
        if former not in (None, url):
            self._pages.redirect(former, None)
        if self._target(change) is not None:
            self._subscription.note_redirected(change.page_id, url)

    def _carry_out(self, change: Change) -> None:
        page_id, _, after = change
        if after.is_gone:
            self._subscription.delete_never(page_id)
            self._pages.forget(page_id, self._subscription.fold.version_of(page_id))
            self._redirect(change)
        elif after.duplicate_of is not None:
            self._pages.mark_canonical(page_id, after.duplicate_of)
            self._redirect(change)
            self._delete_later(page_id)
        else:
            self._pages.mark_canonical(page_id, None)
            self._redirect(change)
            if after.is_needed:
                self._fetch_if_missing(page_id)
                self._subscription.delete_never(page_id)
            elif change.before.cluster_id is not None or after.cluster_id is not None:
                self._delete_later(page_id)  # the next representative is to come, or what a later index says

    def _delete_later(self, page_id: str) -> None:
        self._subscription.delete_later(page_id, self._clock() + self._delete_after_seconds)

    def _fetch_if_missing(self, page_id: str) -> None:
        if not self._pages.has(page_id):
            self._pages.fetch(page_id, self._url_of(page_id))

    def _redirect(self, change: Change) -> None:
        """Redirect a page to the one that is kept for it; else serve the page itself."""
        target = self._target(change)
        self._pages.redirect(self._url_of(change.page_id), target)
        if target is None:
            self._subscription.note_redirected(change.page_id, None)

    def _target(self, change: Change) -> str | None:
        """Return the address to which a page is to be redirected; None for no other one."""
        kept = change.after.duplicate_of
        target = None if kept is None else _address(self._url_of(kept))
        return None if target == self._url_of(change.page_id) else target

    def _url_of(self, page_id: str) -> str:
        return self._subscription.fold.url_of(page_id)


def _address(url: str) -> str | None:
    """Return a URL to which a browser may be sent; None for others, such as javascript: and data:."""
    return url if url.lower().startswith(("http://", "https://")) else None
