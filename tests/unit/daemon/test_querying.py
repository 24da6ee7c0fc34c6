import click
import pytest
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from neardup_daemon.inspect.page_facts import MatchFacts, PageFacts
from neardup_daemon.inspect.querying import Answer, readable

from neardup_stream.event_parts import EventCluster, Representative
from neardup_stream.stores.page_record import PageState

MATCH = MatchFacts(
    id="a",
    url="https://example.com/a",
    version=1,
    kind="near",
    distance_bits=7,
    resemblance=0.8125,
    containment=0.9,
    contained_in=0.9,
    scheme="sketch",
)
CLUSTER = EventCluster(
    id="00ff.1", epoch=1, size=2000, representative=Representative(id="a", url="a", version=1)
)


def answer(
    version: int | UnsetType = 1,
    state: PageState = "live",
    *,
    is_stored: bool = True,
    is_truncated: bool = False,
    matches: tuple[MatchFacts, ...] = (),
    frame_share: float | UnsetType = UNSET,
) -> Answer:
    page = PageFacts(
        id="page",
        url="page",
        version=version,
        is_stored=is_stored,
        state=state,
        fingerprint="1",
        scope="",
        frame_share=frame_share,
    )
    cluster = CLUSTER if matches else None
    return Answer(page=page, matches=matches, containers=(), is_truncated=is_truncated, cluster=cluster)


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        pytest.param(answer(), ["page  version 1", "  matches: 0"], id="alone"),
        pytest.param(answer(UNSET, is_stored=False), ["page  not stored", "  matches: 0"], id="not-stored"),
        pytest.param(
            answer(3, is_stored=False),
            ["page  differs from version 3, as stored", "  matches: 0"],
            id="changed",
        ),
        pytest.param(answer(2, "gone"), ["page  forgotten or expired"], id="gone"),
        pytest.param(
            answer(state="short"),
            ["page  version 1", "  too few tokens to be judged: equal to nothing"],
            id="short",
        ),
        pytest.param(
            answer(state="archived"),
            ["page  version 1", "  left to the archives: in no cluster, and equal to nothing in the index"],
            id="archived",
        ),
        pytest.param(
            answer(matches=(MATCH,), is_truncated=True),
            [
                "page  version 1",
                "  cluster 00ff.1: 2,000 in all, a represents it",
                "  matches: 1",
                "       near  81.2% alike   7 bits  https://example.com/a",
                "  and perhaps more: many pages are this near, and only some were read",
            ],
            id="matches",
        ),
        pytest.param(
            answer(matches=(replace(MATCH, view="content"), MATCH), frame_share=0.62),
            [
                "page  version 1",
                "  cluster 00ff.1: 2,000 in all, a represents it",
                "  frame of its site: 62% of the page, which is not compared",
                "  matches: 2",
                "       near  81.2% alike by content   7 bits  https://example.com/a",
                "       near  81.2% alike by whole text   7 bits  https://example.com/a",
            ],
            id="frame",
        ),
    ],
)
def test_a_person_reads_what_there_is(answer: Answer, lines: list[str]) -> None:
    assert click.unstyle(readable(answer)).splitlines() == lines
