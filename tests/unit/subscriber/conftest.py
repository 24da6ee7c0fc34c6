from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup_stream.subscriber import Subscription
from tests.unit.subscriber.acting import Subscriber


@pytest.fixture
def subscriber(tmp_path: Path) -> Iterator[Subscriber]:
    made = Subscriber(tmp_path / "state.sqlite")
    yield made
    made.subscription.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


@pytest.fixture
def subscription(path: Path) -> Iterator[Subscription]:
    with Subscription(path) as opened:
        yield opened
