"""Say where a page was before it changed or was forgotten, as its events do. Pure."""

from typing import NamedTuple

from msgspec import UNSET, UnsetType

from neardup_stream.clusters.placements import Departure, lone_cluster_id
from neardup_stream.event_parts import LeftCluster, PreviousPlace
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Registered
from neardup_stream.pipeline.forgetting import Forgotten

__all__ = ["LeftPlace", "left_place"]


class LeftPlace(NamedTuple):
    """An earlier version of a page, and the cluster that it was in; none where it was undecided."""

    version: int
    cluster: LeftCluster | UnsetType

    @property
    def previous(self) -> PreviousPlace:
        """The same as the next version of the page says it."""
        return PreviousPlace(
            version=self.version, cluster=UNSET if self.cluster is UNSET else self.cluster.id
        )


def left_place(
    departure: Departure | None, handle: Handle, replacing: Registered | Forgotten
) -> LeftPlace | None:
    """Return what a page left; None where it was not known before, or nothing says where it was.

    Args:
        departure: by the clusters; they do not know a page that was decided long ago, and stood alone.
        handle: of the page.
        replacing: what replaced the earlier version: its records know that too.
    """
    former = replacing.decided_before or replacing.former
    if departure is not None:
        left = LeftPlace(departure.version, LeftCluster(id=departure.cluster_id, epoch=departure.epoch))
    elif former is not None and former.rank and former.is_kept:
        left = LeftPlace(former.version, LeftCluster(id=lone_cluster_id(handle, former.version), epoch=1))
    else:
        return None
    for each in (replacing.former, replacing.decided_before):
        if each is not None and each.version == left.version and each.is_uncompared:
            return left._replace(cluster=UNSET)  # the clusters do not know that: they place every page
    return left
