import pytest

from neardup_stream.wire.times import END_SECONDS, rfc3339


@pytest.mark.parametrize(
    ("epoch_ms", "written"),
    [
        pytest.param(0, "1970-01-01T00:00:00.000Z", id="epoch"),
        pytest.param(1, "1970-01-01T00:00:00.001Z", id="one-millisecond"),
        pytest.param(1_709_164_800_000, "2024-02-29T00:00:00.000Z", id="leap-day"),
        pytest.param(END_SECONDS * 1000 - 1, "9999-12-31T23:59:59.999Z", id="latest"),
    ],
)
def test_a_moment_is_written_in_utc_with_milliseconds(epoch_ms: int, written: str) -> None:
    assert rfc3339(epoch_ms) == written


@pytest.mark.parametrize(
    ("epoch_ms", "nearest_ms"),
    [
        pytest.param(-1, 0, id="a-record-without-time"),
        pytest.param(-(2**63), 0, id="lowest-int64"),
        pytest.param(END_SECONDS * 1000, END_SECONDS * 1000 - 1, id="just-after-the-latest"),
        pytest.param(2**63 - 1, END_SECONDS * 1000 - 1, id="highest-int64"),
    ],
)
def test_what_cannot_be_written_becomes_the_nearest_moment_that_can(epoch_ms: int, nearest_ms: int) -> None:
    assert rfc3339(epoch_ms) == rfc3339(nearest_ms)
