"""Records that ask to forget a page, by id or by URL."""

import pytest

from neardup_stream.errors import BadPage
from neardup_stream.wire.pages import forget_ids


@pytest.mark.parametrize(
    ("key", "ids"),
    [
        pytest.param(b"page-1", ("page-1",), id="id"),
        pytest.param(b"http://example.com/a", ("http://example.com/a",), id="canonical-url"),
        pytest.param(
            b"HTTP://Example.com:80/a",
            ("HTTP://Example.com:80/a", "http://example.com/a"),
            id="id-or-crawled-url",
        ),
        pytest.param(b"http://[", ("http://[",), id="unparsable-url-can-be-an-id"),
        pytest.param(b" ", (" ",), id="blank-id"),
    ],
)
def test_a_forget_names_a_page_by_id_or_by_url(key: bytes, ids: tuple[str, ...]) -> None:
    assert forget_ids(key) == ids


def test_a_key_longer_than_any_url_is_an_id() -> None:
    key = "http://Example.com/" + "é" * 1_000_000

    assert forget_ids(key.encode()) == (key,)


@pytest.mark.parametrize(
    ("key", "reason"),
    [(None, "missing_field"), (b"", "missing_field"), (b"\xff", "invalid_utf8")],
    ids=["no-key", "empty-key", "invalid-utf8"],
)
def test_a_forget_without_a_readable_key_is_bad(key: bytes | None, reason: str) -> None:
    with pytest.raises(BadPage) as error:
        forget_ids(key)

    assert error.value.reason == reason
