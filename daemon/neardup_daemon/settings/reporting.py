"""Define the settings of what the daemon reports, and where: HTTP, metrics, traces, logs."""

from typing import Annotated

from msgspec import Meta

from neardup_daemon.logs import LogFormat, LogLevel
from neardup_daemon.settings.section import Section

__all__ = ["Http", "Log", "MetricSeries", "Tracing"]


class Http(Section, frozen=True):
    """Where `/livez`, `/readyz` and `/metrics` are served."""

    host: Annotated[str, Meta(min_length=1, description="Address of /metrics, /livez and /readyz.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Port of /metrics, /livez and /readyz; 0 takes any free one and logs it.",
        ),
    ] = 9464


class MetricSeries(Section, frozen=True):
    """Which series `/metrics` has beyond those of closed sets."""

    top_sites: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Sites with most duplicates that have series of their own, as `frames.scope` defines"
            " sites; a larger number shows more and costs Prometheus more series, 0 shows none.",
        ),
    ] = 20


class Tracing(Section, frozen=True):
    """Which batches are traced, and where their spans go; needs the extra `tracing`."""

    endpoint: Annotated[
        str,
        Meta(
            pattern=r"^(https?://.+)?$",
            examples=["http://collector:4318/v1/traces"],
            description="Where spans are sent: the URL for traces of a collector that takes OTLP over HTTP,"
            " as http://collector:4318/v1/traces; empty traces nothing.",
        ),
    ] = ""
    ratio: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Share of batches that are traced; a smaller number costs the collector less and"
            " misses more.",
        ),
    ] = 1.0


class Log(Section, frozen=True):
    """What is said on standard error."""

    level: Annotated[LogLevel, Meta(description="The least important lines to write.")] = "info"
    format: Annotated[
        LogFormat,
        Meta(description="One JSON object a line for collectors, or text for people."),
    ] = "json"
