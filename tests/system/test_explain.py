"""`explain`: files, standard input and stored pages, in any mixture."""

import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.pipelines import essay, page_json
from tests.servers.redis import RedisServer
from tests.system.conftest import StoredIndex, call, new_index

A, B, C = (f"https://example.com/{name}" for name in "abc")


@pytest.fixture(scope="module")
def held(redis_server: RedisServer) -> StoredIndex:
    """Two pages that are alike and another one, in an index that no test writes to."""
    index = new_index(redis_server)
    index.hold(page_json("a", essay(1)), page_json("b", essay(1, edits=[50])), page_json("c", essay(2)))
    return index


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two pages that are alike."""
    paths = tmp_path / "a.json", tmp_path / "b.json"
    paths[0].write_bytes(page_json("a", essay(1)))
    paths[1].write_bytes(page_json("b", essay(1, edits=[50])))
    return str(paths[0]), str(paths[1])


def explanation_of(*words: str, stdin: bytes = b"") -> Any:
    """Return the explanation of two given pages, without any Redis."""
    run = call("explain", *words, "--set", "redis.url=redis://127.0.0.1:1", stdin=stdin)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_two_files_need_no_index_and_are_compared_exactly(files: tuple[str, str]) -> None:
    explanation = explanation_of(*files)

    assert (explanation["verdict"], explanation["is_match"], explanation["would_link"]) == (
        "near",
        True,
        True,
    )
    exact = explanation["exact"]
    assert (exact["first_count"], exact["second_count"], exact["common_count"]) == (198, 198, 195)
    assert exact["resemblance"] == round(195 / 201, 4)
    assert explanation["words"][0].startswith("They match: ")
    assert "clusters" not in explanation


def test_one_of_the_pages_can_come_from_standard_input(files: tuple[str, str]) -> None:
    assert explanation_of(files[0], "-", stdin=page_json("c", essay(2)))["verdict"] == "unlike"


def test_two_stored_pages_are_shown_with_their_clusters(held: StoredIndex) -> None:
    alike, unlike = held.json_of("explain", A, B), held.json_of("explain", A, C)

    assert (alike["verdict"], alike["is_one_cluster"], "exact" in alike) == ("near", True, False)
    assert alike["words"][-1].endswith(f"2 in all; {A} represents it.")
    assert (unlike["verdict"], unlike["is_one_cluster"], unlike["is_match"]) == ("unlike", False, False)


def test_a_stored_page_and_a_given_one_are_compared(index: StoredIndex, files: tuple[str, str]) -> None:
    index.hold(page_json("a", essay(1)))

    explanation = index.json_of("explain", A, files[1])

    assert (explanation["verdict"], explanation["is_one_cluster"]) == ("near", False)
    assert explanation["words"][-1] == "The second is not stored."


def test_a_crawl_of_the_same_page_is_no_duplicate(held: StoredIndex, files: tuple[str, str]) -> None:
    explanation = held.json_of("explain", A, files[0])

    assert (explanation["verdict"], explanation["is_match"], explanation["is_same_text"]) == (
        "same_page",
        False,
        True,
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["-", "-"], "only one of them", id="standard-input-twice"),
        pytest.param(["-"], "Missing argument 'B'", id="one-page-only"),
        pytest.param([__file__, "-"], "is not one page as JSON", id="no-page"),
    ],
)
def test_what_cannot_be_compared_is_reported_in_one_line(words: list[str], complaint: str) -> None:
    run = call("explain", *words, stdin=page_json("a", essay(1)))

    assert (run.returncode, run.stdout) == (2, b"")
    assert complaint in run.stderr.decode()
    assert run.stderr.count(b"\n") == 1


@pytest.mark.parametrize("length", [256, 5_000])
def test_an_id_longer_than_a_file_name_is_an_id(held: StoredIndex, length: int) -> None:
    run = held.call("explain", "n" * length, "m" * length)

    assert run.returncode == 2
    assert b"is not stored" in run.stderr


def test_a_missing_file_is_reported_where_no_index_can_be_asked(tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    given.write_bytes(page_json("a", essay(1)))

    run = call("explain", str(given), "missing.json", "--redis-url", "redis://127.0.0.1:1")

    assert run.returncode == 3
    assert b"there is no file 'missing.json'" in run.stderr
    assert b"given.json" not in run.stderr


def test_a_page_is_read_from_a_pipe_that_is_named(files: tuple[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(Path(files[0]).read_bytes(),), daemon=True)

    writer.start()
    explanation = explanation_of(str(pipe), files[1])

    assert explanation["verdict"] == "near"


def test_a_directory_in_the_place_of_a_page_is_named(files: tuple[str, str], tmp_path: Path) -> None:
    run = call("explain", files[0], str(tmp_path), "--redis-url", "redis://127.0.0.1:1")

    assert run.returncode == 3
    assert f"{str(tmp_path)!r} is a directory; as the id of a page: ".encode() in run.stderr


def test_an_unknown_page_is_reported(held: StoredIndex) -> None:
    run = held.call("explain", A, "no such page")

    assert run.returncode == 2
    assert "'no such page' is no file and is not stored in the index;" in run.stderr.decode()
