"""Pages as they arrive, for tests of what is registered of them."""

from neardup_stream.message import Partition, Position, RecordMetadata
from neardup_stream.page import Fingerprint64, Page, PageId
from neardup_stream.pipeline.arrival import Arrival

__all__ = ["HERE", "NOW", "PAGE", "THERE", "arrival"]

NOW = 1_790_000_000
HERE, THERE = Partition("pages", 0), Partition("pages", 1)


def arrival(text: int, offset: int, *, page_id: str = "page", partition: Partition = HERE) -> Arrival:
    return Arrival(
        record=RecordMetadata(position=Position(partition, offset)),
        page=Page(id=PageId(page_id), url=f"https://example.com/{page_id}", fetched_at_seconds=0),
        fingerprint=Fingerprint64(text),
        text_fingerprint=text,
        token_count=100,
        has_enough_tokens=True,
    )


PAGE = arrival(text=1, offset=5)
