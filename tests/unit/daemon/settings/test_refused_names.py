"""What a refusal says of names with characters that they may not have."""

import pytest

from tests.unit.daemon.settings.refusals import refusal


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("kafka.pages_topic", "'crawl.pages'"),
        ("kafka.events_topic", "'crawl.events'"),
        ("kafka.dead_letters_topic", "'crawl.dead-letters'"),
        ("kafka.group_instance_id", "'neardup-1'"),
        ("redis.namespace", "'crawl2'"),
    ],
)
def test_a_name_is_refused_with_one_of_its_kind_and_with_the_characters_that_it_may_have(
    name: str, like: str
) -> None:
    message = refusal([f"{name}=a b"])

    assert f"expected a value like {like} (" in message
    assert "of the characters A-Z, a-z, 0-9, " in message
