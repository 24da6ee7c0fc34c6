import pytest

from benchmarks.quality.frames.real_figures import BUCKETS, Bucket, bucketed, sum_buckets
from benchmarks.quality.frames.real_sets import CrawledPage, crawl_order, label_siblings
from benchmarks.quality.labelled_set import LabelledSet


def page(capture: str, path: str) -> CrawledPage:
    host, _, _ = capture.partition("/")
    return CrawledPage(f"{capture}/{path}", f"{host}/{path}", "", [], 0.5)


def test_captures_of_a_host_follow_each_other_and_hosts_are_interleaved() -> None:
    captures = [
        [page(capture, path) for path in ("deep/er/x", "top", "deep/y")] for capture in ("a/1", "a/2", "b/1")
    ]
    order = [each.id for each in crawl_order(captures)]
    assert len(order) == 9
    assert [each for each in order if each.startswith("a")] == [
        f"a/{capture}/{path}" for capture in (1, 2) for path in ("top", "deep/y", "deep/er/x")
    ]
    assert {each[0] for each in order[:3]} == {each[0] for each in order[-3:]} == {"a", "b"}


def test_only_captures_of_one_document_are_positive_siblings() -> None:
    pages = [page(capture, path) for capture in ("a/1", "a/2") for path in ("x", "y", "z")]
    similarities = {
        ("a/1/x", "a/2/x"): 0.96,
        ("a/1/y", "a/2/y"): 0.91,
        ("a/1/x", "a/1/y"): 0.99,
        ("a/1/x", "a/1/z"): 1.0,
    }
    assert label_siblings(pages, similarities) == {
        ("a/1/x", "a/2/x"): "near",
        ("a/1/y", "a/2/y"): "probable",
        ("a/1/z", "a/2/z"): "grey",
        ("a/1/x", "a/1/z"): "grey",
    }


@pytest.mark.parametrize(("shares", "number"), [((0, 0), 0), ((0.1, 0.3), 1), ((0.9, 0.95), 4)])
def test_a_pair_is_counted_at_the_mean_frame_share_of_its_pages(
    shares: tuple[float, float], number: int
) -> None:
    frame_shares = dict(zip("abcd", (*shares, *shares), strict=True))
    truth = LabelledSet([], {("a", "b"): "near", ("a", "d"): "grey", ("c", "d"): "probable"}, [])
    found = [("a", "b"), ("a", "d"), ("b", "c")]
    buckets = bucketed(found, truth, frame_shares)
    assert buckets[number] == Bucket(positive_count=2, found_count=1, false_count=1)
    assert sum_buckets([buckets, buckets])[number] == Bucket(4, 2, 2)
    assert all(bucket == Bucket(0, 0, 0) for place, bucket in enumerate(buckets) if place != number), (
        "pairs in another bucket"
    )
    assert len(buckets) == len(BUCKETS)
