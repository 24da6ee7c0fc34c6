"""Run the step of the pipeline that looks up the pages of a batch in archives."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.archive_lookup import OpenArchive, consult_keyed
from neardup_stream.pipeline.archived import ArchivedMatches
from neardup_stream.pipeline.arrival import Arrival, Prepared
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.first_record import arrival_record
from neardup_stream.pipeline.freezing import keyed_arrival
from neardup_stream.pipeline.kept_text import TextParts
from neardup_stream.pipeline.timing import timed

__all__ = ["Consultation"]


class Consultation:
    """Writes to each page of a batch which frozen pages it is like.

    Args:
        archives: called for each batch: the archives to ask now.
        config: when two pages are alike.
        matches_limit: most matches kept for one page.
        meters: where matches are counted.
        skips_matches: whether a page that is like a frozen one is left to the archives.
        text_parts: what of the texts of pages the archives are asked with.
    """

    def __init__(
        self,
        archives: Callable[[], Sequence[OpenArchive]],
        config: VerdictConfig,
        matches_limit: int,
        meters: PipelineMeters,
        *,
        skips_matches: bool = False,
        text_parts: TextParts = frozenset(),
    ) -> None:
        self.text_parts = text_parts
        self._archives = archives
        self._config = config
        self._matches_limit = matches_limit
        self._meters = meters
        self._skips_matches = skips_matches

    def consult(self, prepared: Prepared) -> Prepared:
        """Ask about the pages of a batch whose frames are taken out.

        Raises:
            CorruptData: an archive is damaged where an answer would rest on it.
        """
        arrivals = prepared.arrivals
        with timed(self._meters, "consult"):
            consulted = consult_keyed(
                [keyed_arrival(arrival) for arrival in arrivals],
                lambda place: arrival_record(arrivals[place]),
                self._archives(),
                self._config,
                self._matches_limit,
            )
        matched = [found for found in consulted.answers if found.matches]
        kinds = Counter(found.matches[0].match.kind for found in matched)
        self._meters.archived(
            kinds["exact"], kinds["near"], consulted.candidate_count, consulted.sampled_count
        )
        if not matched and not self.text_parts:
            return prepared
        answers = iter(consulted.answers)
        items = [
            self._answered(item, next(answers)) if isinstance(item, Arrival) else item
            for item in prepared.items
        ]
        return prepared._replace(items=items)

    def _answered(self, arrival: Arrival, found: ArchivedMatches) -> Arrival:
        if found is arrival.archived and arrival.kept is None:  # nothing, as for most pages
            return arrival
        is_left = self._skips_matches and bool(found.matches)
        return msgspec.structs.replace(arrival, archived=found, is_left_to_archives=is_left, kept=None)
