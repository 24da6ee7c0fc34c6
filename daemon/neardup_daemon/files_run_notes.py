"""Keeps what a run over files notes beside its events: findings, duplicates and the first dead letters."""

from collections.abc import Callable

from neardup_daemon.first_dead_letters import FirstDeadLetters
from neardup_daemon.reports.findings import Findings, NotedFindings, PageRecords
from neardup_daemon.warc_output import NotedDuplicates
from neardup_stream.errors import BadPage
from neardup_stream.message import Message, Position, Record
from neardup_stream.pipeline.deliver import Publication
from neardup_stream.streams.files.warc_revisits import Duplicates
from neardup_stream.streams.protocol import Sink

__all__ = ["FilesRunNotes"]


class FilesRunNotes:
    """Notes what is needed after a run, and nothing else: each wish decodes every event once more.

    Args:
        place_of: names the place of a record, for a person.
        for_report: whether to note what a report shows.
        for_warc: whether to note which records become revisit records.

    Attributes:
        findings: what a report shows; None where none is wanted.
    """

    def __init__(self, place_of: Callable[[Position], str], *, for_report: bool, for_warc: bool) -> None:
        self._place_of = place_of
        self.findings = Findings() if for_report else None
        self._letters = FirstDeadLetters()
        self._for_warc = for_warc
        self._duplicates: NotedDuplicates | None = None

    def noting(self, publication: Publication, pages: PageRecords) -> Publication:
        """Return the publication with everything that it sends noted.

        Args:
            publication: to files of lines of JSON.
            pages: the page records of the run.
        """
        return publication._replace(
            events=self._noting_events(publication.events, pages),
            render_dead_letter=self._noting_dead_letters(publication.render_dead_letter),
        )

    @property
    def first_dead_letters(self) -> list[str]:
        """What they were about, each once, however often it was sent."""
        return self._letters.lines

    @property
    def duplicates(self) -> Duplicates | None:
        """The noted duplicates; None where no WARC file is wanted."""
        return None if self._duplicates is None else self._duplicates.noted()

    def _noting_events(self, events: Sink, pages: PageRecords) -> Sink:
        if self.findings is not None:
            events = NotedFindings(events, pages, self.findings)
        if self._for_warc:
            events = self._duplicates = NotedDuplicates(events)
        return events

    def _noting_dead_letters(
        self, render: Callable[[Record, BadPage], Message]
    ) -> Callable[[Record, BadPage], Message]:
        def render_noted(record: Record, error: BadPage) -> Message:
            self._letters.note(record.position, error, self._place_of)
            if self._duplicates is not None:
                self._duplicates.note_dead_letter(record.position)
            return render(record, error)

        return render_noted
