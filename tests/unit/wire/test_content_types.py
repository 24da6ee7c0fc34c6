import pytest

from neardup_stream.wire.content_types import is_text_type


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "text/plain",
        "TEXT/HTML ; charset=UTF-8",
        "application/xhtml+xml",
        "application/xml",
        "application/rss+xml",
        "text/x-unheard-of",
    ],
)
def test_text_and_markup_are_text(content_type: str) -> None:
    assert is_text_type(content_type)


@pytest.mark.parametrize("content_type", [None, "", "html", "; charset=utf-8"])
def test_what_names_no_media_type_says_nothing_against_the_body(content_type: str | None) -> None:
    assert is_text_type(content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        "image/png",
        "image/svg+xml",
        "application/pdf",
        "application/json",
        "application/octet-stream",
        "video/mp4; codecs=text/html",
    ],
)
def test_other_media_types_are_no_text(content_type: str) -> None:
    assert not is_text_type(content_type)
