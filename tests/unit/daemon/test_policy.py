from pathlib import Path

import pytest
from neardup_daemon.policy import policy
from neardup_daemon.settings.settings import Settings

from tests.archives import build_archive, frozen_page


def policy_of(*overrides: str) -> object:
    return policy(Settings.load(None, overrides, {}))


@pytest.mark.parametrize(
    "override",
    [
        "verdict.near_resemblance=0.6",
        "verdict.near_containment=0.6",
        "verdict.contained_containment=0.6",
        "clusters.rule=components",
        "clusters.link_containment=0.6",
        "index.bucket_cap=77",
        "verdict.policy=1",
    ],
)
def test_what_changes_verdicts_makes_another_policy(override: str) -> None:
    assert policy_of(override) != policy_of()


@pytest.mark.parametrize(
    "override",
    [
        "verdict.matches_limit=7",
        "clusters.tombstone_ttl_seconds=7",
        "retention.seconds=7",
        "events.unique=true",
        "pipeline.max_batch_pages=7",
    ],
)
def test_what_changes_no_verdict_is_left_to_each_daemon(override: str) -> None:
    assert policy_of(override) == policy_of()


def test_archives_count_where_a_match_decides(tmp_path: Path) -> None:
    for name, numbers in (("one", (1, 2)), ("other", (3,))):
        build_archive(tmp_path / name, [frozen_page(number) for number in numbers])
    one, other = (f"archive.files={tmp_path / name}" for name in ("one", "other"))
    skip = "archive.on_match=skip"

    assert policy_of(one) == policy_of(other) == policy_of()
    assert policy_of(one, skip) == policy_of(one, skip) != policy_of(other, skip)
    assert policy_of(skip) == policy_of()


@pytest.mark.parametrize(
    ("idle", "override"),
    [
        ("clusters.rule=anchored", "clusters.link_containment=0.6"),
        ("verdict.scheme=simhash", "verdict.near_resemblance=0.6"),
    ],
    ids=["a-threshold-of-another-rule", "a-threshold-of-sketches-without-sketches"],
)
def test_what_is_not_looked_at_does_not_count(idle: str, override: str) -> None:
    assert policy_of(idle, override) == policy_of(idle)
