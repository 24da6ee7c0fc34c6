import pytest

from daemon.producing import _key


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"url": "http://a.example/", "html": ""}', b"http://a.example/"),
        (b'{"url": "http://a.example/", "id": "a"}', b"a"),
        (b'{"html": ""}', None),
        (b"no JSON", None),
        (b'{"url": "\xff"}', None),
        (b'{"url": 1}', None),
        (b'{"url": "a", "x": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", None),
        (b"[" * 1_000_000, None),
    ],
    ids=["url", "id", "neither", "no-json", "no-utf-8", "wrong-type", "nested", "nested-and-cut-off"],
)
def test_a_line_is_published_under_its_id_or_url_and_without_a_key_where_it_has_none(
    line: bytes, key: bytes | None
) -> None:
    assert _key(line) == key
