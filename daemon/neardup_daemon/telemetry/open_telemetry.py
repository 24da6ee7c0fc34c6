"""Send the spans of batches to an OpenTelemetry collector, by OTLP over HTTP.

A batch is a root span: its records come from many traces, and it links to each of them. Spans below it are
the turns of the stages; they hold what the meters say meanwhile: seconds by step, outcomes, failures of
dependencies. The names of attributes are those of OpenTelemetry's conventions for messaging where it has one.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from threading import Thread
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from neardup_daemon.logs import log_event
from neardup_daemon.metrics import Metrics
from neardup_daemon.redaction import redact
from neardup_daemon.settings.settings import Settings
from neardup_daemon.telemetry.exporter_lines import ExporterLines
from neardup_stream.message import Record, topic_of
from neardup_stream.meters import Dependency, Outcome, Stage, Step
from neardup_stream.version import __version__
from neardup_stream.wire.events import trace_headers

__all__ = ["OpenTelemetryTracer", "TracedMetrics", "open_tracer"]

_logger = logging.getLogger(__name__)

EXPORT_SECONDS: Final = 5.0
"""How long one request to the collector may take, and how long a stop waits for all that are left."""

_SECONDS: Final = "neardup.step_seconds."
_OUTCOMES: Final = "neardup.outcomes."
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_EXPORTER_LINES: Final = ExporterLines()


def open_tracer(settings: Settings) -> "OpenTelemetryTracer":
    """Return a tracer that sends its spans to `tracing.endpoint`."""
    logging.getLogger(OTLPSpanExporter.__module__).addFilter(_EXPORTER_LINES)
    exporter = OTLPSpanExporter(endpoint=settings.tracing.endpoint, timeout=EXPORT_SECONDS)
    return OpenTelemetryTracer(settings, BatchSpanProcessor(exporter))


class OpenTelemetryTracer:
    """Begins traces whose spans go to a processor.

    Args:
        settings: the share of batches that are traced, and what the spans say of this daemon.
        processor: receives the spans that ended.
        close_seconds: how long `close` waits for the processor.
    """

    def __init__(
        self, settings: Settings, processor: SpanProcessor, close_seconds: float = EXPORT_SECONDS
    ) -> None:
        self._close_seconds = close_seconds
        # A batch of any size may link to the trace of each of its records.
        limits = SpanLimits(max_links=settings.pipeline.max_batch_pages)
        self._provider = TracerProvider(
            sampler=TraceIdRatioBased(settings.tracing.ratio),
            resource=_resource(),
            span_limits=limits,
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("neardup_stream", __version__)
        self._topic = settings.kafka.pages_topic
        self._attributes = {
            "messaging.system": "kafka",
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.destination.name": self._topic,
            "messaging.consumer.group.name": settings.kafka.group_id,
        }

    def begin(self, records: Sequence[Record]) -> "_BatchSpan":
        """See `Tracer`."""
        return _BatchSpan(
            self._tracer,
            self._tracer.start_span(
                f"process {self._topic}",
                kind=SpanKind.CONSUMER,
                attributes={
                    **self._attributes,
                    "messaging.batch.message_count": len(records),
                    "neardup.batch_bytes": sum(record.size_bytes for record in records),
                },
                links=list(_links(records)),
            ),
        )

    async def close(self) -> None:
        """Send the spans that are left, and drop those that are not sent within `close_seconds`.

        A request that is not answered cannot be interrupted, so a daemon thread waits for it: neither the end
        of the event loop nor that of the process does.
        """
        sent: Future[None] = Future()
        sent.set_running_or_notify_cancel()  # cancelling the wait leaves the thread its result

        def send() -> None:
            self._provider.shutdown()
            sent.set_result(None)

        Thread(target=send, name="send-spans", daemon=True).start()
        try:
            async with asyncio.timeout(self._close_seconds):
                await asyncio.wrap_future(sent)
        except TimeoutError:
            log_event(_logger, "spans_dropped", level=logging.WARNING, waited_seconds=self._close_seconds)


class _BatchSpan:
    """The span of one batch; those of its stages are below it."""

    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """See `BatchTrace`; the span is the current one in the block, and in threads that it starts."""
        context = trace.set_span_in_context(self._span)
        try:
            with self._stage_span(stage, context) as span:
                try:
                    yield
                except BaseException as error:
                    span.set_status(Status(StatusCode.ERROR, _description(error)))
                    raise
        except BaseException as error:
            self._span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            self._span.end()
            raise

    def _stage_span(self, stage: Stage, context: Context) -> AbstractContextManager[trace.Span]:
        """Start the span of a stage, without what the SDK exports of exceptions: message and traceback."""
        return self._tracer.start_as_current_span(
            stage, context, record_exception=False, set_status_on_exception=False
        )

    def end(self) -> None:
        """See `BatchTrace`."""
        self._span.end()


class TracedMetrics(Metrics):
    """Metrics that also record in the current span what a stage did meanwhile."""

    def step_seconds(self, step: Step, seconds: float) -> None:
        """Add to the seconds of the step; a step that was retried ran more than once."""
        super().step_seconds(step, seconds)
        _add(_SECONDS + step, seconds)

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        """Add to the outcomes."""
        super().outcome(outcome, count, reason)
        _add(_OUTCOMES + outcome, count)

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        """Add an event at this moment."""
        super().dependency_error(dependency, reason)
        trace.get_current_span().add_event(
            "dependency_error", {"neardup.dependency": dependency, "error.type": reason}
        )


def _description(error: BaseException) -> str:
    """Return the class of an exception and the first line of its message, without what may be secret."""
    message = redact(str(error)).partition("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _add(name: str, value: float) -> None:
    span = trace.get_current_span()
    if isinstance(span, Span):
        before = (span.attributes or {}).get(name, 0)
        assert isinstance(before, (int, float))  # noqa: S101 - only this class writes these names
        span.set_attribute(name, before + value)


def _links(records: Sequence[Record]) -> Iterator[Link]:
    """Yield a link to the span that each record names, once for each span."""
    seen: set[tuple[int, int]] = set()
    for record in records:
        context = _context_of(record)
        if context is not None and (context.trace_id, context.span_id) not in seen:
            seen.add((context.trace_id, context.span_id))
            position = record.position
            yield Link(
                context,
                {
                    "messaging.destination.name": topic_of(position.partition.input_id),
                    "messaging.destination.partition.id": str(position.partition.number),
                    "messaging.kafka.offset": position.offset,
                },
            )


def _context_of(record: Record) -> SpanContext | None:
    """Return the span that the record's `traceparent` names; None where it names none."""
    headers = trace_headers(record.headers)
    if not headers:
        return None
    carrier = {name: value.decode("ascii", "replace") for name, value in headers}
    context = trace.get_current_span(_PROPAGATOR.extract(carrier)).get_span_context()
    return context if context.is_valid else None


def _resource() -> Resource:
    """Return what the spans say of this daemon; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES change it."""
    own = {
        "service.name": "neardup-stream",
        "service.version": __version__,
        "service.instance.id": f"{socket.gethostname()}-{os.getpid()}",
    }
    return Resource.create(own).merge(OTELResourceDetector().detect())
