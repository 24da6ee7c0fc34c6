"""The second part of the fingerprint stage: the content of pages, without the frames of their sites.

Their whole text was fingerprinted in the worker process, which knows no frames. Frozen archives are searched
here too: a page with a match there may be left to them, which its page record has to say.
"""

import asyncio

from neardup_stream.pipeline.batch import InFlightBatch
from neardup_stream.pipeline.consult import Consultation
from neardup_stream.pipeline.frames import Frames

__all__ = ["FingerprintContent"]


class FingerprintContent:
    """Completes the fingerprints of batches.

    Args:
        frames: takes the frames of their sites out of pages; None leaves them in.
        archives: finds the matches of pages in frozen archives; None where there are none.
    """

    def __init__(self, frames: Frames | None, archives: Consultation | None) -> None:
        self._frames = frames
        self._archives = archives

    async def run(self, batch: InFlightBatch) -> None:
        """Replace `prepared`.

        Raises:
            DependencyLost: the store stayed unavailable.
            CorruptData: an archive is damaged where a match depends on it.
        """
        if self._frames is not None:
            batch.prepared = await self._frames.view(batch.prepared)
        if self._archives is not None:
            batch.prepared = await asyncio.to_thread(self._archives.consult, batch.prepared)
