"""What can be set: one struct a section, each setting with its type, limits, default and one sentence.

The sentences are the reference: `config schema`, the help of flags and `docs/operations.md` repeat them.
Rules that belong to a library part (which blocks go with which distance) stay in that part's own config,
which is built here, so that a contradiction is found before anything starts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from msgspec import Meta

from neardup_daemon.failpoints import Failpoint, parse_failpoints
from neardup_daemon.settings.loading import read_settings
from neardup_daemon.settings.query_api import Api
from neardup_daemon.settings.reporting import Http, Log, MetricSeries, Tracing
from neardup_daemon.settings.section import Seconds, Section
from neardup_daemon.settings.servers import Kafka, Redis
from neardup_daemon.settings.verdicts import Clusters, Frames, Index, Sketch, Text, Verdict
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.worker_limits import WorkerLimits
from neardup_stream.text.limits import MarkupLimits, TextLimits
from neardup_stream.wire.pages import PageLimits
from neardup_stream.wire.presets import Preset

__all__ = [
    "Api",
    "Archive",
    "Events",
    "Failpoints",
    "Http",
    "Limits",
    "Log",
    "MetricSeries",
    "Page",
    "PageFields",
    "Pages",
    "Pipeline",
    "Retention",
    "Settings",
    "Tracing",
]

FieldPath = Annotated[str, Meta(pattern=r"^[^.]+(\.[^.]+)*$")]

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
            description="Verify whole archives before the first page, in a second a GB; otherwise each 4"
            " KiB are verified at their first use, and damage is detected later."
        ),
    ] = True


class Retention(Section, frozen=True):
    """When pages that are not seen again expire."""

    seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=10 * 366 * 86_400,
            description="Pages not seen for this long, in seconds, expire; 0 keeps all pages.",
        ),
    ] = 0.0
    stub_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=10 * 366 * 86_400,
            description="How long, in seconds, the stub (id and version) of a forgotten or expired page"
            " is kept.",
        ),
    ] = 86_400.0


class Limits(Section, frozen=True):
    """Limits above which a record becomes a dead letter."""

    max_page_bytes: Annotated[int, Meta(ge=1, le=1 << 30, description="Largest record value.")] = 4 * _MIB
    max_url_bytes: Annotated[int, Meta(ge=1, le=_MIB, description="Longest URL, in UTF-8.")] = 4096
    max_id_bytes: Annotated[int, Meta(ge=1, le=_MIB, description="Longest page id, in UTF-8.")] = 4096
    max_meta_bytes: Annotated[
        int, Meta(ge=1, le=16 * _MIB, description="Largest `meta`, as the JSON it came in.")
    ] = 65_536
    max_expanded_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Most bytes to which a compressed batch of the pages topic may expand; every"
            " record of a larger one becomes a dead letter without its content.",
        ),
    ] = 32 * _MIB
    max_text_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Longest text of a page, in UTF-8, as extracted and as canonicalized.",
        ),
    ] = 4 * _MIB
    max_nodes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Most elements and attributes of a page, including the formatting elements that a"
            " parser repeats because they were left open.",
        ),
    ] = 1 << 19
    max_depth: Annotated[int, Meta(ge=1, le=65_536, description="Most nested elements of a page.")] = 1024
    max_attributes: Annotated[int, Meta(ge=1, le=_MIB, description="Most attributes of one element.")] = 1024
    max_names: Annotated[
        int,
        Meta(ge=1, le=_MIB, description="Most different names of elements and attributes of a page."),
    ] = 4096
    max_formatting: Annotated[
        int,
        Meta(ge=1, le=65_536, description="Most formatting elements, such as `b` and `font`, open at once."),
    ] = 256
    max_options: Annotated[int, Meta(ge=1, le=_MIB, description="Most `option` elements of a page.")] = 8192
    max_steps: Annotated[
        int,
        Meta(
            ge=_MIB,
            le=1 << 40,
            description="Most open elements of a page that a parser passes at tags: at each tag, as many as"
            " are open.",
        ),
    ] = 1 << 28
    max_copied_bytes: Annotated[
        int,
        Meta(
            ge=_MIB,
            le=1 << 40,
            description="Most text of a page that a parser copies, in bytes, because tags that it ignores,"
            " comments or table cells come between the pieces of one text.",
        ),
    ] = 64 * _MIB
    page_seconds: Annotated[
        Seconds,
        Meta(
            description="Most CPU time, in seconds, to prepare one page; a larger value accepts slower"
            " pages, but a hostile one delays its batch for as long."
        ),
    ] = 2.0
    page_memory_bytes: Annotated[
        int,
        Meta(
            ge=64 * _MIB,
            le=1 << 40,
            description="Most memory to prepare one page. The worker process may take 64 MiB more for"
            " other pages.",
        ),
    ] = 512 * _MIB

    def config(self) -> PageLimits:
        """Return these settings for the page decoder."""
        return PageLimits(
            max_page_bytes=self.max_page_bytes,
            max_url_bytes=self.max_url_bytes,
            max_id_bytes=self.max_id_bytes,
            max_meta_bytes=self.max_meta_bytes,
        )

    def text(self) -> TextLimits:
        """Return these settings for the extraction of text."""
        markup = MarkupLimits(
            max_nodes=self.max_nodes,
            max_depth=self.max_depth,
            max_attributes=self.max_attributes,
            max_names=self.max_names,
            max_formatting=self.max_formatting,
            max_options=self.max_options,
            max_steps=self.max_steps,
            max_text_bytes=self.max_text_bytes,
            max_copied_bytes=self.max_copied_bytes,
        )
        return TextLimits(markup, self.max_text_bytes)

    def worker(self) -> WorkerLimits:
        """Return these settings for the process that prepares pages."""
        return WorkerLimits(self.page_seconds, self.page_memory_bytes)


class PageFields(Section, frozen=True):
    """Where a crawler's JSON keeps what we call by other names; dots go into nested objects."""

    url: Annotated[FieldPath, Meta(description="Address as crawled.")] = "url"
    id: Annotated[FieldPath, Meta(description="Identity of the page.")] = "id"
    fetched_at: Annotated[FieldPath, Meta(description="When it was fetched.")] = "fetched_at"
    html: Annotated[FieldPath, Meta(description="Markup.")] = "html"
    text: Annotated[FieldPath, Meta(description="Visible text.")] = "text"
    body: Annotated[FieldPath, Meta(description="Bytes as fetched, in base64.")] = "body"
    content_type: Annotated[FieldPath, Meta(description="Media type of the body.")] = "content_type"
    charset: Annotated[FieldPath, Meta(description="Label of the body's encoding.")] = "charset"
    status: Annotated[FieldPath, Meta(description="HTTP status.")] = "status"
    language: Annotated[FieldPath, Meta(description="Language label.")] = "language"
    score: Annotated[FieldPath, Meta(description="The crawler's own score.")] = "score"
    meta: Annotated[FieldPath, Meta(description="JSON that events pass on unchanged.")] = "meta"

    def mapping(self) -> dict[str, str]:
        """Our name → the crawler's path, for the names that differ."""
        paths = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: path for name, path in paths.items() if path != name}


class Page(Section, frozen=True):
    """How one record is read."""

    preset: Annotated[
        Preset,
        Meta(
            description="The crawler that writes the pages, if its field names and page ids are known;"
            " `page.fields` take precedence."
        ),
    ] = "none"
    fields: PageFields = PageFields()


class Pages(Section, frozen=True):
    """Which pages are wanted."""

    status: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=999)], ...],
        Meta(description="HTTP statuses to process; other pages are skipped. Empty processes every page."),
    ] = ()


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

    max_batch_pages: Annotated[int, Meta(ge=1, description="Most pages of one batch.")] = 256
    max_batch_bytes: Annotated[
        int, Meta(ge=1, description="Most bytes of one batch; a single larger page is a batch of its own.")
    ] = 16 * _MIB
    max_in_flight_pages: Annotated[
        int, Meta(ge=1, description="Most pages between reading and commit; reading pauses at it.")
    ] = 2048
    max_in_flight_bytes: Annotated[
        int, Meta(ge=1, description="Most bytes between reading and commit; reading pauses at it.")
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

    @classmethod
    def load(
        cls,
        config: Path | None = None,
        overrides: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """The settings in force: flags over environment over file over defaults.

        Args:
            config: a TOML file.
            overrides: `section.key=value`, the later one wins.
            environ: variables such as `NEARDUP_KAFKA__PAGES_TOPIC`; others are left alone.

        Raises:
            ConfigError: an unknown name or a value that is not allowed, with the source that holds it.
        """
        return read_settings(cls, config, overrides, environ or {})[0]
