from math import isnan
from time import time
from typing import get_args

import pytest
from neardup_daemon.metrics import Metrics
from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.telemetry.process_metrics import State
from prometheus_client.exposition import choose_encoder
from prometheus_client.parser import text_string_to_metric_families

from neardup_stream.errors import BadPageReason, StoreReason
from neardup_stream.events import EventName
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import STEPS, Delivered, Outcome, PipelineMeters, Stage, Step
from neardup_stream.pipeline.arrival import metadata_of
from neardup_stream.stores.redis.usage import Usage


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Value by name and label values."""
    families = text_string_to_metric_families(metrics.registry.render().decode())
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


def test_metrics_has_every_method_of_the_meters_of_the_pipeline() -> None:
    reported = {name for name in vars(PipelineMeters) if not name.startswith("_")}

    assert reported
    assert reported <= vars(Metrics).keys()


def test_metrics_are_the_meters_of_the_pipeline(metrics: Metrics) -> None:
    meters: PipelineMeters = metrics

    meters.pages(3, 500)
    meters.outcome("dead_letter", 2, "not_json")
    meters.outcome("unique", 1)
    meters.step_seconds("probe", 0.02)
    meters.assigned(2, 6)
    meters.candidates(7)
    meters.rejected_candidates("stale", 1)
    meters.bucket_cap_hits(2)
    meters.truncated_probes(8)
    meters.dropped_edges(6)
    meters.charset_fallbacks(3)
    meters.frame_tokens(60, 100)
    meters.frame_lessons(5, 1)
    meters.frame_sites({"young": 7, "settled": 2})
    meters.truncated_dead_letters(4)
    meters.in_flight(5, 600)
    meters.retry("store")
    meters.dependency_error("store", "out_of_memory")

    found = samples(metrics)
    assert found["neardup_pages_total",] == 3
    assert found["neardup_page_bytes_total",] == 500
    assert found["neardup_outcomes_total", "dead_letter"] == 2
    assert found["neardup_outcomes_total", "unique"] == 1
    assert found["neardup_outcome_reasons_total", "dead_letter", "not_json"] == 2
    assert found["neardup_stage_duration_seconds_count", "probe", "probe"] == 1
    assert found["neardup_stage_duration_seconds_sum", "probe", "probe"] == 0.02
    assert found["neardup_rebalances_total",] == 1
    assert found["neardup_assigned_partitions",] == 2
    assert found["neardup_topic_partitions",] == 6
    assert found["neardup_candidates_total",] == 7
    assert found["neardup_rejected_candidates_total", "stale"] == 1
    assert found["neardup_bucket_cap_hits_total",] == 2
    assert found["neardup_truncated_probes_total",] == 8
    assert found["neardup_dropped_pending_edges_total",] == 6
    assert found["neardup_charset_fallbacks_total",] == 3
    assert found["neardup_frame_tokens_total",] == 60
    assert found["neardup_viewed_tokens_total",] == 100
    assert found["neardup_frame_lessons_total", "taught"] == 5
    assert found["neardup_frame_lessons_total", "dropped"] == 1
    assert found["neardup_frame_sites", "young"] == 7
    assert found["neardup_frame_sites", "settled"] == 2
    assert found["neardup_frame_sites", "full"] == 0
    assert found["neardup_truncated_dead_letters_total",] == 4
    assert found["neardup_in_flight_pages",] == 5
    assert found["neardup_in_flight_bytes",] == 600
    assert found["neardup_retries_total", "store"] == 1
    assert found["neardup_dependency_errors_total", "store", "out_of_memory"] == 1


def test_every_label_value_of_a_closed_set_starts_at_zero(metrics: Metrics) -> None:
    found = samples(metrics)

    assert {found["neardup_outcomes_total", outcome] for outcome in get_args(Outcome)} == {0}
    assert {found["neardup_events_total", name] for name in get_args(EventName)} == {0}
    stages = {found["neardup_stage_time_seconds_total", "busy", stage] for stage in get_args(Stage)}
    assert stages == {0}
    steps = {
        found["neardup_stage_duration_seconds_count", stage, step]
        for stage, own in STEPS.items()
        for step in own
    }
    assert steps == {0}
    assert sorted(step for own in STEPS.values() for step in own) == sorted(get_args(Step))
    reasons = get_args(BadPageReason)
    assert {found["neardup_outcome_reasons_total", "dead_letter", reason] for reason in reasons} == {0}
    reasons = get_args(StoreReason)
    assert {found["neardup_dependency_errors_total", "store", reason] for reason in reasons} == {0}


def test_the_lag_of_a_partition_ends_when_it_is_revoked(metrics: Metrics) -> None:
    metrics.lag({Partition("pages", 0): 5, Partition("pages", 1): 6})
    metrics.lag({Partition("pages", 1): 7})

    lags = [
        line for line in metrics.registry.render().splitlines() if line.startswith(b"neardup_lag_records{")
    ]
    assert lags == [b'neardup_lag_records{partition="1",topic="pages"} 7.0']


def test_two_registries_do_not_meet(metrics: Metrics) -> None:
    metrics.pages(1, 1)

    assert samples(Metrics())["neardup_pages_total",] == 0


PAGES = Partition("pages@3", 0)


def record(offset: int, age_seconds: float, traceparent: bytes = b"") -> Record:
    headers = (("traceparent", traceparent),) if traceparent else ()
    timestamp_ms = round((time() - age_seconds) * 1000)
    position = Position(PAGES, offset)
    return Record(position=position, key=None, value=b"{}", headers=headers, timestamp_ms=timestamp_ms)


def test_a_delivered_batch_counts_events_delays_and_sites() -> None:
    metrics = Metrics(top_sites=1)

    metrics.delivered(
        Delivered(
            records=[
                metadata_of(record(offset, age_seconds)) for offset, age_seconds in ((0, 40), (1, 2), (2, -5))
            ],
            event_counts={"duplicate": 2, "cluster-merge": 1},
            duplicate_bytes=70,
            site_pages={"a.example": 2, "b.example": 1},
            site_duplicates={"a.example": 1},
        )
    )

    found = samples(metrics)
    assert found["neardup_events_total", "duplicate"] == 2
    assert found["neardup_events_total", "cluster-merge"] == 1
    assert found["neardup_duplicate_bytes_total",] == 70
    assert found["neardup_site_pages_total", "a.example"] == 2
    assert found["neardup_site_duplicates_total", "a.example"] == 1
    assert ("neardup_site_pages_total", "b.example") not in found
    at_most = {
        seconds: found["neardup_delivery_delay_seconds_bucket", seconds] for seconds in ("0.1", "5.0", "60.0")
    }
    assert at_most == {"0.1": 1, "5.0": 2, "60.0": 3}


def test_the_slowest_record_of_a_batch_names_its_trace() -> None:
    metrics = Metrics()
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"

    slow = record(0, age_seconds=40, traceparent=f"00-{trace_id}-00f067aa0ba902b7-01".encode())
    metrics.delivered(Delivered([metadata_of(record(1, age_seconds=2)), metadata_of(slow)], {}, 0, {}, {}))

    encoder, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
    page = encoder(metrics.registry.prometheus).decode()
    assert f'# {{trace_id="{trace_id}"}}' in page


@pytest.mark.parametrize(
    "traceparent",
    [
        pytest.param(b"00-\xff-\xff-01", id="no ASCII"),
        pytest.param(b"00-" + b"a" * 121 + b"-00f067aa0ba902b7-01", id="longer than an exemplar may be"),
        pytest.param(b"00-" + b"A" * 32 + b"-00f067aa0ba902b7-01", id="capitals"),
        pytest.param(b"00-" + b"a" * 31 + b"-00f067aa0ba902b7-01", id="too short"),
    ],
)
def test_a_trace_that_is_none_is_not_named_and_its_record_counted(
    metrics: Metrics, traceparent: bytes
) -> None:
    hostile = record(0, age_seconds=2, traceparent=traceparent)

    metrics.delivered(Delivered([metadata_of(hostile)], {}, 0, {}, {}))

    assert samples(metrics)["neardup_delivery_delay_seconds_count",] == 1
    encoder, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
    assert "trace_id" not in encoder(metrics.registry.prometheus).decode()


def test_lag_is_in_records_and_seconds_and_ends_with_the_commit(metrics: Metrics) -> None:
    def lags() -> list[float]:
        metrics.lag({PAGES: 5})
        found = samples(metrics)
        return [found[f"neardup_{name}", "0", "pages"] for name in ("uncommitted_records", "lag_seconds")]

    metrics.read([record(0, age_seconds=90), record(1, age_seconds=80)])
    metrics.read([record(2, age_seconds=10)])
    seen = [lags()]
    metrics.committed({PAGES: 2})
    seen.append(lags())
    metrics.committed({PAGES: 3})
    seen.append(lags())

    assert [each[0] for each in seen] == [8, 6, 5]
    assert [each[1] for each in seen] == [pytest.approx(90, abs=2), pytest.approx(10, abs=2), 0]


def test_what_was_read_of_revoked_partitions_is_no_lag(metrics: Metrics) -> None:
    metrics.assigned(1, 4)
    metrics.read([record(0, age_seconds=90)])
    metrics.revoked()
    metrics.lag({PAGES: 0})

    found = samples(metrics)
    assert found["neardup_uncommitted_records", "0", "pages"] == 0
    assert found["neardup_assigned_partitions",] == 0
    assert found["neardup_topic_partitions",] == 4


@pytest.mark.parametrize("state", get_args(State))
def test_one_state_is_1_and_the_others_are_0(metrics: Metrics, state: State) -> None:
    metrics.process.state(state)

    found = samples(metrics)
    assert {each for each in get_args(State) if found["neardup_state", each]} == {state}
    assert found["neardup_ready",] == (state == "ready")


def test_limits_are_exported_under_the_names_of_their_settings(metrics: Metrics) -> None:
    settings = Settings.load(overrides=["pipeline.max_in_flight_pages=600"])
    metrics.process.settings(settings)

    limits = {name[1]: value for name, value in samples(metrics).items() if name[0] == "neardup_limit"}
    assert limits["pipeline.max_in_flight_pages"] == 600
    assert limits.keys() <= known_settings(Settings).keys()


def test_use_of_redis_is_unknown_while_it_is_unavailable(metrics: Metrics) -> None:
    metrics.usage(Usage(records=7, used_bytes=800, max_bytes=900))
    known = samples(metrics)
    metrics.usage(None)
    unknown = samples(metrics)

    names = [
        ("neardup_stored_pages",),
        ("neardup_redis_memory_bytes", "used"),
        ("neardup_redis_memory_bytes", "max"),
    ]
    assert [known[name] for name in names] == [7, 800, 900]
    assert all(isnan(unknown[name]) for name in names)


def test_the_pace_of_retention_and_the_clocks_are_metrics(metrics: Metrics) -> None:
    metrics.sweep.sweep_pace(61.5, 7.0)
    metrics.sweep.sweep_lag(3.5, 4)
    metrics.sweep.reading_waited(1.5)
    metrics.sweep.reading_waited(0.5)
    metrics.sweep.clock_offset(-0.5)

    found = samples(metrics)
    assert found["neardup_sweep_round_seconds",] == 61.5
    assert found["neardup_sweep_overdue_seconds",] == 7
    assert found["neardup_sweep_lag_seconds",] == 3.5
    assert found["neardup_sweeps_in_flight",] == 4
    assert found["neardup_reading_paused_seconds_total",] == 2
    assert found["neardup_clock_offset_seconds",] == -0.5
