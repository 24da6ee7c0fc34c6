"""Spans of batches, as OpenTelemetry's own SDK records them."""

import asyncio
import subprocess
import sys
from threading import Event
from typing import Any

import pytest
from neardup_daemon.inspect.start_checks import judge_tracing
from neardup_daemon.settings.settings import Settings
from neardup_daemon.telemetry.open_telemetry import OpenTelemetryTracer, TracedMetrics, open_tracer
from neardup_daemon.telemetry.tracing import build_tracing
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, format_span_id, format_trace_id

from neardup_stream.errors import ConfigError, DependencyLost
from neardup_stream.message import Headers, Partition, Position, Record
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource
from tests.pipelines import Pipeline, essay, page_json
from tests.servers.process import free_ports

STAGES = ["decode", "fingerprint", "register", "probe", "verify", "decide", "deliver", "commit"]
TRACE_IDS = ["0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"]
SPAN_ID = "00f067aa0ba902b7"


class Spans:
    """A tracer, and what it recorded.

    Args:
        overrides: of settings.
    """

    def __init__(self, *overrides: str) -> None:
        self._exporter = InMemorySpanExporter()
        settings = Settings.load(None, ("kafka.pages_topic=crawl.pages", *overrides))
        self.tracer = OpenTelemetryTracer(settings, SimpleSpanProcessor(self._exporter))

    @property
    def batches(self) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.parent is None]

    def stages_of(self, batch: ReadableSpan) -> list[ReadableSpan]:
        """In the order they ended."""
        own = batch.get_span_context()
        assert own is not None
        return [
            span
            for span in self._exporter.get_finished_spans()
            if span.parent is not None and span.parent.span_id == own.span_id
        ]

    @property
    def count(self) -> int:
        return len(self._exporter.get_finished_spans())


def record(offset: int, headers: Headers = (), topic: int = 1) -> Record:
    return Record(
        position=Position(Partition("crawl.pages@2", 3), offset),
        key=None,
        value=page_json(f"p{offset}", essay(topic)),
        headers=headers,
    )


def traced(trace_id: str, flags: str = "01") -> Headers:
    return [("traceparent", f"00-{trace_id}-{SPAN_ID}-{flags}".encode())]


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def run(spans: Spans, source: MemorySource, pipeline: Pipeline | None = None) -> None:
    pipeline = pipeline or Pipeline()
    async with source:
        loop = pipeline.loop(source, meters=TracedMetrics(), tracer=spans.tracer)
        await loop.run(asyncio.Event())


async def test_a_batch_is_a_trace_of_its_own_with_a_span_for_each_stage_in_order() -> None:
    spans = Spans("kafka.group_id=readers")

    await run(spans, MemorySource([record(0), record(1)]))

    (batch,) = spans.batches
    assert batch.name == "process crawl.pages"
    assert facts(batch) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "crawl.pages",
        "messaging.consumer.group.name": "readers",
        "messaging.batch.message_count": 2,
        "neardup.batch_bytes": record(0).size_bytes + record(1).size_bytes,
    }
    stages = spans.stages_of(batch)
    assert [span.name for span in stages] == STAGES
    assert all(span.end_time <= batch.end_time for span in stages if span.end_time and batch.end_time)


async def test_a_batch_links_once_to_each_span_that_its_records_name_and_says_where_they_stood() -> None:
    spans = Spans()
    records = [
        record(0, traced(TRACE_IDS[0])),
        record(1),
        record(2, traced(TRACE_IDS[1], flags="00")),
        record(3, traced(TRACE_IDS[0])),
    ]

    await run(spans, MemorySource(records))

    (batch,) = spans.batches
    assert [
        (
            format_trace_id(link.context.trace_id),
            format_span_id(link.context.span_id),
            dict(link.attributes or {}),
        )
        for link in batch.links
    ] == [
        (
            trace_id,
            SPAN_ID,
            {
                "messaging.destination.name": "crawl.pages",
                "messaging.destination.partition.id": "3",
                "messaging.kafka.offset": offset,
            },
        )
        for trace_id, offset in zip(TRACE_IDS, (0, 2), strict=True)
    ]


@pytest.mark.parametrize(
    "value",
    [b"", b"rubbish", b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01", b"\xff" * 55, b"00-" * 5_000],
    ids=["empty", "no-traceparent", "zeros", "no-ascii", "long"],
)
async def test_a_traceparent_that_names_no_span_gives_no_link_and_stops_nothing(value: bytes) -> None:
    spans = Spans()

    await run(spans, MemorySource([record(0, [("traceparent", value)]), record(1, traced(TRACE_IDS[0]))]))

    (batch,) = spans.batches
    assert [format_trace_id(link.context.trace_id) for link in batch.links] == [TRACE_IDS[0]]


async def test_a_batch_of_the_largest_size_links_to_the_span_of_every_record() -> None:
    spans = Spans("pipeline.max_batch_pages=600")
    records = [record(number, traced(f"{number + 1:032x}")) for number in range(600)]

    spans.tracer.begin(records).end()

    (batch,) = spans.batches
    assert (len(batch.links), batch.dropped_links) == (600, 0)


async def test_spans_hold_the_seconds_of_the_steps_and_what_became_of_the_records() -> None:
    spans = Spans()

    await run(
        spans, MemorySource([record(0), record(1), Record(position=record(2).position, key=None, value=b"{")])
    )

    (batch,) = spans.batches
    stages = {span.name: facts(span) for span in spans.stages_of(batch)}
    assert {"decode", "extract", "fingerprint"} == {
        name.removeprefix("neardup.step_seconds.") for name in stages["decode"]
    }
    outcomes = {name: value for name, value in stages["deliver"].items() if ".outcomes." in name}
    assert outcomes == {
        "neardup.outcomes.unique": 1,
        "neardup.outcomes.duplicate": 1,
        "neardup.outcomes.dead_letter": 1,
    }
    assert stages["deliver"]["neardup.step_seconds.deliver"] > 0


async def test_batches_at_work_at_once_keep_their_stages_apart() -> None:
    spans = Spans()
    pipeline = Pipeline(limits=InFlightLimits(max_batch_pages=1, max_in_flight_pages=16))

    await run(spans, MemorySource([record(number, topic=number) for number in range(20)]), pipeline)

    assert len(spans.batches) == 20
    for batch in spans.batches:
        names = [span.name for span in spans.stages_of(batch)]
        assert names in (STAGES, STAGES[:-1])


async def test_a_dependency_that_failed_and_returned_is_an_event_of_the_stage_that_waited() -> None:
    spans = Spans()
    pipeline = Pipeline(events=MemorySink([Fail()]))

    await run(spans, MemorySource([record(0), record(1)]), pipeline)

    (batch,) = spans.batches
    events = {
        span.name: [dict(event.attributes or {}) for event in span.events] for span in spans.stages_of(batch)
    }
    assert events == {stage: [] for stage in STAGES} | {
        "deliver": [{"neardup.dependency": "stream", "error.type": "other"}]
    }


async def test_a_stage_that_fails_for_good_ends_the_trace_as_failed() -> None:
    spans = Spans()
    pipeline = Pipeline(events=MemorySink([Fail()] * 100), retry_policy=RetryPolicy(0.01, 1e-4, 1e-3))

    with pytest.RaisesGroup(DependencyLost):
        await run(spans, MemorySource([record(0), record(1)]), pipeline)

    (batch,) = spans.batches
    *_, deliver = spans.stages_of(batch)
    assert (deliver.name, deliver.status.status_code) == ("deliver", StatusCode.ERROR)
    assert (batch.status.status_code, batch.status.description) == (StatusCode.ERROR, "DependencyLost")


def test_a_failed_stage_names_the_error_without_secrets_and_without_its_traceback() -> None:
    spans = Spans()

    with pytest.raises(DependencyLost), spans.tracer.begin([record(0)]).stage("decide"):
        raise DependencyLost("redis://user:p@ss@cache:6379 is unavailable\nTraceback: of another process")

    (batch,) = spans.batches
    (stage,) = spans.stages_of(batch)
    assert stage.status.status_code is StatusCode.ERROR
    assert stage.status.description == "DependencyLost: redis://***@cache:6379 is unavailable"
    assert (stage.events, batch.events) == ((), ())


class SilentCollector(SpanProcessor):
    """Sends spans to a collector that takes the connection and does not answer, until `answers` is set."""

    def __init__(self) -> None:
        self.answers = Event()
        self.has_answered = Event()

    def shutdown(self) -> None:
        self.answers.wait()
        self.has_answered.set()


async def test_a_close_waits_no_longer_than_its_one_deadline_for_a_collector_that_is_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    collector = SilentCollector()
    tracer = OpenTelemetryTracer(Settings(), collector, close_seconds=0.01)

    await tracer.close()

    assert not collector.has_answered.is_set()
    assert caplog.messages == ["spans_dropped"]
    collector.answers.set()
    assert collector.has_answered.wait(10)


async def test_a_close_that_is_cancelled_leaves_the_collector(caplog: pytest.LogCaptureFixture) -> None:
    collector = SilentCollector()
    tracer = OpenTelemetryTracer(Settings(), collector)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await tracer.close()

    assert not collector.has_answered.is_set()
    assert caplog.messages == []
    collector.answers.set()
    assert collector.has_answered.wait(10)


async def test_an_unavailable_collector_is_logged_without_the_secret_in_its_url_and_in_equal_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (free_port,) = free_ports(1)
    endpoint = f"http://127.0.0.1:{free_port}/v1/traces?api-key=S3CRET"
    tracer = open_tracer(Settings.load(None, [f"tracing.endpoint={endpoint}"]))

    tracer.begin([record(0)]).end()
    await tracer.close()

    attempts = {line for line in caplog.messages if "url: /v1/traces?*** (Caused by" in line}
    assert len(attempts) == 1
    assert attempts.pop().endswith("encountered while exporting spans batch, retrying.")
    assert "S3CRET" not in caplog.text


@pytest.mark.parametrize(("ratio", "expected"), [("0", 0), ("1", 1 + len(STAGES))])
async def test_the_ratio_decides_how_many_batches_are_traced(ratio: str, expected: int) -> None:
    spans = Spans(f"tracing.ratio={ratio}")

    await run(spans, MemorySource([record(0)]))

    assert spans.count == expected


def test_without_an_endpoint_all_batches_share_one_trace_that_records_nothing() -> None:
    tracing = build_tracing(Settings())

    first, second = tracing.tracer.begin([record(0)]), tracing.tracer.begin([record(1)])

    assert first is second
    assert first.stage("probe") is first.stage("decide")


def test_without_an_endpoint_no_tracing_client_is_imported() -> None:
    script = (
        "import sys; import neardup_daemon.service; from neardup_daemon.telemetry.tracing import *;"
        " from neardup_daemon.settings.settings import *;"
        " build_tracing(Settings()); sys.exit('neardup_daemon.telemetry.open_telemetry' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_an_endpoint_without_the_extra_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "neardup_daemon.telemetry.open_telemetry")
    settings = Settings.load(None, ["tracing.endpoint=http://localhost:4318/v1/traces"])

    with pytest.raises(ConfigError, match=r"opentelemetry is not installed: pip install .*\[tracing\]"):
        build_tracing(settings)
    (finding,) = judge_tracing(settings.tracing)
    assert finding.grade == "bad"
    assert "tracing: tracing.endpoint is set, and opentelemetry is not installed" in finding.sentence
