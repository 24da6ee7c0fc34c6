"""Define the settings of the index, the comparison of pages, and clusters."""

import re
from typing import Annotated, Literal

from msgspec import Meta

from neardup_daemon.settings.section import Seconds, Section
from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.clusters.rules import DEFAULT_LINK_CONTAINMENT
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import MAX_WINDOW_TOKENS
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout

__all__ = ["Clusters", "Frames", "Index", "Sketch", "Text", "Verdict"]

_NUMBER = re.compile(r"\b(blocks|distance_bits|substrings) \(")
"""A number in an error of the library, which does not know the names of settings."""


class Index(Section, frozen=True):
    """The layout of the permuted tables; all settings but `bucket_cap` change what is stored."""

    blocks: Annotated[
        int,
        Meta(
            ge=2,
            le=64,
            description="Parts that each substring of a fingerprint is split into; at 3 bits and one"
            " substring, 4 parts make 4 tables and 5 make 10. More make ranges shorter, and tables more.",
        ),
    ] = 4
    substrings: Annotated[
        int,
        Meta(
            ge=1,
            le=64,
            description="Parts of a fingerprint that are searched on their own, at most one more than"
            " `index.distance_bits`; at 3 bits, 2 of 3 blocks make 6 tables. `plan` names the best.",
        ),
    ] = 1
    distance_bits: Annotated[
        int,
        Meta(ge=0, le=63, description="Fingerprints that differ in at most this many bits are candidates."),
    ] = 3
    expected_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=10**12,
            description="Largest number of pages that the index will hold; sets the width of the buckets.",
        ),
    ] = 1_000_000
    bands: Annotated[
        int,
        Meta(
            ge=0,
            le=32,
            description="Tables that find pages by equal parts of their sketches; 0 finds by simhash alone.",
        ),
    ] = 12
    bucket_cap: Annotated[
        int,
        Meta(
            ge=1,
            le=10**6,
            description="Largest range that a probe reads whole; of a larger one, an oversized bucket, it"
            " reads a sample, which differs from index to index.",
        ),
    ] = 128
    shards: Annotated[
        int,
        Meta(
            ge=1,
            le=256,
            extra_json_schema={"enum": [1 << power for power in range(9)]},
            description="Units of placement in a Redis Cluster, a power of two; at least 4 times its nodes.",
        ),
    ] = 16

    def __post_init__(self) -> None:
        """Refuse a layout that cannot be.

        Raises:
            ConfigError: the numbers contradict each other.
        """
        IndexLayout(self.config())

    def config(self) -> IndexConfig:
        """Return these settings for the index."""
        return IndexConfig(
            permuted=self._permuted(),
            bands=self.bands,
            expected_pages=self.expected_pages,
            bucket_cap=self.bucket_cap,
            shards=self.shards,
        )

    def _permuted(self) -> PermutedConfig:
        try:
            return PermutedConfig(self.blocks, self.distance_bits, self.substrings)
        except ConfigError as error:
            halved = self.substrings == 1 and self.distance_bits // 2 < self.blocks <= self.distance_bits
            remedy = ", or set index.substrings = 2" if halved else ""
            raise ConfigError(_NUMBER.sub(r"index.\1 (", str(error)) + remedy) from error


class Text(Section, frozen=True):
    """How a page becomes a fingerprint; both change what is stored."""

    extraction: Annotated[
        Literal["all_text", "main_content"],
        Meta(description="Which part of a page's markup is its text: all visible text, or the main content."),
    ] = "all_text"
    window_tokens: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_WINDOW_TOKENS,
            description="Consecutive tokens that make one feature of the fingerprint.",
        ),
    ] = 2


class Sketch(Section, frozen=True):
    """The size of sketches; all settings change what is stored."""

    shingle_tokens: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_WINDOW_TOKENS,
            description="Consecutive tokens of one shingle; resemblance is the fraction of shingles that"
            " two pages share.",
        ),
    ] = 3
    bins: Annotated[
        int,
        Meta(
            ge=16,
            le=1024,
            multiple_of=2,
            description="Samples of a sketch, an even number; four times as many halve the error of a"
            " resemblance.",
        ),
    ] = 160
    code_bits: Annotated[
        Literal[4, 8], Meta(description="Bits of one sample; 4 take half the bytes and err a little more.")
    ] = 4


class Verdict(Section, frozen=True):
    """When a candidate counts."""

    scheme: Annotated[
        Literal["sketch", "simhash"],
        Meta(
            description="How pages are compared: by sketches, which estimate resemblance, or by"
            " simhashes alone."
        ),
    ] = "sketch"
    near_resemblance: Annotated[
        float, Meta(gt=0, le=1, description="Least estimated resemblance of two pages that match.")
    ] = 0.55
    near_containment: Annotated[
        float,
        Meta(gt=0, le=1, description="Least estimated share of each page inside the other for a match."),
    ] = 0.715
    contained_containment: Annotated[
        float,
        Meta(gt=0, le=1, description="Least estimated share of a page inside another to call it contained."),
    ] = 0.9
    content_containment: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="The same as `near_containment` for pages without their frames, where both have one,"
            " and more than half of a page is frame.",
        ),
    ] = 0.73
    scope: Annotated[
        str,
        Meta(
            pattern=r"^(everything|host|domain|language|meta(\.[^.]+)+)$",
            examples=["everything", "host", "meta.site"],
            description="Within which pages a page is compared: `everything`, `host`, `domain`,"
            " `language` or `meta.<field>`.",
        ),
    ] = "everything"
    min_tokens: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 30,
            description="Pages with fewer tokens are undecided: they are not indexed and match nothing.",
        ),
    ] = 10
    matches_limit: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Most matches listed in an event; `matches_total` counts all of them.",
        ),
    ] = 64
    policy: Annotated[
        int,
        Meta(
            ge=0,
            le=(1 << 63) - 1,
            description="Number of the policy. Increase it by one to change settings that verdicts depend"
            " on in a namespace with pages.",
        ),
    ] = 0


class Frames(Section, frozen=True):
    """When a line is frame: one that a site repeats on its pages, as in navigation; it is not compared."""

    scope: Annotated[
        str,
        Meta(
            pattern=r"^(host|domain|off|meta(\.[^.]+)+)$",
            examples=["host", "domain", "meta.site", "off"],
            description="Which pages share a frame, those of one `host`, `domain` or `meta.<field>`; `off`"
            " compares pages with their frames.",
        ),
    ] = "host"
    markup_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=32,
            description="On how many other pages of the site a line of HTML must be to count as frame; a"
            " larger number learns a frame later, a smaller one treats more repeated content"
            " as frame.",
        ),
    ] = 5
    landmark_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=32,
            description="The same for a line in navigation, footer or another landmark of the markup.",
        ),
    ] = 2
    text_pages: Annotated[
        int, Meta(ge=1, le=120, description="The same for a line of a page in plain text.")
    ] = 10
    max_lines: Annotated[
        int,
        Meta(
            ge=16,
            le=65_536,
            description="Most lines counted for a site, 5 bytes each; the rarest are dropped. Lines"
            " counted once are at most 1,024 of them, however large this is.",
        ),
    ] = 8192

    def config(self) -> FrameConfig:
        """Return these settings for the pipeline."""
        return FrameConfig(self.markup_pages, self.landmark_pages, self.text_pages, self.max_lines)


class Clusters(Section, frozen=True):
    """Which matching pages belong together."""

    rule: Annotated[
        Literal["linked", "components", "anchored", "off"],
        Meta(
            description="Which pages share a cluster: `linked`, those that firm matches connect, and a page"
            " without one joins the cluster it matches best, of those of which it matches half or an anchor"
            " (its first page, one that matches the representative, or one that matches an anchor firmly);"
            " `components`, those that any matches connect; `anchored`, those that match the founder, or the"
            " next representative once it has left; `off` keeps no clusters."
        ),
    ] = "linked"
    link_containment: Annotated[
        float,
        Meta(gt=0, le=1, description="Least share of each page inside the other for a firm match."),
    ] = DEFAULT_LINK_CONTAINMENT
    tombstone_ttl_seconds: Annotated[
        Seconds,
        Meta(
            description="How long tombstones of decided or removed page versions are kept, in seconds."
            " Batches in flight for longer are verified again."
        ),
    ] = 120.0
    pending_edges: Annotated[
        int,
        Meta(
            ge=1,
            le=4096,
            description="Most pending edges of one page that is registered but not decided yet; further"
            " ones are dropped and counted. Where id and URL together have more than 150 characters fewer"
            " have room, and one at least; a page that matches many of them leaves fewer, too. A larger"
            " number costs memory and time if many copies of such a page arrive.",
        ),
    ] = 64
