"""Define every error of the project; the class decides what the daemon does.

NeardupError
├── ConfigError        wrong before start                  → exit 2, one line, no traceback
│   └── EpochEnded     the input has a later epoch
├── BadPage            this page can never succeed         → dead letter with the reason, continue
├── Unavailable        a dependency is unavailable         → keep the batch, back off, readiness off
│   ├── StoreUnavailable
│   └── StreamUnavailable
├── DependencyLost     unavailable beyond the deadline     → exit 3, for the supervisor
├── CorruptData        stored data is not what we wrote    → stop, exit 4, do not guess
└── InvariantBroken    our bug                             → stop with a traceback, exit 70, commit nothing

A message contains the conflicting values and the limit. The package that owns a client converts the
exceptions of its library, and chains them with `from`.
"""

from typing import Literal

__all__ = [
    "BadPage",
    "BadPageReason",
    "ConfigError",
    "CorruptData",
    "DependencyLost",
    "EpochEnded",
    "InvariantBroken",
    "LimitName",
    "NeardupError",
    "StoreReason",
    "StoreUnavailable",
    "StreamReason",
    "StreamUnavailable",
    "Unavailable",
]

BadPageReason = Literal[
    "empty_value",
    "not_json",
    "invalid_utf8",
    "lone_surrogate",
    "wrong_type",
    "missing_field",
    "not_one_body",
    "bad_base64",
    "bad_encoding",
    "over_limit",
    "bad_url",
    "extraction_failed",
]
"""Why a page can never succeed: a closed set, because it labels a metric and a dead letter."""

LimitName = Literal[
    "max_page_bytes",
    "max_url_bytes",
    "max_id_bytes",
    "max_meta_bytes",
    "max_expanded_bytes",
    "max_headers",
    "max_json_depth",
    "max_text_bytes",
    "max_nodes",
    "max_depth",
    "max_attributes",
    "max_names",
    "max_formatting",
    "max_options",
    "max_steps",
    "max_copied_bytes",
    "page_seconds",
    "page_memory_bytes",
]
"""The settings in `[limits]`, and the fixed depth of JSON: a closed set, because it labels a metric."""

StoreReason = Literal[
    "connection",
    "timeout",
    "loading",
    "read_only",
    "master_down",
    "cluster_down",
    "no_cluster",
    "no_master",
    "try_again",
    "out_of_memory",
    "disk",
    "busy",
    "too_few_replicas",
    "too_many_clients",
    "not_replicated",
    "index_lost",
    "other",
]
"""Why Redis cannot serve now: a closed set, because it labels a metric."""

StreamReason = Literal[
    "connection",
    "timeout",
    "no_leader",
    "too_few_replicas",
    "no_coordinator",
    "disk",
    "message_size",
    "clock",
    "producer",
    "other",
]
"""The same for Kafka and files."""


class NeardupError(Exception):
    """The base class of all errors that this project raises on purpose."""


class ConfigError(NeardupError):
    """The settings, the command line or the configuration of a server is wrong; raised before work starts."""


class EpochEnded(ConfigError):  # noqa: N818 - it names what happened to the input
    """A topic is read in a later epoch than ours: nothing more may be decided in ours.

    Args:
        topic: of the pages.
        highest: the epoch that is read.
        own: ours.
    """

    def __init__(self, topic: str, highest: int, own: int) -> None:
        super().__init__(
            f"topic {topic} is read with kafka.input_epoch = {highest} already, and {own} here: "
            f"set it to {highest} in every daemon"
        )


class BadPage(NeardupError):  # noqa: N818 - it names the page's fate, not the program's
    """A page that can never succeed, however often it is retried.

    Args:
        reason: one of a closed set; labels the metric and the dead letter.
        detail: one line for a person, with the conflicting values.
        limit: the setting that the page exceeds, if the reason is `over_limit` and there is one.
    """

    def __init__(self, reason: BadPageReason, detail: str, limit: LimitName | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: BadPageReason = reason
        self.detail = detail
        self.limit: LimitName | None = limit

    def __reduce__(self) -> tuple[type["BadPage"], tuple[BadPageReason, str, LimitName | None]]:
        return BadPage, (self.reason, self.detail, self.limit)


class Unavailable(NeardupError):  # noqa: N818 - a state of a dependency, not an error of ours
    """A dependency is unavailable for now; the same call may succeed later.

    Attributes:
        reason: one of a closed set; labels the metric.
    """

    reason: StoreReason | StreamReason


class StoreUnavailable(Unavailable):
    """Redis did not answer, or answered that it is unavailable.

    Args:
        detail: one line for a person, with the remedy.
        reason: one of a closed set.
    """

    def __init__(self, detail: str, reason: StoreReason = "other") -> None:
        super().__init__(detail)
        self.reason: StoreReason = reason


class StreamUnavailable(Unavailable):
    """Kafka, a file that is still being written, or a temporary file cannot be read or written now.

    Args:
        detail: one line for a person, with the remedy.
        reason: one of a closed set.
    """

    def __init__(self, detail: str, reason: StreamReason = "other") -> None:
        super().__init__(detail)
        self.reason: StreamReason = reason


class DependencyLost(NeardupError):  # noqa: N818 - reads as the log line it becomes
    """A dependency stayed unavailable for longer than the retry deadline."""


class CorruptData(NeardupError):  # noqa: N818 - a statement about what is stored
    """Stored bytes are not what this program writes; continuing could lose pages."""


class InvariantBroken(NeardupError):  # noqa: N818 - a statement about ourselves
    """A contract between two parts of this program is broken: our bug."""
