"""Plans of an index: what they predict is what the sketches do, and what the tables are laid out for."""

import random
import re
import tomllib

import msgspec
import numpy as np
import pytest
from click import unstyle
from click.testing import CliRunner
from neardup_daemon.capacity.cluster_slot import CLUSTER_MICROSECONDS
from neardup_daemon.capacity.layouts import layout_costs, layout_for
from neardup_daemon.capacity.machines import cost_per_page
from neardup_daemon.capacity.planned import Corpus, IndexPlan, plan_index
from neardup_daemon.capacity.recall import recall_of_edits, resemblance_after_edits
from neardup_daemon.capacity.report import readable
from neardup_daemon.commands.plan import plan as plan_command
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig, containments, estimate_resemblances
from neardup_stream.indexes.layout import IndexConfig, IndexLayout

WORDS, PAIRS = 500, 1000
SKETCH = SketchConfig()

CORPUS = Corpus(
    pages=500_000_000,
    rate=5000,
    words=600,
    html_bytes=0,
    url_bytes=60,
    linked_share=0.3,
    framed_share=1.0,
    recall_at=20,
    master_bytes=64 << 30,
)


def settings_of(*overrides: str) -> Settings:
    return Settings.load(None, list(overrides), {})


def edited(words: list[str], count: int, draw: random.Random) -> list[str]:
    """Return the same page, with so many words replaced by words that occur nowhere else."""
    copy = list(words)
    for place in draw.sample(range(len(words)), count):
        copy[place] = f"edited{draw.getrandbits(64)}"
    return copy


@pytest.mark.parametrize("edits", [0, 20, 30, 50, 60])
def test_the_recall_of_edited_copies_is_that_of_sketches(edits: int) -> None:
    draw = random.Random(edits)
    pages = [[f"w{draw.getrandbits(32)}" for _ in range(WORDS)] for _ in range(PAIRS)]
    copies = [edited(page, edits, draw) for page in pages]
    texts = [" ".join(page) for page in pages + copies]
    found = fingerprint_texts(texts, SimhashConfig(), SKETCH)
    resemblances = estimate_resemblances(found.sketches[:PAIRS], found.sketches[PAIRS:], SKETCH)
    own, _ = containments(resemblances, found.shingle_counts[:PAIRS], found.shingle_counts[PAIRS:])
    shares_a_band = (found.bands[:PAIRS] == found.bands[PAIRS:]).any(axis=1)

    recall = recall_of_edits(WORDS, edits, SKETCH, near_resemblance=0.55, near_containment=0.715)
    strict = recall_of_edits(WORDS, edits, SKETCH, near_resemblance=0.75, near_containment=0.715)

    assert np.mean(shares_a_band & (own >= 0.715)) == pytest.approx(recall, abs=0.05)
    assert np.mean(shares_a_band & (resemblances >= 0.75)) == pytest.approx(strict, abs=0.05)
    assert resemblances.mean() == pytest.approx(resemblance_after_edits(WORDS, edits, SKETCH), abs=0.01)


def test_a_larger_frame_leaves_fewer_words_to_edit() -> None:
    recalls = [
        recall_of_edits(WORDS, 20, SKETCH, near_resemblance=0.55, near_containment=0.73, frame_share=share)
        for share in (0, 0.5, 0.8, 0.9)
    ]

    assert recalls == sorted(recalls, reverse=True)
    assert recalls[0] > 0.99
    assert recalls[-1] < 0.1


@pytest.mark.parametrize(
    ("range_entries", "more_commands", "more_microseconds"),
    [(2, 0, 2), (8.5, 0.2, 15), (17, 5, 36), (34, 8, 73)],
)
def test_long_ranges_take_the_commands_and_the_time_that_redis_was_measured_to_take(
    range_entries: float, more_commands: float, more_microseconds: float
) -> None:
    layout = IndexLayout(IndexConfig(bands=12))
    short, long = (
        cost_per_page(layout, range_entries=each, words=500, html_bytes=0, linked_share=0)
        for each in (0.1, range_entries)
    )

    assert long.commands - short.commands == pytest.approx(more_commands, abs=0.2)
    assert long.redis - short.redis == pytest.approx(more_microseconds, abs=6)


@pytest.mark.parametrize(
    ("pages", "substrings", "blocks"),
    [
        (1, 1, 4),
        (500_000, 1, 4),
        (930_000, 1, 4),  # as docs/planning.md says
        (940_000, 2, 3),
        (23_000_000, 2, 3),
        (24_000_000, 2, 4),
        (350_000_000, 2, 4),
        (360_000_000, 1, 5),
        (500_000_000, 1, 5),
    ],
)
def test_the_layout_is_the_one_with_the_least_product_of_time_and_bytes(
    pages: int, substrings: int, blocks: int
) -> None:
    plan = plan_index(CORPUS._replace(pages=pages), Settings())

    assert (plan.substrings, plan.blocks) == (substrings, blocks)
    assert plan.range_entries <= Settings().index.bucket_cap
    taken = min(plan.layouts, key=lambda each: each.redis * each.bytes)
    assert (taken.substrings, taken.blocks) == (substrings, blocks)


def test_a_layout_is_shown_to_take_what_the_plan_predicts_for_a_usual_page() -> None:
    plan = plan_index(CORPUS._replace(url_bytes=60, linked_share=0.3, framed_share=0.5), Settings())

    (taken,) = [
        each for each in plan.layouts if (each.substrings, each.blocks) == (plan.substrings, plan.blocks)
    ]
    assert taken.bytes == plan.bytes_per_page.total


@pytest.mark.parametrize("pages", [1_000, 1_000_000, 10_000_000, 10**9])
def test_more_tables_are_considered_only_where_they_take_less_time(pages: int) -> None:
    layouts = layout_costs(pages, Settings())

    assert [each.tables for each in layouts] == sorted({each.tables for each in layouts})
    assert [each.redis for each in layouts] == sorted({each.redis for each in layouts}, reverse=True)
    assert all(each.range_entries <= Settings().index.bucket_cap for each in layouts)


@pytest.mark.parametrize("distance_bits", range(1, 7))
def test_there_is_a_layout_for_every_distance_up_to_six_bits(distance_bits: int) -> None:
    layout = layout_for(1_000_000, settings_of(f"index.distance_bits={distance_bits}", "index.blocks=8"))

    assert layout.config.permuted.distance_bits == distance_bits


def test_the_settings_of_a_plan_are_valid_settings() -> None:
    plan = plan_index(CORPUS, Settings())

    planned = settings_of(*(f"{name}={value}" for name, value in plan.settings.items())).index

    assert (planned.expected_pages, planned.blocks, planned.substrings) == (500_000_000, 5, 1)
    assert planned.shards >= 4 * plan.machines.masters


def test_masters_follow_from_memory_or_from_processor_time_whichever_takes_more() -> None:
    large = plan_index(CORPUS._replace(rate=1), Settings()).machines
    busy = plan_index(CORPUS._replace(pages=1_000_000, rate=50_000), Settings()).machines

    assert large.masters == large.masters_for_memory > large.masters_for_time == 1
    assert busy.masters == busy.masters_for_time > busy.masters_for_memory == 1
    assert busy.daemons > 1 == large.daemons
    assert busy.partitions >= busy.daemons


def test_more_pages_than_any_layout_serves_and_simhash_alone_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"index\.bucket_cap"):
        plan_index(CORPUS._replace(pages=10**12), settings_of("index.bucket_cap=1"))
    with pytest.raises(ConfigError, match=r"verdict\.scheme"):
        plan_index(CORPUS, settings_of("verdict.scheme=simhash"))


def test_the_command_prints_the_plan_as_json_for_programs() -> None:
    arguments = ["--pages", "500M", "--rate", "5k", "--words", "600", "--framed", "1", "--master-gib", "64"]

    printed = CliRunner().invoke(plan_command, arguments, catch_exceptions=False)

    assert msgspec.json.decode(printed.stdout, type=IndexPlan) == plan_index(CORPUS, Settings())


def test_a_person_reads_the_reasons_and_settings_to_paste() -> None:
    corpus = CORPUS._replace(pages=2_000_000)
    text = readable(corpus, plan_index(corpus, Settings()))

    rows = [line.split() for line in unstyle(text).splitlines()]
    assert ["1", "4", "4", "30.5", "169", "654"] in rows
    assert ["2", "3", "6", "1.0", "128", "706", "taken"] in rows
    assert "expected_pages = 2_000_000" in text
    assert "substrings = 2" in text


def test_a_plan_of_several_masters_has_the_address_of_a_cluster_to_paste() -> None:
    small, large = (
        readable(corpus, plan_index(corpus, Settings()))
        for corpus in (CORPUS._replace(pages=1_000_000, rate=1), CORPUS)
    )

    assert "redis+cluster://" not in small
    block = unstyle(large).partition("Settings\n")[2]
    settings = tomllib.loads(block)
    assert Settings.load(overrides=[f"redis.url={settings['redis']['url']}"]).redis.config().is_cluster


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        (100_000_000, []),
        (500_000_000, ["leave its master 1 of the 128 shards, 128 slots"]),
        (2_000_000_000, ["in one slot", "256 shards"]),
        (700_000_000, ["in one slot"]),
    ],
)
def test_a_plan_warns_of_what_more_machines_do_not_carry(pages: int, words: list[str]) -> None:
    corpus = CORPUS._replace(pages=pages, master_bytes=32 << 30)

    plan = plan_index(corpus, Settings())

    assert len(plan.warnings) == len(words)
    assert all(word in each for word, each in zip(words, plan.warnings, strict=True))
    assert all(each in unstyle(readable(corpus, plan)) for each in plan.warnings)


@pytest.mark.parametrize(("rate", "word"), [(50_000, "leave its master"), (50_100, "more than 60%")])
def test_a_plan_warns_of_a_rate_that_the_slot_of_the_clusters_does_not_carry(rate: float, word: str) -> None:
    plan = plan_index(CORPUS._replace(rate=rate), Settings())

    assert [word in each for each in plan.warnings] == [True]


@pytest.mark.parametrize("rate", [1, 30_000, 49_000])
@pytest.mark.parametrize("pages", [10**7, 10**8, 2 * 10**8, 3 * 10**8, 5 * 10**8])
def test_masters_that_share_the_index_as_planned_are_filled_as_planned(pages: int, rate: float) -> None:
    plan = plan_index(CORPUS._replace(pages=pages, rate=rate, master_bytes=32 << 30), Settings())
    masters, shards = plan.machines.masters, plan.machines.shards
    found = re.search(r"(\d+) of the|no other slot", plan.warnings[0]) if plan.warnings else None
    of_slot = int(found[1] or 0) / shards if found else 1 / masters

    clusters_bytes = plan.bytes_per_page.clusters * pages
    slot_cores = rate * CLUSTER_MICROSECONDS / 1e6
    loads = (
        (clusters_bytes, plan.index_bytes, 0.7 * (32 << 30)),
        (slot_cores, rate * plan.cost.redis / 1e6, 0.6),
    )
    for own, total, most in loads:
        assert own + (total - own) * of_slot <= most * 1.001
        if masters > 1:
            assert (total - own) * (1 - of_slot) / (masters - 1) <= most * 1.03


@pytest.mark.parametrize("pages", ["x", "0", "2000G", "-5", "nan"])
def test_a_number_of_pages_that_is_none_is_refused(pages: str) -> None:
    printed = CliRunner().invoke(plan_command, [f"--pages={pages}"])

    assert printed.exit_code == 2
    assert "must be a number from 1 to 1000G" in printed.stderr


def test_a_plan_counts_in_whole_numbers_with_their_nouns() -> None:
    corpus = CORPUS._replace(pages=1_000_000, rate=1)
    plan = plan_index(corpus, Settings())

    assert "  1 daemon, 2 partitions or more, " in readable(corpus, plan)
    assert isinstance(plan.index_bytes, int)
    assert isinstance(plan.tombstone_bytes, int)
