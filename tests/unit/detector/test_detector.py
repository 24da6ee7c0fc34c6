"""The library's detector: what it says of pages is what the stream would say of them."""

import asyncio
from collections import Counter
from threading import Barrier
from typing import Any

import pytest

from neardup_stream import (
    Detector,
    DetectorConfig,
    Page,
    PageId,
    PageVerdict,
    VerdictConfig,
    hamming_distance,
    simhash,
)
from neardup_stream.clusters.rules import components
from neardup_stream.errors import BadPage
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json

TEXT, EDITED = essay(1), essay(1, edits=[50])


def by_id(verdicts: list[PageVerdict]) -> dict[str, PageVerdict]:
    return {verdict.page_id: verdict for verdict in verdicts}


async def test_each_page_gets_its_class_and_the_representative_of_its_cluster() -> None:
    detector = Detector()

    first = by_id(await detector.add({"a": TEXT, "b": essay(2), "c": TEXT.upper()}))
    later = by_id(await detector.add({"d": EDITED, "short": "two words", "whole": TEXT + " " + essay(3)}))

    assert {name: verdict.kind for name, verdict in (first | later).items()} == {
        "a": "unique",
        "b": "unique",
        "c": "exact",
        "d": "near",
        "short": "undecided",
        "whole": "contained",
    }
    assert [match.id for match in later["d"].matches] == ["a", "c"]
    assert {name: verdict.representative for name, verdict in (first | later).items()} == {
        "a": "a",
        "b": "b",
        "c": "a",
        "d": "a",
        "short": None,
        "whole": "whole",
    }
    assert first["c"].cluster == later["d"].cluster == first["a"].cluster
    assert [verdict.is_duplicate for verdict in later.values()] == [True, False, False]
    assert [match.id for match in later["whole"].containers][:1] == ["a"]


@pytest.mark.parametrize("distance_bits", [0, 3, 7, 9])
async def test_without_a_sketch_pages_match_within_a_distance_of_their_simhashes(distance_bits: int) -> None:
    texts = {f"page {count}": essay(1, edits=range(10, 10 + count)) for count in range(12)}
    detector = Detector(DetectorConfig(verdict=VerdictConfig(None, distance_bits)))

    for page_id, verdict in by_id(await detector.add(texts)).items():
        earlier = list(texts)[: list(texts).index(page_id)]
        distances = {
            each: hamming_distance(simhash(texts[page_id]), simhash(texts[each])) for each in earlier
        }
        near = {each for each, distance in distances.items() if distance <= distance_bits}
        assert {match.id for match in verdict.matches} == near


async def test_verdicts_come_in_the_order_of_the_pages() -> None:
    verdicts = await Detector().add({name: essay(number) for number, name in enumerate("dcba")})

    assert [verdict.page_id for verdict in verdicts] == ["d", "c", "b", "a"]


async def test_a_query_keeps_nothing() -> None:
    detector = Detector()
    await detector.add({"a": TEXT})

    asked = by_id(await detector.query({"b": EDITED, "c": essay(2), "short": "two words"}))

    assert [(asked[name].kind, asked[name].representative) for name in ("b", "c", "short")] == [
        ("near", "a"),
        ("unique", None),
        ("undecided", None),
    ]
    assert (await detector.add({"c": essay(2)}))[0].kind == "unique"


async def test_a_page_with_its_former_text_is_unchanged_and_with_another_one_is_compared_anew() -> None:
    detector = Detector()
    await detector.add({"a": TEXT, "b": EDITED})

    (same,) = await detector.add({"b": EDITED})
    (changed,) = await detector.add({"b": essay(2)})
    (later,) = await detector.add({"c": EDITED})

    assert (same.kind, same.representative) == ("unchanged", "a")
    assert (changed.kind, changed.representative) == ("unique", "b")
    assert [match.id for match in later.matches] == ["a"]


async def test_an_id_may_come_repeatedly_in_one_call() -> None:
    pages = [
        Page(id=PageId("a"), url="https://a.example/", fetched_at_seconds=0, text=text)
        for text in (TEXT, essay(2), TEXT)
    ]

    verdicts = await Detector().add_pages(pages)

    assert [verdict.kind for verdict in verdicts] == ["unique", "unique", "unique"]


async def test_a_text_that_another_one_of_its_page_replaced_in_the_call_is_in_no_cluster() -> None:
    detector = Detector()
    await detector.add({"x": TEXT})
    pages = [
        Page(id=PageId(page_id), url="https://a.example/", fetched_at_seconds=0, text=text)
        for page_id, texts in {
            "a": ["too short", TEXT],
            "b": [TEXT, essay(2)],
            "c": [TEXT, "short now"],
        }.items()
        for text in texts
    ]

    verdicts = await detector.add_pages(pages)

    assert [(each.kind, each.representative, each.cluster is None) for each in verdicts] == [
        ("undecided", None, True),
        ("exact", "x", False),
        ("exact", None, True),
        ("unique", "b", False),
        ("exact", None, True),
        ("undecided", None, True),
    ]


async def test_of_a_forgotten_representative_another_member_takes_the_place() -> None:
    detector = Detector()
    await detector.add({"a": TEXT, "b": EDITED})

    await detector.forget(["a", "never added", "a"])
    (later,) = await detector.add({"c": TEXT})

    assert [match.id for match in later.matches] == ["b"]
    assert later.representative == "b"


async def test_markup_is_extracted() -> None:
    html = f"<html><body><script>no()</script><p>{TEXT}</p></body></html>"
    page = Page(id=PageId("b"), url="https://b.example/", fetched_at_seconds=0, html=html)
    detector = Detector()
    await detector.add({"a": TEXT})

    (verdict,) = await detector.add_pages([page])

    assert (verdict.kind, verdict.matches[0].id) == ("exact", "a")


async def test_of_a_call_with_an_impossible_page_nothing_is_kept() -> None:
    detector = Detector()
    broken = Page(id=PageId("b"), url="b", fetched_at_seconds=0, html="<b>" * 2000 + TEXT)
    fine = Page(id=PageId("a"), url="a", fetched_at_seconds=0, text=TEXT)

    with pytest.raises(BadPage):
        await detector.add_pages([fine, broken])

    assert (await detector.query({"c": TEXT}))[0].kind == "unique"


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        pytest.param({}, "has none of html, text and body", id="none"),
        pytest.param({"html": TEXT, "text": TEXT}, "has html and text of html, text and body", id="two"),
    ],
)
async def test_a_page_with_none_or_several_contents_is_refused_as_the_stream_refuses_it(
    content: dict[str, str], detail: str
) -> None:
    detector = Detector()
    fine = Page(id=PageId("a"), url="a", fetched_at_seconds=0, text=TEXT)
    bad = Page(id=PageId("b"), url="b", fetched_at_seconds=0, **content)  # type: ignore[arg-type]

    with pytest.raises(BadPage, match=f"not_one_body: {detail}"):
        await detector.add_pages([fine, bad])

    assert (await detector.query({"c": TEXT}))[0].kind == "unique"


async def test_an_id_with_half_of_a_character_is_refused_and_changes_nothing() -> None:
    detector = Detector()
    await detector.add({"page": TEXT})

    with pytest.raises(BadPage, match="lone_surrogate"):
        await detector.add({"other": TEXT, "half \ud800": TEXT})
    with pytest.raises(BadPage, match="lone_surrogate"):
        await detector.forget(["page", "half \ud800"])

    (found,) = await detector.query({"c": TEXT})
    assert [match.id for match in found.matches] == ["page"]


@pytest.mark.parametrize("texts", [{"page": None}, {"page": b"bytes"}, {"": "a text"}, {7: "a text"}])
async def test_what_is_no_text_of_a_page_is_refused_and_changes_nothing(texts: Any) -> None:
    detector = Detector()
    (first,) = await detector.add({"page": TEXT})

    with pytest.raises(TypeError, match="a page id is a string that is not empty, and a text is a string"):
        await detector.add(texts)
    with pytest.raises(TypeError, match=r"give several page ids: \['page'\]"):
        await detector.forget("page")

    (copy,) = await detector.add({"copy": TEXT})
    assert (first.kind, copy.representative) == ("unique", "page")


async def test_nothing_may_be_added() -> None:
    detector = Detector()

    assert await detector.add({}) == await detector.query({}) == []
    await detector.forget([])


async def test_calls_of_several_tasks_wait_for_each_other() -> None:
    detector = Detector()

    calls = (detector.add({f"{number}": essay(1, edits=[number])}) for number in range(8))
    verdicts = [verdict for call in await asyncio.gather(*calls) for verdict in call]

    assert [verdict.kind for verdict in verdicts] == ["unique"] + ["near"] * 7
    assert {verdict.representative for verdict in verdicts} == {verdicts[0].page_id}


async def test_calls_of_several_loops_wait_for_each_other() -> None:
    detector, all_ready = Detector(), Barrier(3)

    def add(number: int) -> list[PageVerdict]:
        async def call() -> list[PageVerdict]:
            return await detector.add({f"{number} {edit}": essay(1, edits=[edit]) for edit in range(100)})

        all_ready.wait()
        return asyncio.run(call())

    calls = [asyncio.to_thread(add, number) for number in range(3)]
    verdicts = [verdict for call in await asyncio.gather(*calls) for verdict in call]

    assert Counter(verdict.kind for verdict in verdicts) == {"unique": 1, "near": 99, "exact": 200}
    (representative,) = {verdict.representative for verdict in verdicts}
    assert (await detector.query({"asked": essay(1)}))[0].representative == representative


async def test_a_config_replaces_thresholds_and_the_rule() -> None:
    config = DetectorConfig(rule=components)
    strict = DetectorConfig(verdict=VerdictConfig(near_containment=1, near_resemblance=1))

    for each, kind in ((config, "near"), (strict, "contained")):
        detector = Detector(each)
        await detector.add({"a": TEXT})
        assert (await detector.add({"b": EDITED}))[0].kind == kind


async def test_it_finds_what_the_stream_finds() -> None:
    texts = {f"{n}": essay(n % 5, edits=range(3 * (n // 5) % 40)) for n in range(40)}
    pipeline = Pipeline()
    source = [page_json(name, text, id=name) for name, text in texts.items()]

    verdicts = await Detector(DetectorConfig(rule=components)).add(texts)
    async with MemorySource(numbered(source)) as pages:
        await pipeline.loop(pages).run(asyncio.Event())

    found = {verdict.page_id: {match.id for match in verdict.matches} for verdict in verdicts}
    streamed = {page: set(matches) for page, matches in pipeline.pairs()}
    assert {page: matches for page, matches in found.items() if matches} == streamed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda each: each.add(["a text"]), "expected a mapping of page ids to texts, got list"),
        (lambda each: each.query("a text"), "expected a mapping of page ids to texts, got str"),
        (lambda each: each.add_pages(["a page"]), r"expected pages \(neardup_stream\.Page\), got str"),
    ],
    ids=["add", "query", "add_pages"],
)
async def test_arguments_of_another_type_are_refused_by_the_name_of_what_is_expected(
    call: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        await call(Detector())
