"""Define all settings: one struct a section, each setting with its type, limits, default and one sentence.

The sentences are the reference: `config schema`, the help of flags and `docs/operations.md` repeat them.
Rules that belong to a library part (which blocks go with which distance) stay in that part's own config,
which is built here, so that a contradiction is found before anything starts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from msgspec import Meta

from neardup_daemon.failpoints import Failpoint, parse_failpoints
from neardup_daemon.settings.loading import Given, read_settings
from neardup_daemon.settings.pages import Limits, Page, Pages
from neardup_daemon.settings.query_api import Api
from neardup_daemon.settings.reporting import Http, Log, MetricSeries, Tracing
from neardup_daemon.settings.retention import Retention
from neardup_daemon.settings.section import Seconds, Section
from neardup_daemon.settings.servers import Kafka, Redis
from neardup_daemon.settings.verdicts import Clusters, Frames, Index, Sketch, Text, Verdict
from neardup_stream.errors import ConfigError
from neardup_stream.pipeline.in_flight import InFlightLimits

__all__ = ["Settings"]


_MIB = 1 << 20


class Archive(Section, frozen=True):
    """Which frozen archives pages are compared with before the live index, and what a match does."""

    files: Annotated[
        tuple[str, ...],
        Meta(description="Archives written by `freeze`; every page is looked up in all of them."),
    ] = ()
    on_match: Annotated[
        Literal["report", "skip"],
        Meta(
            description="What happens to a page that matches a frozen one: `report` publishes an"
            " `archived` event and compares the page with the index as usual; `skip` publishes"
            " the same event and stores a page record only: the page is in no cluster, and no"
            " later page matches it. With `skip`, all daemons of a namespace need the same"
            " files."
        ),
    ] = "report"
    matches_limit: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Most frozen pages listed in an `archived` event; its total counts all of them.",
        ),
    ] = 8
    reload_seconds: Annotated[
        Seconds,
        Meta(
            description="How often to check for replaced archive files and forgotten pages; a smaller"
            " number detects them sooner."
        ),
    ] = 10.0
    verify_at_start: Annotated[
        bool,
        Meta(
            description="Verify whole archives before they are asked, at start and when they are replaced,"
            " in a second a GB; otherwise each 4 KiB are verified at their first use, and damage is detected"
            " later."
        ),
    ] = True


class Events(Section, frozen=True):
    """Which events are sent besides the duplicates."""

    unique: Annotated[bool, Meta(description="Publish an event for every unique page.")] = False
    contained: Annotated[
        bool,
        Meta(description="Publish an event for every page that is mostly inside another, or contains one."),
    ] = False
    undecided: Annotated[
        bool, Meta(description="Publish an event for every page that is too short to be compared.")
    ] = False


class Pipeline(Section, frozen=True):
    """Limits of batches and pages in flight, and timeouts."""

    max_batch_pages: Annotated[int, Meta(ge=1, description="Most pages of one batch.")] = 512
    max_batch_bytes: Annotated[
        int, Meta(ge=1, description="Most bytes of one batch; a single larger page is a batch of its own.")
    ] = 16 * _MIB
    max_in_flight_pages: Annotated[
        int, Meta(ge=1, description="Most pages between reading and delivery; reading pauses at it.")
    ] = 2048
    max_in_flight_bytes: Annotated[
        int, Meta(ge=1, description="Most bytes between reading and delivery; reading pauses at it.")
    ] = 128 * _MIB
    commit_interval_seconds: Annotated[
        float, Meta(ge=0, le=86_400, description="Longest time a finished batch waits for its commit.")
    ] = 1.0
    drain_seconds: Annotated[
        Seconds, Meta(description="How long a clean stop, or a rebalance, waits for what is in flight.")
    ] = 20.0
    retry_deadline_seconds: Annotated[
        Seconds,
        Meta(description="How long a dependency may stay unavailable before the process exits with 3."),
    ] = 300.0
    stall_seconds: Annotated[
        Seconds,
        Meta(
            description="How long, in seconds, there may be work without a commit before `/livez` fails,"
            " so that a supervisor restarts the daemon."
        ),
    ] = 300.0

    def __post_init__(self) -> None:
        """Refuse a batch that could never be in flight.

        Raises:
            ConfigError: a batch may hold more than may be in flight.
        """
        self.limits()

    def limits(self) -> InFlightLimits:
        """Return the limits of pages in flight, for the loop."""
        return InFlightLimits(
            max_batch_pages=self.max_batch_pages,
            max_batch_bytes=self.max_batch_bytes,
            max_in_flight_pages=self.max_in_flight_pages,
            max_in_flight_bytes=self.max_in_flight_bytes,
        )


class Failpoints(Section, frozen=True):
    """Where the daemon fails by itself, for tests of crashes; see `daemon/neardup_daemon/failpoints.py`."""

    kill: Annotated[
        tuple[str, ...],
        Meta(description="For tests: calls at which the daemon kills itself, as `after events.send 3`."),
    ] = ()
    stop: Annotated[
        tuple[str, ...],
        Meta(description="For tests: calls at which the daemon stops itself until SIGCONT."),
    ] = ()

    def __post_init__(self) -> None:
        """Refuse points that do not exist.

        Raises:
            ConfigError: there is no such call.
        """
        self.points()

    def points(self) -> list[Failpoint]:
        """Return these settings for the composition root."""
        return parse_failpoints(self.kill, self.stop)


class Settings(Section, frozen=True):
    """Everything that can be set, in force for one run."""

    kafka: Kafka = Kafka()
    redis: Redis = Redis()
    index: Index = Index()
    text: Text = Text()
    sketch: Sketch = Sketch()
    verdict: Verdict = Verdict()
    frames: Frames = Frames()
    archive: Archive = Archive()
    clusters: Clusters = Clusters()
    retention: Retention = Retention()
    limits: Limits = Limits()
    page: Page = Page()
    pages: Pages = Pages()
    events: Events = Events()
    pipeline: Pipeline = Pipeline()
    http: Http = Http()
    api: Api = Api()
    metrics: MetricSeries = MetricSeries()
    tracing: Tracing = Tracing()
    log: Log = Log()
    failpoints: Failpoints = Failpoints()

    def __post_init__(self) -> None:
        """Refuse sections that contradict each other.

        Raises:
            ConfigError: `run` would listen twice on one port.
        """
        http, api = self.http, self.api
        if api.enabled and http.port and (http.host, http.port) == (api.host.strip("[]"), api.port):
            raise ConfigError(
                f"http.port ({http.port}) and api.port must be two ports while api.enabled is true"
            )

    @classmethod
    def load(
        cls,
        config: Path | None = None,
        overrides: Sequence[str | Given] = (),
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the settings in force: flags over environment over file over defaults.

        Args:
            config: a TOML file.
            overrides: `section.key=value`, or what a flag of its own gives; the later one wins.
            environ: variables such as `NEARDUP_KAFKA__PAGES_TOPIC`; others are left alone.

        Raises:
            ConfigError: an unknown name or a value that is not allowed, with the source that holds it.
        """
        return read_settings(cls, config, overrides, environ or {})[0]
