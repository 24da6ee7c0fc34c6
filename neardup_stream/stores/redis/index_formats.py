"""Report how an index of other settings or another release differs, with the remedy."""

from collections.abc import Iterator, Mapping
from typing import Final

from neardup_stream.version import __version__

__all__ = ["differences_of", "explain_difference", "planned_pages"]

Fields = Mapping[str, object]

_FORMAT: Final = "entry_format"
_UNRELEASED: Final = 6
"""The format of the first release; indexes of earlier formats were written by versions before it."""

_SETTINGS: Final = {
    "bands": "index.bands",
    "blocks": "index.blocks",
    "distance_bits": "index.distance_bits",
    "extraction": "text.extraction",
    "min_tokens": "verdict.min_tokens",
    "scope": "verdict.scope",
    "shards": "index.shards",
    "shingle_tokens": "sketch.shingle_tokens",
    "sketch": "verdict.scheme",
    "sketch_bins": "sketch.bins",
    "sketch_code_bits": "sketch.code_bits",
    "substrings": "index.substrings",
    "window_tokens": "text.window_tokens",
}
"""The setting that decides each field of a schema; the other fields follow from these or from the release."""

_SCHEMES: Final[Mapping[object, str]] = {"none": "simhash", "one-permutation": "sketch"}
_SKETCHED: Final = frozenset(
    {"bands", "band_bins", "shingles", "shingle_tokens", "sketch_bins", "sketch_code_bits"}
)
"""Fields that are there with `verdict.scheme` "sketch" alone."""

_PLAN: Final = frozenset({"bucket_bits", "slot_bits", "cluster_slot_bits"})
"""Fields that follow from `index.expected_pages`, and from `index.shards` and `index.blocks`."""

_OF_TABLES: Final = frozenset({"index.expected_pages", "index.blocks", "index.substrings"})
"""The settings that `rebuild --into` changes."""

_RECORD_FILL_BITS: Final = 5
_CLUSTER_FILL_BITS: Final = 6
"""Of `indexes.layout`: page records of a hash, and pages of a hash of clusters; a test compares them."""


def explain_difference(namespace: str, stored: Fields, ours: Fields, created_by: str) -> str:
    """Return why this index cannot be used, and the remedy; empty if nothing differs.

    Args:
        namespace: where it is.
        stored: the schema it was made with.
        ours: the schema of this process.
        created_by: the release that made it; empty if it does not say.
    """
    if stored == ours:
        return ""
    if stored.get(_FORMAT) == ours.get(_FORMAT):
        settings = dict(_settings_of(stored, ours))
        remedy = (
            "use those, and 'neardup-stream rebuild --into PAGES' with them, which lays the tables out for"
            " another number of pages while daemons run; or take another namespace"
            if settings and settings.keys() <= _OF_TABLES
            else "use those, or another namespace"
        )
        return (
            f"the index under redis.namespace {namespace!r} was made with other settings: "
            f"{'; '.join(settings.values())}; {remedy}"
        )
    return (
        f"the index under redis.namespace {namespace!r} has format {stored.get(_FORMAT)} and was made by"
        f" {_release(stored, created_by)}; neardup-stream {__version__} reads and writes format"
        f" {ours.get(_FORMAT)}, and does not convert. Fill a new index from the"
        " pages topic: set redis.namespace to a free name,"
        ' kafka.group_id to a new group and kafka.first_start = "earliest"; or run the release that made it.'
        " docs/upgrading.md has every step"
    )


def planned_pages(schema: Fields) -> tuple[int, int]:
    """Return the least and the greatest `index.expected_pages` that give the schema its layout."""
    numbers = {name: number for name, number in schema.items() if isinstance(number, int)}
    slot_bits, shard_bits = numbers.get("slot_bits", 0), numbers.get("shards", 1).bit_length() - 1
    if slot_bits:
        bits = slot_bits + shard_bits + _RECORD_FILL_BITS
        return (1 << bits - 1) + 1, 1 << bits
    most = 1 << shard_bits + _RECORD_FILL_BITS
    cluster_bits = numbers.get("cluster_slot_bits")
    if cluster_bits is None:
        return 1, most
    bits = cluster_bits + _CLUSTER_FILL_BITS
    return (1 << bits - 1) + 1 if cluster_bits else 1, min(most, 1 << bits)


def _release(stored: Fields, created_by: str) -> str:
    if created_by:
        return f"neardup-stream {created_by}"
    number = stored.get(_FORMAT)
    if isinstance(number, int) and number < _UNRELEASED:
        return "a version before the first release"
    return "another release"


def _settings_of(stored: Fields, ours: Fields) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting that differs, with a phrase that has both values."""
    if planned_pages(stored) != planned_pages(ours):
        there, here = (f"{least} to {most}" for least, most in (planned_pages(stored), planned_pages(ours)))
        yield "index.expected_pages", f"index.expected_pages is {there} there and {here} here"
    ignored = _PLAN | (_SKETCHED if stored.get("sketch") != ours.get("sketch") else set())
    for field in sorted({*stored, *ours} - ignored):
        there, here = (_value(field, schema) for schema in (stored, ours))
        if there != here:
            name = _SETTINGS.get(field, field)
            yield name, f"{name} is {there} there and {here} here"


def _value(field: str, schema: Fields) -> str:
    """Return the value of the setting that decides a field."""
    value = schema.get(field)
    if field == "substrings" and value is None:  # of one, indexes say nothing
        return "1"
    return repr(_SCHEMES.get(value, value) if field == "sketch" else value)


def differences_of(stored: Fields, ours: Fields) -> Iterator[str]:
    """Yield each setting that differs, with both values."""
    for field in sorted({*stored, *ours}):
        if stored.get(field) != ours.get(field):
            there, here = (
                "not set" if each.get(field) is None else repr(each[field]) for each in (stored, ours)
            )
            yield f"{field} is {there} there and {here} here"
