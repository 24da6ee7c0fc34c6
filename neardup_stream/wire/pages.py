"""Decode a record to a page, or raise the reason why it cannot become one.

`PageInput` is what a crawler may send; msgspec decodes it directly from bytes. Every fault of the input
raises `BadPage` here, so later stages process only pages within the limits.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_stream.errors import BadPage, ConfigError, LimitName
from neardup_stream.message import Record, Skipped
from neardup_stream.page import Page, PageId
from neardup_stream.wire.content_types import is_text_type
from neardup_stream.wire.foreign_fields import ForeignFields
from neardup_stream.wire.header_limit import DEFAULT_MAX_HEADERS, check_headers
from neardup_stream.wire.json_depth import MAX_JSON_DEPTH, is_too_deep, is_too_deep_object
from neardup_stream.wire.lone_surrogates import lone_surrogate
from neardup_stream.wire.presets import PRESETS, Preset
from neardup_stream.wire.statuses import is_wanted
from neardup_stream.wire.times import END_SECONDS, parse_time
from neardup_stream.wire.urls import canonical_url

__all__ = [
    "AWAITED",
    "OWN_FIELDS",
    "PageDecoder",
    "PageInput",
    "PageLimits",
    "check_one_body",
    "epoch_seconds",
    "foreign_fields",
    "forget_ids",
    "is_header",
    "utf8_size_bytes",
]

AWAITED = ("neardup.awaited", b"1")
"""A header of records whose decision is waited for: the daemon keeps its decision record for a while."""

OWN_FIELDS = ("neardup.fields", b"own")
"""Marks a record whose fields have our names, whatever the settings say about field names."""

_BOM = b"\xef\xbb\xbf"
_DETAIL_CHARACTERS = 100
_LONGEST_KEY_URL_BYTES = 64 * 1024
"""The longest key that is parsed as a URL: keys have no limit of ours, and a megabyte takes seconds."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Size limits of one page; larger ones become dead letters.

    Attributes:
        max_page_bytes: of the record's value.
        max_url_bytes: of the URL as crawled, in UTF-8. Events name up to 64 matched pages by URL and id, and
            must still fit a broker's usual 1 MiB.
        max_id_bytes: of the id, given or derived from the URL, in UTF-8.
        max_meta_bytes: of `meta` as received, because events carry it.
        max_headers: of a record.
    """

    max_page_bytes: int = 4 * 1024 * 1024
    max_url_bytes: int = 4096
    max_id_bytes: int = 4096
    max_meta_bytes: int = 64 * 1024
    max_headers: int = DEFAULT_MAX_HEADERS

    def __post_init__(self) -> None:
        """Refuse limits that no page keeps, by a ConfigError."""
        for name in ("max_page_bytes", "max_url_bytes", "max_id_bytes", "max_meta_bytes", "max_headers"):
            if getattr(self, name) < 1:
                raise ConfigError(f"limits.{name} is {getattr(self, name)}, must be at least 1")


class PageInput(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A page as a crawler sends it: exactly one of `html`, `text` and `body`; null means absent.

    Fields not named here are ignored.

    Attributes:
        url: address as crawled.
        id: identity across re-crawls; by default the canonical URL.
        fetched_at: RFC 3339, in UTC where it has no offset, or epoch seconds; by default the record's
            timestamp.
        html: markup.
        text: visible text.
        body: bytes as fetched, base64 with padding and without line breaks.
        content_type: media type of `body`.
        charset: of `body`; detected if absent, unknown or wrong.
        status: of HTTP.
        language: the crawler's label.
        score: the crawler's own.
        meta: anything; events carry it untouched.
    """

    url: Annotated[str, Meta(extra_json_schema={"minLength": 1})]
    id: Annotated[str, Meta(min_length=1)] | None = None
    fetched_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})] | int | float | None = None
    html: str | None = None
    text: str | None = None
    body: bytes | None = None
    content_type: str | None = None
    charset: str | None = None
    status: int | None = None
    language: str | None = None
    score: float | None = None
    meta: msgspec.Raw | UnsetType = UNSET


class _Header(msgspec.Struct, frozen=True):
    """The first line of a list of pages in a web archive collection (WACZ)."""

    format: str


_HEADER = msgspec.json.Decoder(_Header)
_HEADER_BEGINNING = b'{"format"'


class PageDecoder:
    """Decode records with fixed limits, field names and filters.

    Args:
        limits: size limits of one page.
        fields: foreign names, our name → dotted path in the crawler's JSON, e.g. `{"url": "target.url"}`.
        statuses: HTTP statuses to keep, also pages without status; empty keeps all that hold pages.
        preset: the crawler whose field names apply where `fields` has no entry.

    Raises:
        ConfigError: `fields` names a field that no page has, or an empty path.
    """

    def __init__(
        self,
        limits: PageLimits = PageLimits(),
        fields: Mapping[str, str] | None = None,
        statuses: AbstractSet[int] = frozenset(),
        preset: Preset = "none",
    ) -> None:
        self._limits = limits
        self._foreign = foreign_fields(fields or {}, preset)
        self._statuses = statuses
        self._inputs = msgspec.json.Decoder(PageInput)

    def decode(self, record: Record) -> Page | Skipped:
        """Return the record's page, or the reason to skip it.

        Args:
            record: with a value; a null value requests a forget, see `forget_ids`.

        Raises:
            BadPage: the record can never become a page; the error has the reason.

        Cost: about 4 µs for 3.5 KB of ASCII, dominated by copying the text out of JSON.
        """
        value = record.value or b""
        _check_size("the page", len(value), self._limits.max_page_bytes, "max_page_bytes")
        check_headers(record.headers, self._limits.max_headers)
        if record.decoded is None and is_header(value):
            return Skipped("header")
        foreign = None if OWN_FIELDS in record.headers else self._foreign
        page = record.decoded or self._parsed(value, foreign, record.timestamp_ms)
        if isinstance(page, BadPage):
            raise page
        if isinstance(page, Skipped):
            return page
        self._check_fields(page)
        return self._skip(page) or page

    def _parsed(self, value: bytes, foreign: ForeignFields | None, timestamp_ms: int) -> Page | Skipped:
        json = value.removeprefix(_BOM)
        if not json:
            raise BadPage("empty_value", "the value is empty")
        try:
            json.decode()  # msgspec does not validate the fields it skips (unknown ones, `meta`)
            renamed = foreign.renamed(json) if foreign else json
            if isinstance(renamed, Skipped):
                return renamed
            given = self._inputs.decode(renamed)
        except UnicodeDecodeError as error:
            raise BadPage("invalid_utf8", str(error)) from error
        except RecursionError as error:
            raise _too_deep() from error
        except msgspec.DecodeError as error:
            raise _unreadable(json, error) from error
        if is_too_deep_object(json, _content_bytes(given)):
            raise _too_deep()
        return self._page(given, timestamp_ms)

    def _page(self, given: PageInput, timestamp_ms: int) -> Page | Skipped:
        is_bare = given.html is None and given.text is None and given.body is None
        if is_bare and not is_wanted(given.status, self._statuses):
            return Skipped("status")
        check_one_body(given)
        # Checked before the URL is parsed.
        _check_size("url", utf8_size_bytes(given.url), self._limits.max_url_bytes, "max_url_bytes")
        canonical = canonical_url(given.url)
        return Page(
            id=PageId(canonical if given.id is None else given.id),
            url=given.url,
            fetched_at_seconds=epoch_seconds(given.fetched_at, timestamp_ms),
            html=given.html,
            text=given.text,
            body=given.body,
            content_type=given.content_type,
            charset=given.charset,
            status=given.status,
            language=given.language,
            score=given.score,
            meta=None if given.meta is UNSET or bytes(given.meta) == b"null" else given.meta,
        )

    def _check_fields(self, page: Page) -> None:
        limits = self._limits
        _check_size("url", utf8_size_bytes(page.url), limits.max_url_bytes, "max_url_bytes")
        _check_size("id", utf8_size_bytes(page.id), limits.max_id_bytes, "max_id_bytes")
        if page.meta is not None:
            _check_size("meta", len(memoryview(page.meta)), limits.max_meta_bytes, "max_meta_bytes")

    def _skip(self, page: Page) -> Skipped | None:
        if page.body is not None and not is_text_type(page.content_type):
            return Skipped("content_type")
        if not is_wanted(page.status, self._statuses):
            return Skipped("status")
        return None


def foreign_fields(fields: Mapping[str, str], preset: Preset) -> ForeignFields | None:
    """Return the mapping from a crawler's fields to ours; None if they already have our names.

    Args:
        fields: foreign names, our name → dotted path; they take precedence over the preset.
        preset: the crawler.

    Raises:
        ConfigError: `fields` names a field that no page has, or an empty path.
    """
    return ForeignFields(fields, PageInput.__struct_fields__, preset) if fields or PRESETS[preset] else None


def is_header(value: bytes) -> bool:
    """Return whether a record only describes the records after it, as the first line of `pages.jsonl`."""
    if not value.startswith(_HEADER_BEGINNING) or is_too_deep(value):
        return False
    try:
        return _HEADER.decode(value).format.startswith("json-pages-")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def forget_ids(key: bytes | None) -> tuple[PageId, ...]:
    """Return the page ids that the key of a null value may mean, the likeliest first.

    These are the key itself, for a page whose crawler gave that id, then the key as a canonical URL, for a
    page without an id. A key longer than any usual URL is an id.

    Raises:
        BadPage: the key is missing or not UTF-8.
    """
    if not key:
        raise BadPage("missing_field", "a null value needs the page's id or URL as its key")
    try:
        verbatim = key.decode()
    except UnicodeDecodeError as error:
        raise BadPage("invalid_utf8", f"key: {error}") from error
    if len(key) > _LONGEST_KEY_URL_BYTES:
        return (PageId(verbatim),)
    try:
        canonical = canonical_url(verbatim)
    except BadPage:  # an id need not be a URL
        canonical = verbatim
    return tuple(PageId(name) for name in dict.fromkeys((verbatim, canonical)))


def check_one_body(given: PageInput | Page) -> None:
    """Raise unless a page has exactly one of `html`, `text` and `body`.

    Raises:
        BadPage: it has none, or more than one; `not_one_body`.
    """
    if (given.html is not None) + (given.text is not None) + (given.body is not None) != 1:
        bodies = [name for name in ("html", "text", "body") if getattr(given, name) is not None]
        raise BadPage("not_one_body", f"has {' and '.join(bodies) or 'none'} of html, text and body")


def epoch_seconds(fetched_at: str | float | None, timestamp_ms: int) -> float:
    """Return the time of a page, by default that of its record.

    Raises:
        BadPage: it is no time, or outside the years 1970 to 9999.
    """
    if fetched_at is None:
        return max(timestamp_ms, 0) / 1000
    try:
        seconds = parse_time(fetched_at) if isinstance(fetched_at, str) else fetched_at
    except ValueError as error:
        raise BadPage("wrong_type", f"fetched_at: {str(error)[:_DETAIL_CHARACTERS]}") from error
    if not 0 <= seconds < END_SECONDS:
        raise BadPage("wrong_type", f"fetched_at: {str(seconds)[:24]} s is outside the years 1970 to 9999")
    return float(seconds)


def utf8_size_bytes(text: str) -> int:
    """Return the bytes of an id or a URL in UTF-8.

    Raises:
        BadPage: it has none, as half of a character is in it; `lone_surrogate`.
    """
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:  # only input that was not JSON can contain a lone surrogate
        raise BadPage("lone_surrogate", str(error)) from error


def _check_size(what: str, size_bytes: int, limit_bytes: int, name: LimitName) -> None:
    if size_bytes > limit_bytes:
        raise BadPage("over_limit", f"{what} has {size_bytes} bytes, the limit is {limit_bytes}", name)


def _too_deep() -> BadPage:
    return BadPage(
        "over_limit", f"arrays and objects are nested deeper than {MAX_JSON_DEPTH}", "max_json_depth"
    )


def _content_bytes(given: PageInput) -> int:
    """Return how many bytes of its JSON a page's content takes at least."""
    if given.body is not None:
        return len(given.body) * 4 // 3  # base64
    return len(given.html or given.text or "")


def _unreadable(json: bytes, error: msgspec.DecodeError) -> BadPage:
    """Return the reason and detail of an error of msgspec.

    Its messages distinguish cases that its two classes do not.
    """
    detail = str(error)
    if not isinstance(error, msgspec.ValidationError):
        half = lone_surrogate(json)
        return BadPage("lone_surrogate", half) if half else BadPage("not_json", detail)
    if "missing required field" in detail:
        return BadPage("missing_field", detail)
    return BadPage("bad_base64" if "base64" in detail else "wrong_type", detail)
