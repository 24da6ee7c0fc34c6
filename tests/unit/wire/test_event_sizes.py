"""Events too large for their topic: what they list, and what they count."""

import msgspec
import pytest

from neardup_stream.event_parts import (
    EventMatch,
)
from neardup_stream.events import (
    EVENT_DATA,
    Archived,
    ClusterMerge,
    Contained,
    Event,
    EventName,
    MergeCause,
)
from neardup_stream.message import Message
from neardup_stream.wire.events import (
    to_message,
)
from tests.unit.wire.example_events import ABSORBED, DUPLICATE, EXAMPLES, FROZEN_MATCH, PAGE, SURVIVOR, about

MANY = tuple(
    EventMatch(id=f"page-{number}", url="http://example.com/" + "x" * 500, version=1, distance_bits=0)
    for number in range(64)
)
MANY_FROZEN = tuple(msgspec.structs.replace(FROZEN_MATCH, id=match.id) for match in MANY)


def listed(message: Message, *path: str) -> tuple[list[str], int]:
    """Return the ids that a message lists, and how many it says there were."""
    *parents, name = path
    data = msgspec.json.decode(message.value or b"")
    for parent in parents:
        data = data[parent]
    return [each["id"] for each in data[name]], data[f"{name}_total"]


@pytest.mark.parametrize(
    ("large", "path"),
    [
        pytest.param(
            about("duplicate", msgspec.structs.replace(DUPLICATE, matches=MANY, matches_total=99)),
            ("matches",),
            id="duplicate",
        ),
        pytest.param(
            about("archived", Archived(page=PAGE, kind="near", matches=MANY_FROZEN, matches_total=99)),
            ("matches",),
            id="archived",
        ),
        pytest.param(
            about("contained", Contained(page=PAGE, containers=MANY, containers_total=99)),
            ("containers",),
            id="contained",
        ),
        pytest.param(
            about(
                "cluster-merge",
                ClusterMerge(
                    survivor=SURVIVOR,
                    absorbed=ABSORBED,
                    cause=MergeCause(page=PAGE, matches=MANY, matches_total=99),
                ),
            ),
            ("cause", "matches"),
            id="cluster-merge",
        ),
    ],
)
def test_an_event_too_large_for_its_topic_lists_the_best_and_counts_all(
    large: Event, path: tuple[str, ...]
) -> None:
    whole_bytes = to_message(large).size_bytes
    ids = [match.id for match in MANY]

    assert listed(to_message(large, whole_bytes), *path) == (ids, 99)
    assert listed(to_message(large, whole_bytes - 1), *path) == (ids[:32], 99)
    assert listed(to_message(large, 1), *path) == (ids[:1], 99)


@pytest.mark.parametrize("name", EVENT_DATA)
def test_an_event_that_lists_nothing_more_is_sent_whatever_its_size(name: EventName) -> None:
    given = about(name, EXAMPLES[name])

    assert to_message(given, 1) == to_message(given)
