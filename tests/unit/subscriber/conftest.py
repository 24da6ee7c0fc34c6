from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.subscriber.acting import Subscriber


@pytest.fixture
def subscriber(tmp_path: Path) -> Iterator[Subscriber]:
    made = Subscriber(tmp_path / "state.sqlite")
    yield made
    made.subscription.close()
