"""What is said of pages with a frame: one case for every way in which a view decides."""

from pathlib import Path

import pytest
from msgspec import UNSET
from neardup_daemon.inspect.explaining import explain
from neardup_daemon.inspect.explanation import Explanation
from neardup_daemon.inspect.explanation_words import sentences
from neardup_daemon.inspect.page_lookup import AskedPage, place_given, read_given
from neardup_daemon.preparing import build_preparation
from neardup_daemon.settings.settings import Settings

from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.frames.table import FrameTable
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.frames import MemoryFrames
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.streams.memory.streams import numbered
from tests.doubles.tables import MemoryTables
from tests.pages_of_sites import framed_page, framed_site

SETTINGS = Settings()
KEY = bytes(16)
KNOWN, UNKNOWN = "known.example", "unknown.example"


async def frames_of(*sites: str) -> MemoryFrames:
    """Return the tables of some sites, each of 20 pages."""
    store = MemoryFrames()
    for site in sites:
        arrivals = (
            build_preparation(SETTINGS, NoMeters()).prepare(numbered(framed_site(site, 0, 20))).arrivals
        )
        lines = [arrival.lines.hashes for arrival in arrivals if arrival.lines]
        packed = FrameTable.empty().learn(lines, 1024).pack(b"stamp678")
        await store.replace([FrameChange(site_hash(site, KEY), b"", packed)])
    return store


async def placed(folder: Path, page: bytes, frames: MemoryFrames) -> AskedPage:
    (folder / "page.json").write_bytes(page)
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig()))
    stores = PageStores(index, MemoryRecords(), Unclustered(MemoryClusters()), KEY, FormerVersions())
    given = read_given(str(folder / "page.json"), SETTINGS)
    return await place_given(given, SETTINGS, stores, frames)


async def explained(folder: Path, first: bytes, second: bytes) -> Explanation:
    frames = await frames_of(KNOWN)
    pages = [await placed(folder, page, frames) for page in (first, second)]
    turned = explain(pages[1], pages[0], SETTINGS, (None, None))
    explanation = explain(pages[0], pages[1], SETTINGS, (None, None))
    assert (turned.verdict, turned.view, turned.is_match) == (
        explanation.verdict,
        explanation.view,
        explanation.is_match,
    )
    return explanation


def at(path: str, page: bytes) -> bytes:
    """Return the same page under another address."""
    head, _, rest = page.partition(b'","html"')
    return head.rpartition(b"/")[0] + b"/" + path.encode() + b'","html"' + rest


async def test_copies_of_one_content_match_by_content(tmp_path: Path) -> None:
    explanation = await explained(
        tmp_path, framed_page(KNOWN, "news"), at("copy", framed_page(KNOWN, "news", edits=3))
    )

    assert (explanation.verdict, explanation.view, explanation.is_match) == ("near", "content", True)
    assert explanation.first.frame_share == explanation.second.frame_share == 0.8
    words = sentences(explanation)
    assert words[0].startswith("They match by content, without the frames of their sites: resemblance 0.9")
    assert "verdict.content_containment (0.73)" in words[0]
    assert "Of the first page 0.80 is frame; of the second 0.80 is frame (share of shingles)." in words
    assert explanation.estimated is not UNSET
    assert (
        abs(explanation.estimated.first_in_second - 55 / 58) < 4 * explanation.estimated.first_in_second_error
    )


async def test_different_pages_of_one_site_do_not_match_by_their_frame(tmp_path: Path) -> None:
    explanation = await explained(
        tmp_path, framed_page(KNOWN, "one", words=30), framed_page(KNOWN, "two", words=30)
    )

    assert (explanation.verdict, explanation.view, explanation.is_match) == ("unlike", "content", False)
    assert explanation.whole_texts is not UNSET
    assert explanation.whole_texts.first_in_second > explanation.thresholds.near_containment
    first = sentences(explanation)[0]
    assert "By content, without the frames of their sites: resemblance 0.0" in first
    assert "By whole text: only " in first
    assert "less than 0.90 (about the same share of both pages is known as frame)" in first


async def test_a_copy_of_a_page_whose_frame_was_not_known_matches_by_whole_text(tmp_path: Path) -> None:
    first = framed_page(KNOWN, "news")
    second = first.replace(f"https://{KNOWN}".encode(), f"https://{UNKNOWN}".encode()).replace(
        b"entry 3", b"x"
    )

    explanation = await explained(tmp_path, first, second)

    assert (explanation.verdict, explanation.view, explanation.is_match) == ("near", "whole", True)
    assert "frame_share" not in repr(explanation.second) or explanation.second.frame_share is UNSET
    words = sentences(explanation)
    assert words[0].startswith("They match by whole text: resemblance 0.9")
    assert "(only the first page has a known frame)" in words[0]
    assert explanation.estimated is not UNSET
    assert explanation.whole_texts is not UNSET
    assert explanation.estimated.resemblance == explanation.whole_texts.resemblance
    assert 0 < explanation.estimated.resemblance_error < 0.07
    assert not any(sentence.startswith("Estimated, of the contents") for sentence in words)


async def test_the_errors_of_whole_texts_are_those_of_the_bins_that_are_kept(tmp_path: Path) -> None:
    """64 of 160 bins err more."""
    page, edited = (framed_page(KNOWN, "news", words=600, edits=edits) for edits in (0, 60))
    unframed = at("x", edited).replace(f"https://{KNOWN}".encode(), f"https://{UNKNOWN}".encode())

    whole = await explained(tmp_path, page, unframed)
    content = await explained(tmp_path, page, at("x", edited))

    assert (whole.view, content.view) == ("whole", "content")
    assert whole.estimated is not UNSET
    assert content.estimated is not UNSET
    assert whole.estimated.resemblance_error > 1.3 * content.estimated.resemblance_error


async def test_a_match_by_whole_text_is_estimated_by_that_and_counts_with_less(tmp_path: Path) -> None:
    """Nearly half of each page is frame, and three tenths of the contents differ."""
    page, edited = (framed_page(KNOWN, "news", words=300, edits=edits) for edits in (0, 90))

    explanation = await explained(tmp_path, page, at("x", edited))

    estimated, counted = explanation.estimated, explanation.counted
    whole, exact = explanation.whole_texts, explanation.exact
    assert (explanation.view, explanation.is_match) == ("whole", True)
    assert estimated is not UNSET
    assert counted is not UNSET
    assert whole is not UNSET
    assert exact is not UNSET
    for name in ("first_in_second", "second_in_first"):
        assert getattr(estimated, name) == getattr(whole, name)
        assert abs(getattr(estimated, name) - getattr(exact, name)) < 2 * getattr(estimated, f"{name}_error")
    assert counted.first_in_second == whole.first_content_in_second < explanation.thresholds.link_containment
    assert counted.second_in_first == whole.second_content_in_first < estimated.second_in_first
    words = sentences(explanation)
    assert any(sentence.startswith("The match counts with 0.73 of the first inside") for sentence in words)
    assert any(
        sentence.startswith(
            "The match is not firm: it counts with 0.73 of one page inside the other, less than"
            " clusters.link_containment (0.775)."
        )
        for sentence in words
    )


async def test_a_match_by_content_counts_with_what_is_estimated(tmp_path: Path) -> None:
    explanation = await explained(
        tmp_path, framed_page(KNOWN, "news"), at("copy", framed_page(KNOWN, "news", edits=3))
    )

    estimated, counted = explanation.estimated, explanation.counted
    assert estimated is not UNSET
    assert counted is not UNSET
    assert counted.first_in_second == estimated.first_in_second
    assert not any(sentence.startswith("The match counts with") for sentence in sentences(explanation))


async def test_short_pages_match_by_their_whole_texts(tmp_path: Path) -> None:
    """More of them is frame than not, but the samples do not show that with certainty."""
    explanation = await explained(tmp_path, short_page("a", "one"), short_page("b", "one", edits=3))

    assert (explanation.verdict, explanation.view) == ("near", "whole")
    assert explanation.whole_texts is not UNSET
    assert explanation.whole_texts.are_short
    assert sentences(explanation)[0].startswith(
        "They match by whole text: both are short, of at most 110 shingles"
    )


async def test_short_pages_that_have_only_their_frame_in_common_do_not_match(tmp_path: Path) -> None:
    explanation = await explained(tmp_path, short_page("a", "one"), short_page("b", "two"))

    assert explanation.verdict == "unlike"
    assert explanation.whole_texts is not UNSET
    assert min(explanation.whole_texts.first_in_second, explanation.whole_texts.second_in_first) >= 0.8
    assert (
        "both are short, of at most 110 shingles, but 0.00 of one content inside the other whole text is less"
        " than 0.2" in sentences(explanation)[0]
    )


async def test_pages_of_next_to_no_content_match_by_nearly_equal_whole_texts(tmp_path: Path) -> None:
    explanation = await explained(
        tmp_path, framed_page(KNOWN, "one", words=8), at("x", framed_page(KNOWN, "two", words=8))
    )

    assert (explanation.verdict, explanation.view) == ("near", "whole")
    assert explanation.whole_texts is not UNSET
    assert explanation.whole_texts.are_empty
    assert sentences(explanation)[0].startswith(
        "They match by whole text: beside their frames both have fewer than 8 shingles, and 0.9"
    )
    assert sentences(explanation)[0].endswith("of either is inside the other, at least 0.95.")


async def test_of_other_pages_of_next_to_no_content_it_is_said_how_alike_they_must_be(tmp_path: Path) -> None:
    explanation = await explained(
        tmp_path, framed_page(KNOWN, "one", words=8), at("x", short_page("b", "two", words=8))
    )

    assert (explanation.verdict, explanation.is_match) == ("unlike", False)
    assert "beside their frames both have fewer than 8 shingles, but 0." in sentences(explanation)[0]


async def test_a_page_of_next_to_no_content_is_not_compared_by_content(tmp_path: Path) -> None:
    explanation = await explained(
        tmp_path, framed_page(KNOWN, "one", words=8), at("x", framed_page(KNOWN, "two", words=60))
    )

    assert (explanation.verdict, explanation.first.content_shingles) == ("unlike", 6)
    assert "beside its frame the first has 6 shingles, fewer than 8" in sentences(explanation)[0]


async def test_what_lies_inside_another_content_is_contained(tmp_path: Path) -> None:
    part = framed_page(KNOWN, "news", words=60)
    whole = at("whole", framed_page(KNOWN, "news", words=400))

    explanation = await explained(tmp_path, part, whole)

    assert (explanation.verdict, explanation.view) == ("contained", "content")
    assert sentences(explanation)[0].startswith(
        "No match: without the frames of their sites, one is inside the other"
    )


async def test_given_pages_without_index_say_that_frames_were_not_looked_up(tmp_path: Path) -> None:
    (tmp_path / "page.json").write_bytes(framed_page(KNOWN, "one"))
    page = read_given(str(tmp_path / "page.json"), SETTINGS)

    explanation = explain(page, page, SETTINGS)

    assert explanation.frames_unknown
    assert (
        "They are compared with the frames of their sites, if any: no index was asked for those."
        in sentences(explanation)
    )


@pytest.mark.parametrize(
    ("stored_first", "is_unknown"), [(True, True), (False, False)], ids=["stored", "given"]
)
async def test_bands_that_a_stored_page_looked_for_are_not_known(
    tmp_path: Path, *, stored_first: bool, is_unknown: bool
) -> None:
    """A long page with a frame, and a page that is stored by its whole text."""
    frames = await frames_of(KNOWN)
    first = await placed(tmp_path, framed_page(KNOWN, "news"), frames)
    second = await placed(tmp_path, framed_page(UNKNOWN, "news"), frames)
    if stored_first:
        first = first._replace(arrival=None)

    explanation = explain(first, second, SETTINGS, (None, None))

    assert explanation.tables is not UNSET
    assert (explanation.tables.whole_bands_unknown, explanation.tables.may_meet) == (is_unknown, True)


def short_page(path: str, name: str, words: int = 12, edits: int = 0) -> bytes:
    """Return a few lines of the frame of a known site, and a few words of its own."""
    page = framed_page(KNOWN, name, words=words, edits=edits)
    head, _, rest = page.partition(b"<li>menu entry 7")
    _, _, rest = rest.partition(b"</ul>")
    body, _, _ = rest.partition(b"<footer>")
    return at(path, head + b"</ul>" + body + b'"}')
