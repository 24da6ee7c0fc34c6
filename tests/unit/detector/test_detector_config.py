"""A configuration that cannot be worked with is refused when it is made, not at the first page."""

import pickle
from typing import Any

import pytest

from neardup_stream import DetectorConfig, SimhashConfig, SketchConfig, VerdictConfig
from neardup_stream.errors import ConfigError


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DetectorConfig(expected_pages=0), "expected_pages"),
        (lambda: DetectorConfig(10**12, verdict=VerdictConfig(None, 12)), "the most is 256"),
        (lambda: VerdictConfig(distance_bits=-1), "distance_bits is -1, must be 0 to 63"),
        (lambda: VerdictConfig(distance_bits=99), "distance_bits is 99, must be 0 to 63"),
    ],
)
def test_a_number_out_of_its_range_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (DetectorConfig, "expected_pages"),
        (SimhashConfig, "window_tokens"),
        (SimhashConfig, "min_tokens"),
        (SketchConfig, "shingle_tokens"),
        (SketchConfig, "bins"),
        (SketchConfig, "code_bits"),
        (SketchConfig, "bands"),
        (SketchConfig, "band_bins"),
        (VerdictConfig, "distance_bits"),
    ],
)
@pytest.mark.parametrize("number", [4.5, 160.0, "4", None])
def test_a_number_that_is_not_whole_is_refused_by_its_name(config: Any, name: str, number: object) -> None:
    with pytest.raises(TypeError, match=f"{name} is {number!r}, must be a whole number"):
        config(**{name: number})


def test_a_rule_that_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="rule is 'components', must be a function"):
        DetectorConfig(rule="components")  # type: ignore[arg-type]


def test_thresholds_of_sketches_that_are_not_made_are_refused() -> None:
    sketch = SketchConfig(bins=80)

    with pytest.raises(ConfigError, match=r"for .*bins=160.* sketch is .*bins=80"):
        DetectorConfig(sketch=sketch, verdict=VerdictConfig())
    assert DetectorConfig(sketch=sketch, verdict=VerdictConfig(sketch)).sketch == sketch
    assert DetectorConfig(verdict=VerdictConfig(None)).verdict == VerdictConfig(None)


def test_a_config_can_be_given_to_another_process() -> None:
    config = DetectorConfig(1000, SimhashConfig(min_tokens=5))

    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own bytes
