"""Files may have any name that the operating system takes: it is spelled where text must be UTF-8."""

import gzip
import os
from collections import Counter
from pathlib import Path

from neardup_stream.message import Partition
from neardup_stream.streams.files.inputs import open_input
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc_revisits import Duplicates, RunLimits, write_revisits
from neardup_stream.wire.pages import PageDecoder
from tests.unit.streams.archives import partitions_of, resource

HOSTILE = os.fsdecode(b"a\xff\r\nWARC-Type: b\x7f.warc")
SPELLED = r"a\xff\x0d\x0aWARC-Type: b\x7f.warc"


def test_the_inputs_of_a_rewritten_warc_file_are_a_line_each_whatever_their_names(tmp_path: Path) -> None:
    paths = [str(tmp_path / HOSTILE), str(tmp_path / "plain.warc")]
    for path in paths:
        Path(path).write_bytes(resource("https://a.example/", b"text"))
    inputs = list(zip(paths, partitions_of(paths), strict=True))

    with WaitingFile(tmp_path / "out.warc.gz", "w") as output:
        limits = RunLimits(PageDecoder(), 1000)
        write_revisits(inputs, output, Duplicates("i", {}, frozenset()), limits)

    info = gzip.decompress((tmp_path / "out.warc.gz").read_bytes()).split(b"\r\n\r\n")[1].decode()
    assert info.split("\r\n")[2:] == [rf"isPartOf: {tmp_path}/{SPELLED}", f"isPartOf: {paths[1]}"]


def test_pipes_whose_names_are_spelled_alike_are_two_partitions_with_names_in_utf_8(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    partitions = []

    for name in (r"\xff", os.fsdecode(b"\xff")):
        path = tmp_path / name
        os.mkfifo(path)
        descriptor = os.open(path, os.O_RDWR)
        with open_input(str(path), seen) as opened:
            partitions.append(opened.partition)
        os.close(descriptor)

    assert partitions == [Partition(rf"pipe:{tmp_path}/\xff", number) for number in (0, 1)]
