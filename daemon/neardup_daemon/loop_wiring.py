"""Build the loop over opened stores and streams, by the settings."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from neardup_daemon.clocks import StoreClock
from neardup_daemon.policy import agreed_archive_ids
from neardup_daemon.preparing import build_frames, cluster_rule, verdict_config
from neardup_daemon.reloaded_archives import ReloadedArchives
from neardup_daemon.settings.settings import Settings
from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.errors import BadPage, Unavailable
from neardup_stream.message import Message, Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.consult import Consultation
from neardup_stream.pipeline.deliver import Publication
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.kept_text import TextParts
from neardup_stream.pipeline.loop import Loop
from neardup_stream.pipeline.loop_config import LoopConfig
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.pipeline.retries import Retries, RetryPolicy
from neardup_stream.pipeline.short_path import ArrayStores
from neardup_stream.pipeline.stages import PageWork, Runtime, StoreWork
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.frame_store import FrameStore
from neardup_stream.stores.index_identity import Policy
from neardup_stream.streams.files.inputs import is_regular
from neardup_stream.streams.protocol import Sink, Source
from neardup_stream.wire.dead_letters import dead_letter, to_json_line
from neardup_stream.wire.events import to_structured

__all__ = [
    "LoopStores",
    "asked_text_parts",
    "build_clusters",
    "build_consultation",
    "build_loop",
    "build_retries",
    "files_loop_config",
    "line_publication",
    "loop_config",
]

_NOT_COMPARED: Final = Policy(0, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStores:
    """What the loop keeps, open.

    Attributes:
        pages: where pages are kept, and with what they are compared.
        frames: the frames of sites.
        clusters: None where they are switched off.
        index_token: what events say of the index.
        clock: epoch seconds by the store.
        policy: as it was compared with the one in force; without settings where it was not compared.
        in_arrays: see `StoreWork`.
    """

    pages: PageStores
    frames: FrameStore
    clusters: Clusters | None
    index_token: str
    clock: StoreClock = field(default_factory=StoreClock)
    policy: Policy = _NOT_COMPARED
    in_arrays: ArrayStores | None = None

    async def require_index(self) -> None:
        """Return if the index is still there, as one in this process is.

        Raises:
            ConfigError: it lost what was decided; the message names the remedy.
            StoreUnavailable: the store became unavailable.
        """


def build_clusters(settings: Settings, store: ClusterStore, descriptions: Descriptions) -> Clusters | None:
    """Return the clusters over a store, by the settings; None where they are switched off."""
    rule = cluster_rule(settings)
    if rule is None:
        return None
    return Clusters(
        store,
        descriptions,
        rule,
        ClusterConfig(
            tombstone_ttl_seconds=settings.clusters.tombstone_ttl_seconds,
            pending_edges=settings.clusters.pending_edges,
        ),
    )


def build_retries(
    settings: Settings,
    meters: PipelineMeters,
    on_unavailable: Callable[[Unavailable | None], None] = lambda _error: None,
) -> Retries:
    """Return what retries steps while a dependency is unavailable, by the settings.

    Args:
        settings: say how long.
        meters: counts repeats.
        on_unavailable: see `Retries`.
    """
    return Retries(RetryPolicy(settings.pipeline.retry_deadline_seconds), meters, on_unavailable)


def loop_config(settings: Settings) -> LoopConfig:
    """Return how the loop paces itself over a stream."""
    pipeline = settings.pipeline
    return LoopConfig(
        limits=pipeline.limits(),
        commit_interval_seconds=pipeline.commit_interval_seconds,
        drain_seconds=pipeline.drain_seconds,
    )


def files_loop_config(settings: Settings, *, is_kept: bool) -> LoopConfig:
    """Return the same over files; `is_kept`: the stores outlive it."""
    config = loop_config(settings)
    return replace(
        config,
        limits=replace(config.limits, is_room_whole=True),
        is_read_again=lambda partition: is_kept and is_regular(partition),
    )


def build_loop(
    settings: Settings,
    stores: LoopStores,
    source: Source,
    publication: Publication,
    preparation: Prepares,
    runtime: Runtime,
    *,
    archives: Consultation | None = None,
    now_seconds: Callable[[], float] | None = None,
) -> Loop:
    """Return the pipeline over opened streams and stores.

    Args:
        settings: what is compared, and published.
        stores: open.
        source: open.
        publication: where messages are sent.
        preparation: of pages, in worker processes.
        runtime: how stages run.
        archives: finds the matches of pages in frozen archives.
        now_seconds: the wall clock; None for that of the stores.
    """
    retries, meters, key = runtime.retries, runtime.meters, stores.pages.handle_key
    frames = build_frames(settings, stores.frames, key, retries, meters, preparation)
    clock = now_seconds or stores.clock
    return Loop(
        source=source,
        publication=publication,
        pages=PageWork(preparation, frames, archives),
        work=StoreWork(
            stores.pages,
            verdict_config(settings),
            _event_config(settings, stores),
            clock,
            stores.in_arrays if archives is None else None,
        ),
        runtime=runtime,
    )


def _event_config(settings: Settings, stores: LoopStores) -> EventConfig:
    return EventConfig(
        namespace=settings.redis.namespace,
        index_token=stores.index_token,
        unique=settings.events.unique,
        contained=settings.events.contained,
        undecided=settings.events.undecided,
        matches_limit=settings.verdict.matches_limit,
    )


def build_consultation(settings: Settings, meters: PipelineMeters, agreed: Policy) -> Consultation | None:
    """Return what asks the archives of the settings, opened; None where there are none.

    Args:
        settings: which archives, and how they are asked.
        meters: counts what was found.
        agreed: the policy that was compared with the one in force.

    Raises:
        ConfigError: one of them is missing, is no archive, was made with other settings, or is not the one
            that the policy names.
        CorruptData: one of them is damaged.
    """
    if not settings.archive.files:
        return None
    archives = ReloadedArchives(settings, meters, agreed_archive_ids(agreed))
    config = verdict_config(settings)
    skips_matches = settings.archive.on_match == "skip"
    limit = settings.archive.matches_limit
    return Consultation(
        archives.current,
        config,
        limit,
        meters,
        skips_matches=skips_matches,
        text_parts=archives.text_parts,
    )


def asked_text_parts(archives: Consultation | None) -> TextParts:
    """Return what of the texts of pages archives are asked with; nothing where there are none."""
    return archives.text_parts if archives else frozenset()


def line_publication(events: Sink, dead_letters: Sink) -> Publication:
    """Both as lines of JSON, for files and pipes."""

    def render_dead_letter(record: Record, error: BadPage) -> Message:
        return Message(key=None, value=to_json_line(dead_letter(record, error, None)))

    return Publication(
        events, dead_letters, lambda event: Message(key=None, value=to_structured(event)), render_dead_letter
    )
