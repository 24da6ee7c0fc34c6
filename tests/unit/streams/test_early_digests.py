"""Digests of files that are computed before the files are opened to be read."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neardup_stream.streams.files.digests import EarlyDigests, identity_of
from neardup_stream.streams.files.inputs import open_input

CONTENT = bytes(range(256)) * (3 << 12)


@contextmanager
def _reading(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _identities(paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        with _reading(path) as descriptor:
            found.append(identity_of(str(path), descriptor))
    return found


def _digesting() -> bool:
    return any(thread.name == "digest" for thread in threading.enumerate())


def _files(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / f"{number}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def _early(digests: EarlyDigests, path: Path) -> str:
    with _reading(path) as descriptor:
        return digests.identify(str(path), descriptor)


def test_early_digests_are_those_computed_when_a_file_is_opened(tmp_path: Path) -> None:
    paths = _files(tmp_path, CONTENT, b"", b"{}\n", CONTENT[1:])
    paths.append(paths[0])

    with EarlyDigests(map(str, paths)) as digests:
        seen: Counter[str] = Counter()
        opened = []
        for path in paths:
            with open_input(str(path), seen, identify=digests.identify) as source:
                opened.append(source.partition.input_id)
                assert b"".join(source.chunks) == path.read_bytes()

    assert opened == _identities(paths)


def test_no_thread_is_left_while_they_are_paused_and_each_continues_where_it_was(tmp_path: Path) -> None:
    paths = _files(tmp_path, CONTENT)

    with EarlyDigests(map(str, paths)) as digests:
        for _ in range(3):
            with digests.paused():
                assert not _digesting()
        assert [_early(digests, paths[0])] == _identities(paths)
        with digests.paused():  # none is left
            pass


def test_the_digest_of_a_file_that_is_written_to_meanwhile_is_of_what_it_is_now(tmp_path: Path) -> None:
    paths = _files(tmp_path, CONTENT, b"{}\n")

    with EarlyDigests(map(str, paths)) as digests:
        with digests.paused():
            paths[0].write_bytes(CONTENT[:-1])
        assert [_early(digests, path) for path in paths] == _identities(paths)


def test_the_digest_of_a_file_in_the_place_of_another_is_its_own(tmp_path: Path) -> None:
    paths = _files(tmp_path, CONTENT, b"{}\n")

    with EarlyDigests(map(str, paths)) as digests:
        paths[0].unlink()
        paths[0].write_bytes(CONTENT[::-1])
        assert [_early(digests, path) for path in paths] == _identities(paths)


def test_a_file_that_cannot_be_opened_is_left_to_its_reader(tmp_path: Path) -> None:
    paths = _files(tmp_path, CONTENT, b"{}\n")
    paths[0].unlink()

    with EarlyDigests(map(str, paths)) as digests:
        paths[0].write_bytes(CONTENT)
        assert [_early(digests, path) for path in paths] == _identities(paths)


@pytest.mark.parametrize("opens", [0, 1])
def test_digests_that_are_left_early_are_not_waited_for_and_keep_no_file_open(
    tmp_path: Path, opens: int
) -> None:
    endless = tmp_path / "endless.jsonl"
    with endless.open("wb") as file:
        file.truncate(1 << 40)  # takes no room, and half an hour to digest
    paths = [*_files(tmp_path, *[b"{}\n"] * opens), endless]

    with EarlyDigests(map(str, paths)) as digests:
        for path in paths[:-1]:
            _early(digests, path)

    assert not _digesting()
    assert endless not in {file.resolve() for file in Path("/proc/self/fd").iterdir()}
