"""Opens tracing if the settings enable it; otherwise no tracing client is imported."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module

from neardup_daemon.metrics import Metrics
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import ConfigError
from neardup_stream.traces import NoTracer, Tracer

__all__ = ["Tracing", "build_tracing", "require_tracing"]


@dataclass(frozen=True)
class Tracing:
    """What a daemon traces with.

    Attributes:
        metrics: what the daemon reports to; with tracing, spans hold some of it too.
        tracer: begins the trace of each batch.
        close: sends the spans that are left, for so long as the collector may take.
    """

    metrics: Metrics
    tracer: Tracer
    close: Callable[[], Awaitable[None]]


def build_tracing(settings: Settings) -> Tracing:
    """Return the tracing that `tracing.endpoint` enables.

    Raises:
        ConfigError: it is set, and the packages of the extra `tracing` are not installed.
    """
    top_sites = settings.metrics.top_sites
    if not settings.tracing.endpoint:
        return Tracing(Metrics(top_sites), NoTracer(), _close_nothing)
    require_tracing()
    from neardup_daemon.telemetry.open_telemetry import TracedMetrics, open_tracer  # noqa: PLC0415 - an extra

    tracer = open_tracer(settings)
    return Tracing(TracedMetrics(top_sites), tracer, tracer.close)


def require_tracing() -> None:
    """Check that spans can be sent.

    Raises:
        ConfigError: the packages of the extra `tracing` are not installed.
    """
    try:
        import_module("neardup_daemon.telemetry.open_telemetry")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"tracing.endpoint is set, and {error.name} is not installed: pip install"
            " 'neardup-stream[tracing]', or leave tracing.endpoint empty"
        ) from error


async def _close_nothing() -> None:
    """Without tracing no spans are left."""
