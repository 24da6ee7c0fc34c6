"""What `verify` prints about a history."""

import dataclasses

import click
import msgspec
import pytest
from neardup_daemon.inspect.verification import readable, verified
from neardup_daemon.inspect.verifying import Reading, expectations_of
from neardup_daemon.settings.settings import Settings

from neardup_stream.invariants.history import Expectations, History
from neardup_stream.match import Match, MatchKind
from neardup_stream.page import Handle, PageId
from tests.page_histories import page_url
from tests.sound_history import (
    CLUSTERED,
    RECORDS,
    sound_expectations,
    sound_history,
    with_record,
    without_record,
)


def lines(history: History, **expected: bool) -> list[str]:
    expectations = dataclasses.replace(sound_expectations(), **expected)  # type: ignore[arg-type] # flags alone
    return click.unstyle(readable(verified(Reading(history, expectations)))).splitlines()


def test_a_sound_history_is_eight_times_held() -> None:
    verification = verified(Reading(sound_history(), sound_expectations()))

    assert verification.is_held
    assert (verification.records, verification.finished) == (len(RECORDS), len(RECORDS))
    assert (verification.clusters, verification.dead_letters) == (len(CLUSTERED), 1)
    assert [line.split()[-1] for line in lines(sound_history())[1:]] == ["held"] * 8


def test_a_violation_is_counted_and_shown() -> None:
    history = without_record(sound_history(), 5)

    assert not verified(Reading(history, sound_expectations())).is_held
    assert [line for line in lines(history) if "violation" in line or page_url(5) in line] == [
        "  1  every finished record has one outcome   2 violations",
        f"       pages-0@5 has no event, and there is no record of page {page_url(5)}",
        f"       pages-0@6 has no event, and there is no record of page {page_url(5)}",
    ]


@pytest.mark.parametrize(("count", "last"), [(4, "never decided"), (5, "never decided"), (6, "and 1 more")])
def test_of_many_violations_the_first_five_are_shown(count: int, last: str) -> None:
    history = sound_history()
    for page in (0, 1, 2, 3, 4, 5)[:count]:
        history = with_record(history, page, rank=0)

    shown = lines(history)

    begin = next(i for i, line in enumerate(shown) if line.startswith("  6 "))
    end = next(i for i, line in enumerate(shown) if line.startswith("  7 "))
    violations = shown[begin + 1 : end]
    assert len(violations) == min(count, 6)
    assert violations[-1].strip().endswith(last.replace("never decided", "is not decided"))


def test_what_was_not_judged_says_why_and_is_no_violation() -> None:
    shown = lines(sound_history(), is_quiet=False)

    assert [line for line in shown if "not judged" in line] == [
        "  4  events add up to what is stored         not judged: batches are in flight",
        "  5  pages that match are together           not judged: batches are in flight",
        "  8  members of a cluster match              not judged: batches are in flight",
    ]
    busy = dataclasses.replace(sound_expectations(), is_quiet=False)
    assert verified(Reading(sound_history(), busy)).is_held


def test_as_json_every_violation_is_there() -> None:
    history = without_record(sound_history(), 5)

    as_json = msgspec.json.decode(msgspec.json.encode(verified(Reading(history, sound_expectations()))))

    assert [each["state"] for each in as_json["invariants"]] == ["violated"] + ["held"] * 7
    assert len(as_json["invariants"][0]["violations"]) == 2


def expected(*overrides: str, whole: bool = True) -> Expectations:
    settings = Settings.load(None, overrides, {})
    return expectations_of(settings, is_quiet=whole, events_since_ms=0, dead_letters_since_ms=0)


def match(containment: float, kind: MatchKind = "near") -> Match:
    return Match(
        Handle(1), PageId("a"), "a", 1, 3, kind, resemblance=0.6, containment=containment, contained_in=0.9
    )


@pytest.mark.parametrize(
    ("overrides", "firm", "loose"),
    [
        pytest.param(("clusters.rule=components",), True, True, id="any match connects"),
        pytest.param(("clusters.rule=linked",), True, False, id="a firm one"),
    ],
)
def test_which_matches_must_connect_follows_from_the_rule(
    overrides: tuple[str, ...], *, firm: bool, loose: bool
) -> None:
    expectations = expected(*overrides, "clusters.link_containment=0.8")

    assert expectations.matching is not None
    assert expectations.matching.links(match(0.8)) is firm
    assert expectations.matching.links(match(0.79)) is loose
    assert expectations.matching.links(match(0.1, "exact"))


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param(("clusters.rule=anchored",), id="anchors never merge"),
        pytest.param(("clusters.rule=off",), id="no clusters"),
        pytest.param(("clusters.rule=components", "verdict.policy=1"), id="judged by several policies"),
    ],
)
def test_matches_may_stand_apart(overrides: tuple[str, ...]) -> None:
    expectations = expected(*overrides)

    assert expectations.matching is None
    assert (expectations.verdict is None) == ("verdict.policy=1" in overrides)


def test_the_settings_set_what_is_published_and_kept() -> None:
    overrides = ("events.unique=true", "events.undecided=true", "retention.seconds=60", "clusters.rule=off")

    expectations = expected(*overrides, whole=False)

    assert expectations.publishes_unique
    assert expectations.publishes_undecided
    assert expectations.may_expire
    assert not expectations.keeps_clusters
    assert not expectations.is_quiet
