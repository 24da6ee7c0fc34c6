"""Convert events to facts about pages and clusters, which hold in any order."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

__all__ = ["NOWHERE", "Fact", "Merged", "Named", "Put", "facts_of"]

NOWHERE = ""
"""The cluster id of a page that is in no cluster."""


class _Page(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def version(self) -> int: ...


class Put(NamedTuple):
    """A version of a page is in a cluster.

    Attributes:
        page: the page.
        cluster_id: as the event has it, perhaps absorbed since; `NOWHERE` for no cluster.
        has_left: this version was the representative of a cluster and has left it.
        is_gone: the page was forgotten.
    """

    page: _Page
    cluster_id: str
    has_left: bool = False
    is_gone: bool = False


class Named(NamedTuple):
    """At an epoch a page is the representative of a cluster, and so is in it."""

    page: _Page
    cluster_id: str
    epoch: int


class Merged(NamedTuple):
    """Two ids are one cluster from now on."""

    survivor_id: str
    absorbed_id: str


Fact = Put | Named | Merged


def facts_of(event_type: str, data: Any) -> tuple[Fact, ...]:
    """Return the facts that an event adds; none for a type that concerns no cluster.

    Args:
        event_type: CloudEvents `type` of the event.
        data: an object of the type's class, or one with the same attributes; an absent one is false.
    """
    return tuple(_facts_of(event_type, data))


def _facts_of(event_type: str, data: Any) -> Iterator[Fact]:
    match event_type:
        case "io.neardup.duplicate.v1" if data.cluster:
            yield Put(data.page, data.cluster.id)
            yield Named(data.cluster.representative, data.cluster.id, data.cluster.epoch)
        case "io.neardup.unique.v1" if data.cluster:
            yield Named(data.page, data.cluster.id, data.cluster.epoch)
        case "io.neardup.duplicate.v1" | "io.neardup.unique.v1" | "io.neardup.undecided.v1":
            yield Put(data.page, NOWHERE)
        case "io.neardup.gone.v1":
            yield Put(data.page, NOWHERE, is_gone=True)
        case "io.neardup.cluster-merge.v1":
            for each in (data.survivor, data.absorbed):
                yield Named(each.representative, each.id, each.epoch)
            yield Merged(data.survivor.id, data.absorbed.id)
        case "io.neardup.representative-changed.v1":
            yield Named(data.representative, data.cluster.id, data.cluster.epoch)
            yield Put(data.former, NOWHERE, has_left=True)
