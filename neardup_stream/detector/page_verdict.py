"""Say what a page is to those that were added before it."""

from typing import Literal, NamedTuple

import msgspec

from neardup_stream.match import Match
from neardup_stream.pipeline.candidate_comparison import Compared
from neardup_stream.stores.page_record import PageRecord

__all__ = ["Home", "PageClass", "PageVerdict", "verdict_of"]

PageClass = Literal["exact", "near", "contained", "unique", "undecided", "unchanged"]
"""What a page is to those before it. exact, near: it matches one. contained: it matches none, but is mostly
inside one, or the other way round. undecided: it has too few tokens. unchanged: it had this text before."""


class PageVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a page is to those that were added before it.

    Attributes:
        page_id: of the page.
        kind: in a word, see `PageClass`.
        matches: exact and near ones, best first.
        containers: pages that are mostly inside this one, or the other way round, and do not match.
        cluster: id of the cluster of the page; None for an undecided page, and for a text that another one of
            the page replaced in the same call.
        representative: the page of that cluster to keep, itself where it stands alone; None where `cluster`
            is.
    """

    page_id: str
    kind: PageClass
    matches: tuple[Match, ...] = ()
    containers: tuple[Match, ...] = ()
    cluster: str | None = None
    representative: str | None = None

    @property
    def is_duplicate(self) -> bool:
        """Return whether another page is the representative of its cluster."""
        return self.representative not in (None, self.page_id)


class Home(NamedTuple):
    """The cluster of a page."""

    cluster: str | None = None
    representative: str | None = None


def verdict_of(
    record: PageRecord, compared: Compared, home: Home, *, is_unchanged: bool = False
) -> PageVerdict:
    """Return the verdict on a page, from its record, what it matches, and its cluster."""
    return PageVerdict(
        page_id=record.id,
        kind="unchanged" if is_unchanged else _class_of(record, compared),
        matches=compared.matches,
        containers=compared.containers,
        cluster=home.cluster,
        representative=home.representative,
    )


def _class_of(record: PageRecord, compared: Compared) -> PageClass:
    if not record.is_indexed:
        return "undecided"
    if compared.matches:
        return compared.matches[0].kind
    return "contained" if compared.containers else "unique"
