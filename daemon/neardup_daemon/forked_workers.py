"""Fork the worker processes of `run` and `serve` from a process that has loaded all they need.

That is before it starts a thread. Workers that are programs of their own would each load the same once more.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, NamedTuple

from neardup_daemon.preparing import forked_parent
from neardup_daemon.settings.settings import Settings
from neardup_stream.archive.texts import TEXTS
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.pipeline.kept_text import PREFIXES, TextParts

__all__ = ["QUERIED_PARTS", "ForkedWorkers", "forked_query_worker", "forked_workers"]

QUERIED_PARTS: Final[TextParts] = frozenset({PREFIXES, TEXTS})
"""What the query API keeps of the text of a page that it is asked about."""


class ForkedWorkers(NamedTuple):
    """The workers of the daemon; None for one that is started as a program of its own.

    Attributes:
        pages: of the pages topic.
        queries: of the query API.
    """

    pages: ForkedParent | None = None
    queries: ForkedParent | None = None


@contextmanager
def forked_workers(settings: Settings) -> Iterator[ForkedWorkers]:
    """Fork the workers of `run`; that of pages only without archives, which say later what it keeps."""
    with (
        nullcontext() if settings.archive.files else forked_parent(settings) as pages,
        forked_query_worker(settings) if settings.api.enabled else nullcontext() as queries,
    ):
        yield ForkedWorkers(pages, queries)


def forked_query_worker(settings: Settings) -> AbstractContextManager[ForkedParent | None]:
    """Fork the worker of the query API."""
    return forked_parent(settings, QUERIED_PARTS)
