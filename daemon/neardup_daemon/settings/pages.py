"""Define the settings of records and pages: how a record is read, which pages are wanted, their limits."""

from typing import Annotated

from msgspec import Meta

from neardup_daemon.settings.section import Section
from neardup_stream.pipeline.worker_limits import WorkerLimits
from neardup_stream.text.limits import MarkupLimits, TextLimits
from neardup_stream.wire.pages import PageLimits
from neardup_stream.wire.presets import Preset

__all__ = ["Limits", "Page", "PageFields", "Pages"]

_MIB = 1 << 20

_ENVELOPE_BYTES = 1 << 16
"""Room for the key and the headers of a record, those of a dead letter included."""

FieldPath = Annotated[str, Meta(pattern=r"^[^.]+(\.[^.]+)*$", examples=["content", "target.url"])]


class Limits(Section, frozen=True):
    """Limits above which a record becomes a dead letter."""

    max_page_bytes: Annotated[int, Meta(ge=1, le=1 << 30, description="Largest record value.")] = 4 * _MIB
    max_url_bytes: Annotated[int, Meta(ge=1, le=_MIB, description="Longest URL, in UTF-8.")] = 4096
    max_id_bytes: Annotated[int, Meta(ge=1, le=_MIB, description="Longest page id, in UTF-8.")] = 4096
    max_meta_bytes: Annotated[
        int, Meta(ge=1, le=16 * _MIB, description="Largest `meta`, as the JSON it came in.")
    ] = 65_536
    max_expanded_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Most bytes to which a compressed batch of the pages topic may expand; every"
            " record of a larger one becomes a dead letter without its content.",
        ),
    ] = 32 * _MIB
    max_headers: Annotated[
        int,
        Meta(
            ge=1,
            le=65_536,
            description="Most headers of a record of the pages topic; one with more becomes a dead letter"
            " without its headers.",
        ),
    ] = 256
    max_text_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Longest text of a page, in UTF-8, as extracted and as canonicalized.",
        ),
    ] = 4 * _MIB
    max_nodes: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Most elements and attributes of a page, including the formatting elements that a"
            " parser repeats because they were left open.",
        ),
    ] = 1 << 19
    max_depth: Annotated[int, Meta(ge=1, le=65_536, description="Most nested elements of a page.")] = 1024
    max_attributes: Annotated[int, Meta(ge=1, le=_MIB, description="Most attributes of one element.")] = 1024
    max_names: Annotated[
        int,
        Meta(ge=1, le=_MIB, description="Most different names of elements and attributes of a page."),
    ] = 4096
    max_formatting: Annotated[
        int,
        Meta(
            ge=1,
            le=65_536,
            description="Most formatting elements, such as `b` and `font`, open at once; of equal ones three"
            " count.",
        ),
    ] = 256
    max_options: Annotated[int, Meta(ge=1, le=_MIB, description="Most `option` elements of a page.")] = 8192
    max_steps: Annotated[
        int,
        Meta(
            ge=_MIB,
            le=1 << 40,
            description="Most open elements of a page that a parser passes at tags: at each tag, as many as"
            " are open.",
        ),
    ] = 1 << 28
    max_copied_bytes: Annotated[
        int,
        Meta(
            ge=_MIB,
            le=1 << 40,
            description="Most text of a page that a parser copies, in bytes, because tags that it ignores,"
            " comments or table cells come between the pieces of one text.",
        ),
    ] = 64 * _MIB
    page_seconds: Annotated[
        float,
        Meta(
            ge=0.01,  # the system counts CPU time in ticks; less than a microsecond would be no limit
            le=86_400,
            description="Most CPU time, in seconds, to prepare one page; a larger value accepts slower"
            " pages, but a hostile one delays its batch for as long.",
        ),
    ] = 2.0
    page_memory_bytes: Annotated[
        int,
        Meta(
            ge=64 * _MIB,
            le=1 << 40,
            description="Most memory to prepare one page. The worker process may take 64 MiB more for"
            " other pages.",
        ),
    ] = 512 * _MIB

    def record_bytes(self) -> int:
        """Return the bytes of the largest page as a record, with room for its key and headers."""
        return self.max_page_bytes + _ENVELOPE_BYTES

    def config(self) -> PageLimits:
        """Return these settings for the page decoder."""
        return PageLimits(
            max_page_bytes=self.max_page_bytes,
            max_url_bytes=self.max_url_bytes,
            max_id_bytes=self.max_id_bytes,
            max_meta_bytes=self.max_meta_bytes,
            max_headers=self.max_headers,
        )

    def text(self) -> TextLimits:
        """Return these settings for the extraction of text."""
        markup = MarkupLimits(
            max_nodes=self.max_nodes,
            max_depth=self.max_depth,
            max_attributes=self.max_attributes,
            max_names=self.max_names,
            max_formatting=self.max_formatting,
            max_options=self.max_options,
            max_steps=self.max_steps,
            max_text_bytes=self.max_text_bytes,
            max_copied_bytes=self.max_copied_bytes,
        )
        return TextLimits(markup, self.max_text_bytes)

    def worker(self) -> WorkerLimits:
        """Return these settings for the process that prepares pages."""
        return WorkerLimits(self.page_seconds, self.page_memory_bytes)


class PageFields(Section, frozen=True):
    """Where a crawler's JSON keeps what we call by other names; dots go into nested objects."""

    url: Annotated[FieldPath, Meta(description="Address as crawled.")] = "url"
    id: Annotated[FieldPath, Meta(description="Identity of the page.")] = "id"
    fetched_at: Annotated[FieldPath, Meta(description="When it was fetched.")] = "fetched_at"
    html: Annotated[FieldPath, Meta(description="Markup.")] = "html"
    text: Annotated[FieldPath, Meta(description="Visible text.")] = "text"
    body: Annotated[FieldPath, Meta(description="Bytes as fetched, in base64.")] = "body"
    content_type: Annotated[FieldPath, Meta(description="Media type of the body.")] = "content_type"
    charset: Annotated[FieldPath, Meta(description="Label of the body's encoding.")] = "charset"
    status: Annotated[FieldPath, Meta(description="HTTP status.")] = "status"
    language: Annotated[FieldPath, Meta(description="Language label.")] = "language"
    score: Annotated[FieldPath, Meta(description="The crawler's own score.")] = "score"
    meta: Annotated[FieldPath, Meta(description="JSON that events pass on unchanged.")] = "meta"

    def mapping(self) -> dict[str, str]:
        """Our name → the crawler's path, for the names that differ."""
        paths = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: path for name, path in paths.items() if path != name}


class Page(Section, frozen=True):
    """How one record is read."""

    preset: Annotated[
        Preset,
        Meta(
            description="The crawler that writes the pages, if its field names and page ids are known;"
            " `page.fields` take precedence."
        ),
    ] = "none"
    fields: PageFields = PageFields()


class Pages(Section, frozen=True):
    """Which pages are wanted."""

    status: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=999)], ...],
        Meta(
            description="HTTP statuses to process; other pages are skipped. Empty processes every page."
            " Answers of the statuses 1xx, 204, 205 and 304 hold none, and are always skipped."
        ),
    ] = ()
