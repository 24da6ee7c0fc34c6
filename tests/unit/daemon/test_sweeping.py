import pytest

from daemon.settings import Retention
from daemon.sweeping import retention_config


@pytest.mark.parametrize(
    ("seconds", "page_seconds"),
    [(0.0, None), (0.1, 1), (1.0, 1), (1.1, 2)],
    ids=["keeps-all", "less-than-a-second", "whole", "more"],
)
def test_only_nothing_means_for_ever(seconds: float, page_seconds: int | None) -> None:
    config = retention_config(Retention(seconds=seconds, stub_seconds=0.2))

    assert (config.page_seconds, config.stub_seconds) == (page_seconds, 1)
