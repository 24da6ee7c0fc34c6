"""Pages made to harm their reader, each with its expected outcome."""

import base64
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

__all__ = ["HOSTILE_PAGES", "HostilePage"]


class HostilePage(NamedTuple):
    """A page and its fate.

    Attributes:
        value: the record's.
        reason: of its dead letter; empty where it is a page like others.
    """

    value: bytes
    reason: str = "over_limit"


def _page(**fields: object) -> bytes:
    return msgspec.json.encode({"url": "https://hostile.example/", **fields})


def _html(html: str, reason: str = "over_limit") -> HostilePage:
    return HostilePage(_page(html=html), reason)


def _text(text: str, reason: str = "over_limit") -> HostilePage:
    return HostilePage(msgspec.json.encode({"url": "https://hostile.example/", "text": text}), reason)


def _numbered(piece: str, count: int) -> str:
    return "".join(piece.replace("%d", str(number)) for number in range(count))


HOSTILE_PAGES: Mapping[str, HostilePage] = {
    "nested-formatting": _html("<i><div>" * 7_000),
    "formatting-around-blocks": _html("<b><b><b>" + "<div>" * 10_000),
    "formatting-inside-itself": _html("</b><small>" * 30_000),
    "formatting-left-open": _html(_numbered("<p><font size=%d>x</p>", 2_000)),
    "formatting-repeated": _html(_numbered("<b a=%d>", 250) + "</p><p>x" * 50_000),
    "attributes": _html("<p" + _numbered(" a%d", 64_000) + ">"),
    "attributes-of-the-root": _html(_numbered("<body a%d>", 50_000)),
    "nested-lists": _html("<ul><li>x" * 9_000),
    "items-of-deep-lists": _html("<ul>" * 1_000 + "<li>x" * 50_000),
    "options": _html("<select>" + "<option>x" * 100_000),
    "groups-of-options": _html("<optgroup>" * 30_000 + "x"),
    "annotations-of-nothing": _html("</plaintext><rp>" * 50_000),
    "elements": _html("<p>" * 700_000),
    "names-of-attributes": _html(_numbered("<p a%d>x", 80_000)),
    "end-tags-in-deep-markup": _html("<span>" * 1_000 + "</q>" * 300_000),
    "lists-in-objects": _html("<ul><li>x<object></ul>" * 20_000),
    "formatting-in-objects": _html(_numbered("<p><b a=%d><object></b></object>x</p>", 2_000)),
    "formatting-in-lists-to-choose-from": _html(_numbered("<p><b a=%d><select></b></select>x</p>", 2_000)),
    "lines-that-may-not-break": _html(_numbered("<nobr a=%d><table><nobr></table>", 2_000)),
    "text-behind-the-body": _html(
        "</script></body></html><!-->" + _numbered("< a%dp>'</script></body></html><!-->", 25_000)
    ),
    "text-around-ignored-tags": _html("<p>" + _numbered("some words <col a%d=b>", 30_000)),
    "text-in-front-of-a-table": _html("<table>" + "some words<tr><td>x</td></tr>" * 25_000),
    "markup-behind-a-comment-that-ends-early": _html("<!-->" + _numbered("<p><font size=%d>x</p>", 2_000)),
    "markup-in-svg": _html("<svg><plaintext>" + "<p><div>" * 2_000),
    "marks": _text("a" + "\u0300\u0316" * 300_000, ""),
    "marks-between-joiners": _text(("a" + "\u0316" * 20 + "\u200d") * 20_000, ""),
    "expanding-characters": _text("\ufdfa" * 500_000),
    "letters-of-other-planes": _text("\U00020000" * 700_000, ""),
    "two-letters-for-one": _text("\u0d7a" * 600_000, ""),
    "jamo": _text("\u1100\u1161\u11a8" * 200_000, ""),
    "nested-json": HostilePage(b'{"url":"a","text":"b","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "half-a-surrogate": HostilePage(b'{"url":"a","text":"\\ud83d"}', "lone_surrogate"),
    "no-utf-8": HostilePage(b'{"url":"a","text":"\xff"}', "invalid_utf8"),
    "too-large": _text("x" * (4 << 20)),
    "long-url": HostilePage(_page(text="a", url="https://a.example/" + "x" * 5_000)),
    "large-number": HostilePage(_page(text="a", fetched_at=10**300), "wrong_type"),
    "wrong-charset": HostilePage(
        _page(body=base64.b64encode(bytes(range(256)) * 100).decode(), charset="utf-7"), ""
    ),
    "not-base64": HostilePage(_page(body="=" * 1_000), "bad_base64"),
}
"""By kind."""
