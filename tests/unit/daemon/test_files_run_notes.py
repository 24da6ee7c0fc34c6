"""What is shown after a run over files says everything once."""

import os

from neardup_daemon.files_run_notes import FilesRunNotes
from neardup_daemon.first_dead_letters import FIRST_DEAD_LETTERS
from neardup_daemon.loop_wiring import line_publication
from neardup_daemon.reports.findings import PageRecords

from neardup_stream.errors import BadPage
from neardup_stream.message import Partition, Position, Record
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.streams.files.jsonl import JsonLinesSink

BAD_LINES = [
    Record(position=Position(Partition("file:a", 0), number), key=None, value=b"{") for number in range(7)
]


def test_a_dead_letter_that_is_sent_again_is_shown_once() -> None:
    notes = FilesRunNotes(lambda position: f"line {position.offset}", for_report=False, for_warc=False)
    sink = JsonLinesSink(os.devnull)
    publication = notes.noting(line_publication(sink, sink), PageRecords(MemoryRecords(), b""))

    for _attempt in range(3):
        for record in BAD_LINES[:2]:
            publication.render_dead_letter(record, BadPage("not_json", "cut off"))
    for record in BAD_LINES:
        publication.render_dead_letter(record, BadPage("not_json", "cut off"))

    shown = [letter.split(":")[0] for letter in notes.first_dead_letters]
    assert shown == [f"line {number}" for number in range(FIRST_DEAD_LETTERS)]
