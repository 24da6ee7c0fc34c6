from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from daemon.metrics import Metrics
from neardup_stream.errors import BadPageReason, StoreReason
from neardup_stream.message import Partition
from neardup_stream.meters import Outcome, PipelineMeters, Stage


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Value by name and label values."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


def test_metrics_are_the_meters_of_the_pipeline(metrics: Metrics) -> None:
    meters: PipelineMeters = metrics

    meters.pages(3, 500)
    meters.outcome("dead_letter", 2, "not_json")
    meters.outcome("unique", 1)
    meters.stage_seconds("probe", 0.02)
    meters.candidates(7)
    meters.rejected_candidates("ghost", 1)
    meters.bucket_cap_hits(2)
    meters.charset_fallbacks(3)
    meters.frame_tokens(60, 100)
    meters.frame_lessons(5, 1)
    meters.frame_sites(9, 2)
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
    assert found["neardup_stage_seconds_count", "probe"] == 1
    assert found["neardup_stage_seconds_sum", "probe"] == 0.02
    assert found["neardup_candidates_total",] == 7
    assert found["neardup_rejected_candidates_total", "ghost"] == 1
    assert found["neardup_bucket_cap_hits_total",] == 2
    assert found["neardup_charset_fallbacks_total",] == 3
    assert found["neardup_frame_tokens_total",] == 60
    assert found["neardup_viewed_tokens_total",] == 100
    assert found["neardup_frame_lessons_total", "taught"] == 5
    assert found["neardup_frame_lessons_total", "dropped"] == 1
    assert found["neardup_frame_sites", "young"] == 7
    assert found["neardup_frame_sites", "settled"] == 2
    assert found["neardup_truncated_dead_letters_total",] == 4
    assert found["neardup_in_flight_pages",] == 5
    assert found["neardup_in_flight_bytes",] == 600
    assert found["neardup_retries_total", "store"] == 1
    assert found["neardup_dependency_errors_total", "store", "out_of_memory"] == 1


def test_every_label_value_of_a_closed_set_starts_at_zero(metrics: Metrics) -> None:
    found = samples(metrics)

    assert {found["neardup_outcomes_total", outcome] for outcome in get_args(Outcome)} == {0}
    assert {found["neardup_stage_seconds_count", stage] for stage in get_args(Stage)} == {0}
    reasons = get_args(BadPageReason)
    assert {found["neardup_outcome_reasons_total", "dead_letter", reason] for reason in reasons} == {0}
    reasons = get_args(StoreReason)
    assert {found["neardup_dependency_errors_total", "store", reason] for reason in reasons} == {0}


def test_the_lag_of_a_partition_ends_when_it_is_given_away(metrics: Metrics) -> None:
    metrics.lag({Partition("pages", 0): 5, Partition("pages", 1): 6})
    metrics.lag({Partition("pages", 1): 7})

    lags = [line for line in metrics.render().splitlines() if line.startswith(b"neardup_lag_records{")]
    assert lags == [b'neardup_lag_records{partition="1",topic="pages"} 7.0']


def test_two_registries_do_not_meet(metrics: Metrics) -> None:
    metrics.pages(1, 1)

    assert samples(Metrics())["neardup_pages_total",] == 0
