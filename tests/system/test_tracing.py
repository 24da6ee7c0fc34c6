"""Spans of a real daemon, sent to a collector or to none."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.servers.daemon import start_daemon
from tests.servers.process import free_ports, wait_until
from tests.system.conftest import Site
from tests.system.test_run import pages, publish

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


class Collector(ThreadingHTTPServer):
    """Takes OTLP over HTTP, and keeps the spans.

    Attributes:
        spans: in the order they came.
        services: what the daemons call themselves.
        may_answer: cleared by a test whose collector takes requests and does not answer.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.may_answer = threading.Event()
        self.may_answer.set()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"

    def take(self, body: bytes) -> None:
        for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.services |= {
                each.value.string_value for each in sent.resource.attributes if each.key == "service.name"
            }
            self.spans.extend(span for scope in sent.scope_spans for span in scope.spans)


class _Receiving(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        self.server.take(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.may_answer.wait()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Print nothing."""


@contextmanager
def start_collector() -> Iterator[Collector]:
    with Collector() as collector:
        serving = threading.Thread(target=collector.serve_forever)
        serving.start()
        try:
            yield collector
        finally:
            collector.may_answer.set()
            collector.shutdown()
            serving.join()


def test_a_stopped_daemon_has_sent_the_spans_of_all_its_batches_with_links_to_the_crawlers(
    site: Site,
) -> None:
    site.create_topics()
    traceparent = ("traceparent", f"00-{TRACE_ID}-00f067aa0ba902b7-01".encode())
    publish(site, [msgspec.structs.replace(page, headers=[traceparent]) for page in pages(50, topics=25)])

    with start_collector() as collector:
        with start_daemon((*site.settings, f"tracing.endpoint={collector.endpoint}")) as daemon:
            daemon.wait_until_ready()
            daemon.wait_for_pages(50)
            exit_code = daemon.stop()

        batches = [span for span in collector.spans if not span.parent_span_id]
        assert exit_code == 0
        assert collector.services == {"neardup-stream"}
        assert {link.trace_id.hex() for batch in batches for link in batch.links} == {TRACE_ID}
        assert {each.name for each in collector.spans if each.parent_span_id} == {
            "decode", "fingerprint", "register", "probe", "verify", "decide", "deliver", "commit",
        }  # fmt: skip


def test_without_a_collector_pages_are_processed_and_a_stop_is_clean(site: Site) -> None:
    site.create_topics()
    publish(site, pages(50, topics=25))
    (free_port,) = free_ports(1)

    with start_daemon((*site.settings, f"tracing.endpoint=http://127.0.0.1:{free_port}/v1/traces")) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(50)
        outcomes, exit_code = daemon.outcomes(), daemon.stop()

    assert (outcomes, exit_code) == ({"unique": 25, "duplicate": 25}, 0)


def test_a_second_signal_does_not_wait_for_a_collector_that_is_silent(site: Site) -> None:
    site.create_topics()
    publish(site, pages(50, topics=25))

    with start_collector() as collector:
        collector.may_answer.clear()
        with start_daemon((*site.settings, f"tracing.endpoint={collector.endpoint}")) as daemon:
            daemon.wait_until_ready()
            daemon.wait_for_pages(50)
            daemon.signal(signal.SIGTERM)
            wait_until(lambda: '"stopped"' in daemon.log(), 60)
            exit_code = daemon.stop()

    assert exit_code == 128 + signal.SIGTERM
