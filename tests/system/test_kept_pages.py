"""`dedup --keep-representatives`: the corpus without its duplicates, and the clusters as Parquet."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines import essay
from tests.system.conftest import call

PAGES = [
    ("a", essay(1)),
    ("b", essay(2)),
    ("c", essay(1)),
    ("d", "too short to compare"),
    ("e", essay(1)),
    ("b", essay(3)),
]
"""`c` and `e` are like `a`; `b` is read twice, the second time with another text."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The pages as Parquet, with a column that no page has."""
    path = tmp_path / "corpus.parquet"
    columns = {
        "url": [f"https://example.com/{name}" for name, _ in PAGES],
        "text": [text for _, text in PAGES],
        "score": pa.array(range(len(PAGES)), pa.int16()),
    }
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("options", [[], ["--workers", "1"], ["--state", "state"]], ids=" ".join)
def test_representatives_and_pages_without_duplicates_are_kept_in_their_latest_version(
    corpus: Path, options: list[str]
) -> None:
    kept, clusters = corpus.with_name("kept.parquet"), corpus.with_name("clusters.parquet")

    run = call(
        "dedup",
        str(corpus),
        f"--keep-representatives={kept}",
        f"--clusters={clusters}",
        *(str(corpus.with_name("state")) if option == "state" else option for option in options),
    )

    assert run.returncode == 0, run.stderr
    assert pq.read_schema(kept) == pq.read_schema(corpus)
    assert pq.read_table(kept)["score"].to_pylist() == [0, 3, 5]
    (cluster,) = pq.read_table(clusters).to_pylist()
    assert [cluster["representative"][-1], *(each[-1] for each in cluster["members"])] == ["a", "a", "c", "e"]


def test_pages_that_an_earlier_run_has_read_are_kept_from_the_input_of_this_one(
    corpus: Path, tmp_path: Path
) -> None:
    """The second file has the same pages, and another duplicate of the first."""
    longer, kept, state = tmp_path / "longer.parquet", tmp_path / "kept.parquet", str(tmp_path / "state")
    table = pq.read_table(corpus)
    extra = table.slice(2, 1).set_column(0, "url", [["https://example.com/z"]])
    pq.write_table(pa.concat_tables([table, extra]), longer)
    assert call("dedup", str(corpus), "--state", state).returncode == 0

    run = call("dedup", str(longer), "--state", state, f"--keep-representatives={kept}")

    assert run.returncode == 0, run.stderr
    assert [url[-1] for url in pq.read_table(kept)["url"].to_pylist()] == ["a", "d", "b"]


def test_lines_are_kept_as_they_were_read(tmp_path: Path) -> None:
    crawl, kept = tmp_path / "crawl.jsonl", tmp_path / "kept.jsonl"
    lines = [json.dumps({"url": f"https://example.com/{name}", "text": text}) for name, text in PAGES]
    crawl.write_text("\n".join(lines), encoding="utf-8")

    assert call("dedup", str(crawl), f"--keep-representatives={kept}").returncode == 0

    assert kept.read_text(encoding="utf-8").splitlines() == [lines[0], lines[3], lines[5]]


def test_of_a_page_that_comes_again_unchanged_the_first_record_is_kept_or_else_the_last_of_this_run(
    tmp_path: Path,
) -> None:
    crawl, kept, state = tmp_path / "crawl.jsonl", tmp_path / "kept.jsonl", str(tmp_path / "state")
    page = {"url": "https://example.com/a", "text": essay(1)}

    def kept_score(*scores: int) -> int:
        lines = [json.dumps(page | {"score": score}) for score in scores]
        crawl.write_text("\n".join(lines), encoding="utf-8")
        run = call("dedup", str(crawl), "--state", state, f"--keep-representatives={kept}")
        assert run.returncode == 0, run.stderr
        (line,) = kept.read_text(encoding="utf-8").splitlines()
        score: int = json.loads(line)["score"]
        return score

    assert [kept_score(1, 2, 3), kept_score(4, 5, 6)] == [1, 6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "--keep-representatives=kept.jsonl"], "cannot be read a second time"),
        (["{corpus}", "--keep-representatives={corpus}"], "is an input and an output"),
        (["{corpus}", "--keep-representatives=kept.jsonl", "--clusters-rule=off"], "clusters.rule is off"),
    ],
)
def test_a_corpus_that_cannot_be_kept_is_refused(corpus: Path, arguments: list[str], message: str) -> None:
    run = call("dedup", *(each.format(corpus=corpus) for each in arguments), stdin=b"")

    assert run.returncode == 2
    assert message in run.stderr.decode()
