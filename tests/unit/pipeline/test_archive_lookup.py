"""Archives asked about pages: found by keys of every kind, judged by the rule, named from the log."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from neardup_stream.archive.keys import BANDS_ONLY, KeyKind, page_keys
from neardup_stream.pipeline.archive_lookup import AskingPage, OpenArchive, consult
from neardup_stream.pipeline.asked_keys import AskedKeys
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.freezing import keyed_record
from tests.unit.pipeline.archived_pages import SKETCH, asking, frozen, prose

VERDICT = VerdictConfig(SKETCH)
TEXTS = [prose(number) for number in range(60)]
EDITED = " ".join(["Corrected:", *TEXTS[2].split()[3:]])
FUZZY_ONLY: frozenset[KeyKind] = frozenset({"fuzzy"})
KINDS: tuple[frozenset[KeyKind], ...] = (BANDS_ONLY, FUZZY_ONLY, BANDS_ONLY | FUZZY_ONLY)

Freeze = Callable[..., OpenArchive]


@pytest.fixture(params=KINDS, ids=["bands", "fuzzy", "bands and fuzzy"])
def key_kinds(request: pytest.FixtureRequest) -> frozenset[KeyKind]:
    kinds: frozenset[KeyKind] = request.param
    return kinds


@pytest.fixture
def archive(tmp_path: Path, key_kinds: frozenset[KeyKind]) -> OpenArchive:
    return frozen(
        tmp_path / "old.nda", [asking(str(n), text) for n, text in enumerate(TEXTS)], key_kinds=key_kinds
    )


def names(archives: Sequence[OpenArchive], *pages: AskingPage, limit: int = 8) -> list[list[str]]:
    consulted = consult(pages, archives, VERDICT, limit)
    return [[each.match.id.rpartition("/")[2] for each in answer.matches] for answer in consulted.answers]


def test_copies_are_found_and_other_pages_are_not(archive: OpenArchive) -> None:
    assert names([archive], asking("x", TEXTS[1]), asking("z", prose(99))) == [["1"], []]


def test_edited_copies_are_found_by_bands_and_some_by_fuzzy_codes(archive: OpenArchive) -> None:
    edited = [asking(f"edited {n}", f"{text} Corrected") for n, text in enumerate(TEXTS)]

    found = names([archive], *edited)

    assert all(page in ([], [str(n)]) for n, page in enumerate(found))
    count = sum(map(len, found))
    assert count == len(TEXTS) if "bands" in archive.index.key_kinds else count > 0


def _key_names(page: AskingPage, archive: OpenArchive) -> dict[int, str]:
    """Return the keys of a page, by what they are made of."""
    keyed = keyed_record(*page)
    assert keyed is not None
    names = {}
    if "bands" in archive.index.key_kinds:
        for number, key in enumerate(page_keys([keyed]).keys.tolist()):
            names[key] = f"band {number - 1}"
    names[page_keys([keyed._replace(views=())]).keys.tolist()[0]] = "text"
    if archive.reference is not None:
        for number, key in enumerate(AskedKeys([keyed]).fuzzy(archive.reference).keys.tolist()):
            names[key] = f"fuzzy {number}"
    return names


def test_matches_name_the_keys_that_both_pages_have(archive: OpenArchive) -> None:
    asked = [asking(f"edited {n}", f"{text} Corrected") for n, text in enumerate(TEXTS)]
    asked[7] = asking("copy", TEXTS[7])

    answers = consult(asked, [archive], VERDICT, 8).answers

    for page, found in zip(asked, answers, strict=True):
        for match in found.matches:
            frozen_page = asking("x", TEXTS[int(match.match.id.rpartition("/")[2])])
            others = _key_names(frozen_page, archive)
            assert list(match.keys) == [
                name for key, name in _key_names(page, archive).items() if key in others
            ]
            assert match.keys
    assert answers[7].matches[0].keys[0] == "text"


def test_a_page_of_the_same_words_in_another_order_is_a_candidate_by_fuzzy_codes_only(
    archive: OpenArchive,
) -> None:
    turned = " ".join(reversed(TEXTS[5].split()))

    consulted = consult([asking("x", turned)], [archive], VERDICT, 8)

    assert consulted.candidate_count == int("fuzzy" in archive.index.key_kinds)
    assert consulted.answers[0].matches == ()


def test_a_page_whose_words_are_not_known_is_found_by_its_text_in_any_archive(archive: OpenArchive) -> None:
    assert names([archive], asking("x", TEXTS[1], has_words=False)) == [["1"]]


def test_a_match_says_how_alike_both_are_and_when_the_other_was_fetched(archive: OpenArchive) -> None:
    (answer,) = consult([asking("x", TEXTS[3])], [archive], VERDICT, 8).answers

    (found,) = answer.matches
    assert (found.match.kind, found.match.resemblance, found.match.distance_bits) == ("exact", 1.0, 0)
    assert (found.archive_name, found.fetched_ms) == ("old.nda", 3000)
    assert found.archive_id == archive.index.header.archive_id.hex()


@pytest.mark.parametrize("other_kinds", KINDS)
def test_archives_of_any_kinds_of_keys_are_asked_together_and_the_best_matches_come_first(
    archive: OpenArchive, tmp_path: Path, other_kinds: frozenset[KeyKind]
) -> None:
    copies = [asking("edited", EDITED), asking("copy", TEXTS[7])]
    newer = frozen(tmp_path / "newer.nda", copies, key_kinds=other_kinds)

    assert names([archive, newer], asking("x", EDITED))[0][0] == "edited"
    assert names([archive, newer], asking("x", EDITED), limit=1) == [["edited"]]
    assert sorted(names([archive, newer], asking("x", TEXTS[7]))[0]) == ["7", "copy"]
    assert consult([asking("x", TEXTS[7])], [archive, newer], VERDICT, 1).answers[0].total == 2


def test_forgotten_pages_match_nothing(tmp_path: Path, key_kinds: frozenset[KeyKind]) -> None:
    pages = [asking("0", TEXTS[0]), asking("1", TEXTS[1])]
    archive = frozen(tmp_path / "gone.nda", pages, 0, key_kinds=key_kinds)

    assert names([archive], asking("x", TEXTS[0]), asking("y", TEXTS[1])) == [[], ["1"]]


def test_pages_match_within_their_scope_only(tmp_path: Path, key_kinds: frozenset[KeyKind]) -> None:
    archive = frozen(
        tmp_path / "scoped.nda",
        [asking("0", TEXTS[0], scope="a"), asking("1", TEXTS[1])],
        key_kinds=key_kinds,
    )

    found = names(
        [archive],
        asking("x", TEXTS[0], scope="a"),
        asking("y", TEXTS[0], scope="b"),
        asking("z", TEXTS[1], scope="b"),
    )

    assert found == [["0"], [], []]


def test_pages_too_short_to_be_judged_match_nothing_and_are_not_found(
    tmp_path: Path, key_kinds: frozenset[KeyKind]
) -> None:
    pages = [asking("0", TEXTS[0], is_short=True), asking("1", TEXTS[1])]
    archive = frozen(tmp_path / "short.nda", pages, key_kinds=key_kinds)

    assert names([archive], asking("x", TEXTS[0]), asking("y", TEXTS[1], is_short=True)) == [[], []]


def test_an_archive_without_pages_finds_nothing(tmp_path: Path, key_kinds: frozenset[KeyKind]) -> None:
    empty = frozen(tmp_path / "empty.nda", [], key_kinds=key_kinds)

    assert names([empty], asking("x", TEXTS[0])) == [[]]


def test_a_batch_without_pages_gets_no_result(archive: OpenArchive) -> None:
    assert consult([], [archive], VERDICT, 8).answers == []
