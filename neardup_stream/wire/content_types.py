"""Decide which media types have text to compare."""

__all__ = ["is_text_type"]

_TEXT_APPLICATIONS = frozenset({"application/xhtml+xml", "application/xml"})


def is_text_type(content_type: str | None) -> bool:
    """Return False only for a media type that has no text: images, video, archives, PDF, JSON.

    Return True for a missing or malformed media type.

    >>> is_text_type("Text/HTML; charset=utf-8"), is_text_type("image/png"), is_text_type(None)
    (True, False, True)
    """
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if "/" not in media_type:
        return True
    return (
        media_type.startswith("text/")
        or media_type in _TEXT_APPLICATIONS
        or (media_type.startswith("application/") and media_type.endswith("+xml"))
    )
