"""Define what a run over files reads and writes; apart from the run, which takes longer to import."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["FilesRun"]


class FilesRun(NamedTuple):
    """What to read and where to write.

    Attributes:
        files: paths, or `-` for standard input.
        events: path, or `-` for standard output.
        dead_letters: path, or None to drop them once they are counted.
        clusters: path for the clusters at the end, or None not to write them.
        corpus: path for the pages that are kept, at the end, or None not to write them.
        state_dir: where a private Redis keeps its data; None for stores that end with the run.
        uses_redis: whether the stores are in the Redis of the settings.
        workers: processes that prepare pages.
        warc: path for the records of WARC files with revisit records for duplicates; None not to write them.
        report: path of a report; None not to note what it needs.
    """

    files: tuple[str, ...]
    events: str
    dead_letters: str | None
    clusters: str | None
    corpus: str | None
    state_dir: Path | None
    uses_redis: bool
    workers: int = 1
    warc: str | None = None
    report: str | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """The paths that are written."""
        paths = (self.events, self.dead_letters, self.clusters, self.corpus, self.warc, self.report)
        return tuple(path for path in paths if path is not None)

    @property
    def is_kept(self) -> bool:
        """Whether the store outlives the run."""
        return self.uses_redis or self.state_dir is not None

    @property
    def continues(self) -> bool:
        """Whether the same run continues where it was stopped: the index is kept, no output needs all."""
        return self.is_kept and self.corpus is None and self.warc is None
