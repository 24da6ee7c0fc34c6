"""What the stages of the loop hand to each other: a batch with what is known of it so far."""

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from neardup_stream.message import Partition, Record
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.conclusion import DecidedRun
from neardup_stream.pipeline.judgement import ComparedRun
from neardup_stream.traces import BatchTrace

__all__ = ["Batch", "ComparedBatch", "DecidedBatch", "Part"]

_R = TypeVar("_R")


class Batch(NamedTuple):
    """Records between reading and commit.

    Attributes:
        records: in the order they were read; empty once they are prepared.
        record_count: how many there are.
        size_bytes: of all of them.
        next_offsets: the offset after the last of them, by partition.
        epoch: how often partitions were revoked before they were read.
        trace: of this batch.
    """

    records: Sequence[Record]
    record_count: int
    size_bytes: int
    next_offsets: Mapping[Partition, int]
    epoch: int
    trace: BatchTrace


class Part(NamedTuple, Generic[_R]):
    """A run of a batch; None where the batch ends."""

    batch: Batch
    prepared: Prepared
    run: _R | None


class ComparedBatch(NamedTuple):
    """A whole batch, compared."""

    batch: Batch
    prepared: Prepared
    runs: list[ComparedRun]


class DecidedBatch(NamedTuple):
    """A whole batch, decided."""

    batch: Batch
    prepared: Prepared
    runs: list[DecidedRun]
