"""Define how a detector compares pages."""

from dataclasses import dataclass, field

from neardup_stream.clusters.rules import DEFAULT_LINK_CONTAINMENT, Rule, linked
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout, permuted_within
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.text.arguments import whole_number

__all__ = ["DetectorConfig"]


@dataclass(frozen=True, slots=True)
class DetectorConfig:
    """How a detector compares pages; the defaults are those of the daemon.

    Attributes:
        expected_pages: the most that will be kept; sets the width of the buckets.
        simhash: window of the simhash, and the fewest tokens of a page that is compared.
        sketch: shingles and bins of the sketches, and how many bands are indexed.
        verdict: when two pages match; None for the usual thresholds. One without a sketch compares simhashes
            alone; the more bits those may differ in, the more tables there are, 256 at most.
        rule: which matching pages share a cluster.
    """

    expected_pages: int = 1_000_000
    simhash: SimhashConfig = field(default_factory=SimhashConfig)
    sketch: SketchConfig = field(default_factory=SketchConfig)
    verdict: VerdictConfig | None = None
    rule: Rule = linked(DEFAULT_LINK_CONTAINMENT)  # noqa: RUF009 - frozen, so one default serves all

    def __post_init__(self) -> None:
        """Refuse what a detector could not work with, as thresholds for sketches that are not made.

        Raises:
            ConfigError: the sketches of `verdict` are others than `sketch`, or `expected_pages` is out of its
                range, or takes too many tables.
            TypeError: `expected_pages` is no whole number, or `rule` cannot be called.
        """
        whole_number("expected_pages", self.expected_pages)
        if not callable(self.rule):
            raise TypeError(f"rule is {self.rule!r}, must be a function of neardup_stream.clusters.rules")
        if self.verdict is not None and self.verdict.sketch not in (None, self.sketch):
            raise ConfigError(f"the verdict is for {self.verdict.sketch}, and sketch is {self.sketch}")
        self.layout()

    def thresholds(self) -> VerdictConfig:
        """Return when two pages match."""
        return self.verdict or VerdictConfig(self.sketch)

    def layout(self) -> IndexLayout:
        """Return the layout of the index.

        Raises:
            ConfigError: `expected_pages` is out of its range, or takes too many tables.
        """
        pages, verdict = self.expected_pages, self.thresholds()
        if verdict.sketch is None:
            return IndexLayout(IndexConfig(permuted_within(verdict.distance_bits, pages), pages))
        return IndexLayout(IndexConfig(expected_pages=pages, bands=verdict.sketch.bands))
