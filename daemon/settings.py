"""What can be set: one struct a section, each setting with its type, limits, default and one sentence.

The sentences are the reference: `config schema`, the help of flags and `docs/operations.md` repeat them.
Rules that belong to a library part (which blocks go with which distance) stay in that part's own config,
which is built here, so that a contradiction is found before anything starts.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec
from msgspec import Meta

from daemon.failpoints import Failpoint, parse_failpoints
from daemon.settings_reading import read_settings
from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import MAX_WINDOW_TOKENS
from neardup_stream.indexes.layout import IndexConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.stores.redis_config import Durability, RedisConfig
from neardup_stream.streams.kafka_config import (
    Compression,
    FirstStart,
    KafkaConnection,
    OutOfRange,
    SaslMechanism,
)
from neardup_stream.wire.pages import PageLimits

__all__ = [
    "Clusters",
    "Events",
    "Failpoints",
    "Http",
    "Index",
    "Kafka",
    "Limits",
    "Log",
    "Page",
    "PageFields",
    "Pages",
    "Pipeline",
    "Redis",
    "Retention",
    "Settings",
    "Sketch",
    "Text",
    "Verdict",
]

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Topic = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
FieldPath = Annotated[str, Meta(pattern=r"^[^.]+(\.[^.]+)*$")]

Secret = Annotated[str, Meta(extra_json_schema={"writeOnly": True})]
"""Never shown, and not taken from the command line, which every user of the machine can read."""

_MIB = 1 << 20


def _login(prefix: str, username: str, password: str, password_file: str) -> Login | None:
    """None where nothing is set."""
    if not (username or password or password_file):
        return None
    with _prefixed(prefix):
        return Login(username=username, password=password, password_file=password_file)


def _tls_files(prefix: str, ca_file: str, certificate_file: str, key_file: str) -> TlsFiles | None:
    """None where nothing is set."""
    if not (ca_file or certificate_file or key_file):
        return None
    with _prefixed(prefix):
        return TlsFiles(ca_file=ca_file, certificate_file=certificate_file, key_file=key_file)


@contextmanager
def _prefixed(prefix: str) -> Iterator[None]:
    """Say of which server the settings are that an error names."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from error


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the settings file."""


class Kafka(_Section, frozen=True):
    """Where pages come from and events go to."""

    bootstrap_servers: Annotated[
        str, Meta(min_length=1, description="Brokers to ask first, as `host:port,host:port`.")
    ] = "localhost:9092"
    pages_topic: Annotated[Topic, Meta(description="Topic the pages are read from.")] = "pages"
    events_topic: Annotated[Topic, Meta(description="Topic the events are sent to.")] = "neardup-events"
    dead_letters_topic: Annotated[
        Topic, Meta(description="Topic for records that can never be processed, each with its reason.")
    ] = "neardup-dead-letters"
    group_id: Annotated[
        str, Meta(min_length=1, description="Consumer group; daemons that share it share the partitions.")
    ] = "neardup-stream"
    group_instance_id: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9._-]{0,200}$",
            description="Name of this daemon alone, under which it finds its partitions again when it is"
            " restarted within the session timeout; empty gives them away at every stop.",
        ),
    ] = ""
    input_epoch: Annotated[
        int,
        Meta(
            ge=0,
            lt=1 << 31,
            description="Raise it, in all daemons, when the pages topic was made anew or is to be judged"
            " again: its records are then those of another input.",
        ),
    ] = 0
    first_start: Annotated[
        FirstStart, Meta(description="Where a group that never committed begins to read.")
    ] = "earliest"
    out_of_range: Annotated[
        OutOfRange,
        Meta(description="What to do when the committed offset is no longer in the topic."),
    ] = "fail"
    delivery: Annotated[
        Literal["at_least_once", "exactly_once"],
        Meta(
            description="What is promised of every event: `at_least_once`, or `exactly_once` to subscribers"
            " that read committed."
        ),
    ] = "at_least_once"
    compression: Annotated[Compression, Meta(description="Codec of the batches sent.")] = "zstd"
    request_timeout_seconds: Annotated[
        Seconds,
        Meta(description="Longest wait for one answer of a broker; whoever is silent longer counts as away."),
    ] = 30.0
    session_timeout_seconds: Annotated[
        Seconds, Meta(description="Silence after which the broker gives our partitions to others.")
    ] = 30.0
    max_poll_interval_seconds: Annotated[
        Seconds, Meta(description="Longest time between two reads before the partitions are given to others.")
    ] = 300.0
    tls: Annotated[bool, Meta(description="Encrypt connections, and check whom they lead to.")] = False
    tls_ca_file: Annotated[
        str, Meta(description="PEM file of the authorities to trust; empty trusts those of the system.")
    ] = ""
    tls_certificate_file: Annotated[
        str, Meta(description="PEM file of our certificate and its chain, for brokers that ask for one.")
    ] = ""
    tls_key_file: Annotated[
        str, Meta(description="PEM file of its key; empty if the key is in the certificate's file.")
    ] = ""
    sasl_mechanism: Annotated[
        SaslMechanism, Meta(description="How brokers want to hear a user name and a password.")
    ] = "none"
    sasl_username: Annotated[str, Meta(description="Who we are to the brokers.")] = ""
    sasl_password: Annotated[
        Secret, Meta(description="Password; rather use the file or the environment.")
    ] = ""
    sasl_password_file: Annotated[str, Meta(description="File that holds the password.")] = ""

    def __post_init__(self) -> None:
        """Refuse topics that feed on themselves, and half of what security needs.

        Raises:
            ConfigError: two of the three topics are one, or settings of TLS or SASL contradict each other.
        """
        self.connection()
        if len({self.pages_topic, self.events_topic, self.dead_letters_topic}) < 3:
            raise ConfigError(
                f"kafka.pages_topic ({self.pages_topic}), kafka.events_topic ({self.events_topic}) and "
                f"kafka.dead_letters_topic ({self.dead_letters_topic}) must be three different topics"
            )

    def connection(self) -> KafkaConnection:
        """The same, as Kafka's clients want it."""
        files = _tls_files("kafka.", self.tls_ca_file, self.tls_certificate_file, self.tls_key_file)
        if files is not None and not self.tls:
            raise ConfigError("kafka.tls_… files are set, and kafka.tls is false")
        return KafkaConnection(
            bootstrap_servers=self.bootstrap_servers,
            request_timeout_seconds=self.request_timeout_seconds,
            tls=(files or TlsFiles()) if self.tls else None,
            sasl_mechanism=self.sasl_mechanism,
            login=_login("kafka.sasl_", self.sasl_username, self.sasl_password, self.sasl_password_file),
        )


class Redis(_Section, frozen=True):
    """Where the tables and page records are kept."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^(rediss?|unix|rediss?\+(cluster|sentinel))://",
            description="`redis://host:port/db`, `unix:///path`, `redis+cluster://host:port,host:port` or"
            " `redis+sentinel://host:port,host:port/service/db`; `rediss` for TLS.",
        ),
    ] = "redis://localhost:6379/0"
    namespace: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{1,32}$",
            description="First part of every key; two corpora can share a server.",
        ),
    ] = "nd"
    socket_timeout_seconds: Annotated[Seconds, Meta(description="Longest wait for one answer.")] = 10.0
    retries: Annotated[
        int, Meta(ge=0, le=100, description="How often the client repeats a call before the batch is told.")
    ] = 2
    username: Annotated[str, Meta(description="Who we are to the server; empty for its default user.")] = ""
    password: Annotated[Secret, Meta(description="Password; rather use the file or the environment.")] = ""
    password_file: Annotated[str, Meta(description="File that holds the password.")] = ""
    durability: Annotated[
        Durability,
        Meta(description="Who has what was written before it is told: the `master`, or a `replica` too."),
    ] = "master"
    tls_ca_file: Annotated[
        str, Meta(description="PEM file of the authorities to trust; empty trusts those of the system.")
    ] = ""
    tls_certificate_file: Annotated[
        str, Meta(description="PEM file of our certificate and its chain, for servers that ask for one.")
    ] = ""
    tls_key_file: Annotated[
        str, Meta(description="PEM file of its key; empty if the key is in the certificate's file.")
    ] = ""

    def __post_init__(self) -> None:
        """Refuse what the client could not use.

        Raises:
            ConfigError: the settings contradict each other.
        """
        self.config()

    def config(self) -> RedisConfig:
        """The same, as the client wants it."""
        return RedisConfig(
            self.url,
            self.socket_timeout_seconds,
            self.retries,
            login=_login("redis.", self.username, self.password, self.password_file),
            tls=_tls_files("redis.", self.tls_ca_file, self.tls_certificate_file, self.tls_key_file),
            durability=self.durability,
        )


class Index(_Section, frozen=True):
    """How the permuted tables are laid out; all but `bucket_cap` change what is stored."""

    blocks: Annotated[
        int,
        Meta(
            ge=2,
            le=64,
            description="Parts a fingerprint is split into; at 3 bits, 4 parts make 4 tables and 5 make 10.",
        ),
    ] = 4
    distance_bits: Annotated[
        int,
        Meta(ge=0, le=63, description="Fingerprints that differ in at most this many bits are candidates."),
    ] = 3
    expected_pages: Annotated[
        int, Meta(ge=1, description="Largest number of pages to be kept; sets the width of the buckets.")
    ] = 1_000_000
    bands: Annotated[
        int,
        Meta(
            ge=0,
            le=32,
            description="Tables that find pages by equal parts of their sketches; 0 finds by simhash alone.",
        ),
    ] = 9
    bucket_cap: Annotated[
        int,
        Meta(
            ge=1,
            description="Largest range a probe reads whole; of a larger one, a crowd, it reads a sample.",
        ),
    ] = 128
    shards: Annotated[
        int,
        Meta(
            ge=1,
            le=256,
            description="Units of placement, a power of two; at least 4 times a cluster's nodes.",
        ),
    ] = 16

    def __post_init__(self) -> None:
        """Refuse a layout that cannot be.

        Raises:
            ConfigError: the numbers contradict each other.
        """
        self.config()

    def config(self) -> IndexConfig:
        """The same, as the index wants it."""
        return IndexConfig(
            permuted=PermutedConfig(self.blocks, self.distance_bits),
            bands=self.bands,
            expected_pages=self.expected_pages,
            bucket_cap=self.bucket_cap,
            shards=self.shards,
        )


class Text(_Section, frozen=True):
    """How a page becomes a fingerprint; both change what is stored."""

    extraction: Annotated[
        Literal["all_text", "main_content"],
        Meta(description="What of a page's markup counts: all its visible text, or its main content."),
    ] = "all_text"
    window_tokens: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_WINDOW_TOKENS,
            description="Consecutive tokens that make one feature of the fingerprint.",
        ),
    ] = 2


class Sketch(_Section, frozen=True):
    """How much is remembered of a page's text; all of it changes what is stored."""

    shingle_tokens: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_WINDOW_TOKENS,
            description="Consecutive tokens that make one shingle; resemblance counts those two pages share.",
        ),
    ] = 3
    bins: Annotated[
        int, Meta(ge=16, le=1024, description="Samples of a sketch; four times as many halve its error.")
    ] = 160
    code_bits: Annotated[
        Literal[4, 8], Meta(description="Bits of one sample; 4 take half the bytes and err a little more.")
    ] = 4


class Verdict(_Section, frozen=True):
    """When a candidate counts."""

    scheme: Annotated[
        Literal["sketch", "simhash"],
        Meta(description="What pages are compared by: sketches, which tell resemblance, or simhashes alone."),
    ] = "sketch"
    near_resemblance: Annotated[
        float, Meta(gt=0, le=1, description="Least estimated resemblance of two pages that match.")
    ] = 0.55
    near_containment: Annotated[
        float,
        Meta(gt=0, le=1, description="Least estimated share of either page inside the other for a match."),
    ] = 0.725
    contained_containment: Annotated[
        float,
        Meta(gt=0, le=1, description="Least estimated share of a page inside another to call it contained."),
    ] = 0.9
    scope: Annotated[
        str,
        Meta(description="Compare within `everything`, `host`, `domain`, `language` or `meta.<field>`."),
    ] = "everything"
    min_tokens: Annotated[
        int, Meta(ge=1, description="Pages with fewer tokens are undecided: not indexed, equal to nothing.")
    ] = 10
    matches_limit: Annotated[
        int,
        Meta(ge=1, le=10_000, description="Most matches an event names; `matches_total` counts them all."),
    ] = 64
    policy: Annotated[
        int,
        Meta(
            ge=0,
            description="Raise it by one to change what verdicts depend on, for pages stored already too.",
        ),
    ] = 0


class Clusters(_Section, frozen=True):
    """Which matching pages belong together."""

    rule: Annotated[
        Literal["linked", "components", "anchored", "off"],
        Meta(
            description="Who belongs together: `linked`, whom firm matches connect; `components`, any"
            " matches; `anchored`, who matches the founder; `off` keeps no clusters."
        ),
    ] = "linked"
    link_containment: Annotated[
        float,
        Meta(gt=0, le=1, description="Least share of either page inside the other for a firm match."),
    ] = 0.775
    grave_seconds: Annotated[
        Seconds,
        Meta(
            description="How long a page is kept at hand that was decided, or left; batches that were under"
            " way for longer are compared again."
        ),
    ] = 120.0


class Retention(_Section, frozen=True):
    """When a page that is not seen again is let go."""

    seconds: Annotated[
        float,
        Meta(ge=0, le=10 * 366 * 86_400, description="Pages not seen for this long expire; 0 keeps all."),
    ] = 0.0
    stub_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=10 * 366 * 86_400,
            description="How long what is left of a forgotten or expired page (its version) is kept.",
        ),
    ] = 86_400.0
    sweep_interval_seconds: Annotated[
        Seconds, Meta(description="Pause between two passes of the sweeper.")
    ] = 10.0
    sweep_slots: Annotated[
        int, Meta(ge=1, description="Hashes of some 64 page records that one pass looks through.")
    ] = 64


class Limits(_Section, frozen=True):
    """Above these a record is a dead letter."""

    max_page_bytes: Annotated[int, Meta(ge=1, le=1 << 30, description="Largest record value.")] = 4 * _MIB
    max_url_bytes: Annotated[int, Meta(ge=1, le=_MIB, description="Longest URL, in UTF-8.")] = 4096
    max_id_bytes: Annotated[int, Meta(ge=1, le=_MIB, description="Longest page id, in UTF-8.")] = 4096
    max_meta_bytes: Annotated[
        int, Meta(ge=1, le=16 * _MIB, description="Largest `meta`, as the JSON it came in.")
    ] = 65_536

    def config(self) -> PageLimits:
        """The same, as the page decoder wants it."""
        return PageLimits(
            max_page_bytes=self.max_page_bytes,
            max_url_bytes=self.max_url_bytes,
            max_id_bytes=self.max_id_bytes,
            max_meta_bytes=self.max_meta_bytes,
        )


class PageFields(_Section, frozen=True):
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
    meta: Annotated[FieldPath, Meta(description="JSON that events pass on untouched.")] = "meta"

    def mapping(self) -> dict[str, str]:
        """Our name → the crawler's path, for the names that differ."""
        paths = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: path for name, path in paths.items() if path != name}


class Page(_Section, frozen=True):
    """How one record is read."""

    fields: PageFields = PageFields()


class Pages(_Section, frozen=True):
    """Which pages are wanted."""

    status: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=999)], ...],
        Meta(description="HTTP statuses to process, others are skipped; empty takes every page."),
    ] = ()


class Events(_Section, frozen=True):
    """Which events are sent besides the duplicates."""

    unique: Annotated[bool, Meta(description="Send an event for every page that stands alone.")] = False
    contained: Annotated[
        bool, Meta(description="Send an event for every page that is mostly inside another, or holds one.")
    ] = False
    undecided: Annotated[
        bool, Meta(description="Send an event for every page that is too short to be judged.")
    ] = False


class Pipeline(_Section, frozen=True):
    """How much is under way at once, and how long anything may take."""

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
    give_up_seconds: Annotated[
        Seconds, Meta(description="How long a dependency may stay away before the process exits with 3.")
    ] = 300.0
    stall_seconds: Annotated[
        Seconds,
        Meta(description="How long there may be work and no commit before `/livez` says to restart."),
    ] = 300.0

    def __post_init__(self) -> None:
        """Refuse a batch that could never be in flight.

        Raises:
            ConfigError: a batch may hold more than may be in flight.
        """
        self.limits()

    def limits(self) -> InFlightLimits:
        """How much may be under way, as the loop wants it."""
        return InFlightLimits(
            max_batch_pages=self.max_batch_pages,
            max_batch_bytes=self.max_batch_bytes,
            max_in_flight_pages=self.max_in_flight_pages,
            max_in_flight_bytes=self.max_in_flight_bytes,
        )


class Http(_Section, frozen=True):
    """Where `/livez`, `/readyz` and `/metrics` are served."""

    host: Annotated[str, Meta(min_length=1, description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port to listen on; 0 takes any free one and logs it.")
    ] = 9464


class Log(_Section, frozen=True):
    """What is said on standard error."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least important lines to write.")
    ] = "info"
    format: Annotated[
        Literal["json", "text"],
        Meta(description="One JSON object a line for collectors, or text for people."),
    ] = "json"


class Failpoints(_Section, frozen=True):
    """Where the daemon fails by itself, for tests of crashes; see `daemon/failpoints.py`."""

    kill: Annotated[
        tuple[str, ...],
        Meta(description="For tests: calls at which the daemon kills itself, as `after events.send 3`."),
    ] = ()
    stop: Annotated[
        tuple[str, ...],
        Meta(description="For tests: calls at which the daemon stands still until it gets SIGCONT."),
    ] = ()

    def __post_init__(self) -> None:
        """Refuse points that do not exist.

        Raises:
            ConfigError: there is no such call.
        """
        self.points()

    def points(self) -> list[Failpoint]:
        """The same, as the composition root wants it."""
        return parse_failpoints(self.kill, self.stop)


class Settings(_Section, frozen=True):
    """Everything that can be set, in force for one run."""

    kafka: Kafka = Kafka()
    redis: Redis = Redis()
    index: Index = Index()
    text: Text = Text()
    sketch: Sketch = Sketch()
    verdict: Verdict = Verdict()
    clusters: Clusters = Clusters()
    retention: Retention = Retention()
    limits: Limits = Limits()
    page: Page = Page()
    pages: Pages = Pages()
    events: Events = Events()
    pipeline: Pipeline = Pipeline()
    http: Http = Http()
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
