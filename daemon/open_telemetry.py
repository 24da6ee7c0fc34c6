"""The spans of batches as OpenTelemetry's, sent to a collector by OTLP over HTTP.

A batch is a root span: its records come from many traces, and it links to each of them. Spans below it are
the turns of the stages; they hold what the meters say meanwhile: seconds by step, outcomes, failures of
dependencies. The names of attributes are those of OpenTelemetry's conventions for messaging where it has one.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from daemon.metrics import Metrics
from daemon.settings import Settings
from neardup_stream import __version__
from neardup_stream.message import Record, topic_of
from neardup_stream.meters import Dependency, Outcome, Stage, Step
from neardup_stream.wire.events import trace_headers

__all__ = ["OpenTelemetryTracer", "TracedMetrics", "open_tracer"]

EXPORT_SECONDS: Final = 5.0
"""How long one request to the collector may take; a clean stop waits for the last one."""

_SECONDS: Final = "neardup.step_seconds."
_OUTCOMES: Final = "neardup.outcomes."
_PROPAGATOR: Final = TraceContextTextMapPropagator()


def open_tracer(settings: Settings) -> "OpenTelemetryTracer":
    """Return a tracer that sends its spans to `tracing.endpoint`."""
    exporter = OTLPSpanExporter(endpoint=settings.tracing.endpoint, timeout=EXPORT_SECONDS)
    return OpenTelemetryTracer(settings, BatchSpanProcessor(exporter))


class OpenTelemetryTracer:
    """Begins traces whose spans go to a processor.

    Args:
        settings: the share of batches that are traced, and what the spans say of this daemon.
        processor: receives the spans that ended.
    """

    def __init__(self, settings: Settings, processor: SpanProcessor) -> None:
        # A batch of any size may link to the trace of each of its records.
        limits = SpanLimits(max_links=settings.pipeline.max_batch_pages)
        self._provider = TracerProvider(
            sampler=TraceIdRatioBased(settings.tracing.ratio), resource=_resource(), span_limits=limits
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

    def close(self) -> None:
        """Send the spans that are left; waits at most `EXPORT_SECONDS` for each request to the collector."""
        self._provider.shutdown()


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
            with self._tracer.start_as_current_span(stage, context):
                yield
        except BaseException as error:
            self._span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            self._span.end()
            raise

    def end(self) -> None:
        """See `BatchTrace`."""
        self._span.end()


class TracedMetrics(Metrics):
    """Metrics that also tell the current span what a stage did meanwhile."""

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


def _add(name: str, value: float) -> None:
    span = trace.get_current_span()
    if isinstance(span, Span):
        before = (span.attributes or {}).get(name, 0)
        assert isinstance(before, (int, float))  # noqa: S101 - nobody else writes these names
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
