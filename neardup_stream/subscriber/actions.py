"""Acts on duplicates: marks canonical pages, writes redirects, deletes copies later, never the last one."""

from collections.abc import Callable
from typing import Protocol

from .subscription import Subscription
from .tracked import Change

__all__ = ["Actions", "Pages"]


class Pages(Protocol):
    """Your pages: a database, a search index, a folder. Every call must be safe to repeat."""

    def has(self, page_id: str) -> bool:
        """Return whether you still hold the page's content."""

    def mark_canonical(self, page_id: str, canonical_id: str | None) -> None:
        """Mark a page as a copy of another; None: it is no copy."""

    def redirect(self, url: str, canonical_url: str | None) -> None:
        """Redirect a URL to another; None: serve the page itself."""

    def delete(self, page_id: str) -> None:
        """Delete the content of a copy, but nothing that was stored after its event was made."""

    def forget(self, page_id: str) -> None:
        """Delete a page that was forgotten at the crawler's word or an operator's."""

    def fetch(self, page_id: str, url: str) -> None:
        """Fetch a page again: it is needed, and you deleted it as a copy."""


class Actions:
    """Carries out the changes that a subscription has due.

    A duplicate is marked and redirected at once and deleted later: until then its cluster may change. It is
    deleted only while another page is the representative of its cluster and you hold that page. So the last
    copy of a text is never deleted as a duplicate. A page that was forgotten is deleted at once, because
    that was asked for. A page that is to be kept and that you deleted before is fetched again.

    Args:
        subscription: whose changes are carried out.
        pages: your pages.
        delete_after_seconds: how long a page must have been a duplicate before it is deleted. Longer is safer
            and takes more room.
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

    def act(self) -> None:
        """Save the subscription, carry out what is due, and delete copies whose time has come."""
        self._subscription.save()
        for change in self._subscription.due():
            self._carry_out(change)
            self._subscription.done(change)
        self._subscription.save()
        for page_id in self._subscription.deletions(self._clock()):
            if self._may_delete(page_id):
                self._pages.delete(page_id)
                self._subscription.delete_never(page_id)
        self._subscription.save()

    def _carry_out(self, change: Change) -> None:
        page_id, _, after = change
        url, fold = self._subscription.fold.url_of(page_id), self._subscription.fold
        if after.is_gone:
            self._subscription.delete_never(page_id)
            self._pages.forget(page_id)
            self._pages.redirect(url, None)
        elif after.duplicate_of is None:
            self._subscription.delete_never(page_id)
            self._pages.mark_canonical(page_id, None)
            self._pages.redirect(url, None)
            if after.cluster_id is not None and not self._pages.has(page_id):
                self._pages.fetch(page_id, url)
        else:
            self._pages.mark_canonical(page_id, after.duplicate_of)
            self._pages.redirect(url, fold.url_of(after.duplicate_of))
            self._subscription.delete_later(page_id, self._clock() + self._delete_after_seconds)

    def _may_delete(self, page_id: str) -> bool:
        kept = self._subscription.fold.status(page_id).duplicate_of
        return kept is not None and self._pages.has(kept)
