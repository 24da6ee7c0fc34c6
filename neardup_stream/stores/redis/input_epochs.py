"""Store which epoch of an input topic is read, and how far its partitions are finished.

A topic that was deleted and made anew counts its offsets from 0 again, and what is known of the old offsets
would be held against the new records. So the operator gives it another epoch, which makes it another input.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Final, NamedTuple, Self

from neardup_stream.errors import ConfigError, EpochEnded
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_cells import unpack_ceiling
from neardup_stream.stores.cluster_store import (
    DECIDED,
    TRIMMED,
    CellAddress,
    ClusterStore,
    partition_name,
)
from neardup_stream.stores.guarded_clusters import REMEDY
from neardup_stream.stores.index_identity import TOKEN_DIGITS
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import ClusterKeys, epochs_key

__all__ = ["InputEpochs"]

_RAISE = Script.load("raise_input_epoch")

_WITNESS = re.compile(rf"([0-9a-f]{{{TOKEN_DIGITS}}}|) ([0-9]{{1,19}}) (.+)")
"""Token, ceiling and input, as `InputEpochs.witnesses` writes them."""

_REMEDY: Final = f"see that redis.url and redis.namespace are those of this group; if they are, {REMEDY}"
_REMEDY_WITHOUT_A_PAST: Final = (
    "the index of an embedded server ends with its run: give every run a kafka.group_id of its own"
)


class _Witness(NamedTuple):
    """What is noted beside a committed offset.

    Attributes:
        token: of the index; empty for an offset that an operator or an older program committed, whatever is
            noted there.
        ceiling: everything below it may have been decided.
        input_id: in whose offsets the ceiling is counted.
    """

    token: str
    ceiling: int
    input_id: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what the text says; an empty witness where another program wrote it."""
        found = _WITNESS.fullmatch(text)
        return cls(found[1], int(found[2]), found[3]) if found else cls("", 0, "")


class InputEpochs:
    """Remembers, in Redis, what was read.

    Args:
        client: opened and closed by its owner.
        namespace: what the operator calls this index.
        clusters: holds the offsets below which everything is finished, also where clusters are off.
        keys: of the clusters.
        token: of the index; empty where there is none.

    Attributes:
        remedy: what a person does where the index does not know what was committed.
    """

    def __init__(
        self,
        client: RedisClient,
        namespace: str,
        clusters: ClusterStore,
        keys: ClusterKeys,
        token: str = "",
    ) -> None:
        self._client = client
        self._where = f"under redis.namespace {namespace!r}"
        self._key = epochs_key(namespace)
        self._clusters = clusters
        self._bound_keys = [keys.of(CellAddress(table, b"")) for table in (DECIDED, TRIMMED)]
        self._token = token
        self.remedy = _REMEDY

    def of_an_embedded_server(self) -> Self:
        """Return the same for an index that is never there again, which no recovery could help."""
        same = copy(self)
        same.remedy = _REMEDY_WITHOUT_A_PAST
        return same

    async def enter(self, topic: str, epoch: int) -> None:
        """Be counted among the readers of this epoch, which ends every lower one.

        Raises:
            EpochEnded: a higher epoch is read already.
            StoreUnavailable: the server is unavailable; safe to repeat.
        """
        (highest,) = await self._client.run(_RAISE, [ScriptCall([self._key], [topic, epoch])])
        if highest > epoch:
            raise EpochEnded(topic, highest, epoch)

    async def require_epoch(self, topic: str, epoch: int) -> None:
        """Return if no higher epoch is read yet; nothing is written.

        Raises:
            EpochEnded: a higher epoch is read already.
            StoreUnavailable: the server is unavailable.
        """
        highest = int(await self._client.execute("HGET", self._key, topic) or 0)
        if highest > epoch:
            raise EpochEnded(topic, highest, epoch)

    async def finished_below(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """Return the offsets below which everything was delivered, committed and forgotten; 0 where unknown.

        Raises:
            StoreUnavailable: the server is unavailable.
        """
        addresses = [CellAddress(TRIMMED, partition_name(partition)) for partition in partitions]
        offsets, _ = await self._clusters.read(addresses)
        return {partition: int(offset or 0) for partition, offset in zip(partitions, offsets, strict=True)}

    async def witnesses(self, partitions: Sequence[Partition]) -> dict[Partition, str]:
        """Return the metadata to commit with offsets: of which index they are, and how far that has decided.

        Raises:
            StoreUnavailable: the server is unavailable, or the index is lost.
        """
        ceilings = await self._ceilings(partitions)
        return {
            partition: f"{self._token} {ceiling} {partition.input_id}"
            for partition, ceiling in ceilings.items()
        }

    async def check(self, witnesses: Mapping[Partition, str], unread: Collection[Partition] = ()) -> None:
        """Return if the index knows what was committed with these witnesses, empty where there is none.

        Of the unread partitions nothing is committed; a witness counts there if it says that something was
        decided, and so perhaps published, before the first commit.

        Raises:
            ConfigError: it knows nothing of what was committed, or less than it did then.
            StoreUnavailable: the server is unavailable.
        """
        parsed = {partition: _Witness.parse(witness) for partition, witness in witnesses.items()}
        counting = {
            partition: witness
            for partition, witness in parsed.items()
            if partition not in unread or witness.ceiling
        }
        if not all(witness.token for witness in counting.values()) and not await self._knows_anything():
            raise ConfigError(
                f"the group has committed offsets, and the index {self._where} knows of no page;"
                f" {self.remedy}"
            )
        ceilings = await self._ceilings(list(counting))
        for partition, (token, ceiling, input_id) in counting.items():
            if token and token != self._token:
                found = f"index {self._token} is in its place" if self._token else "nothing is stored"
                raise ConfigError(
                    f"the group has committed offsets with index {token}, which is not there any more:"
                    f" {found} {self._where}; {self.remedy}"
                )
            if input_id == partition.input_id and ceilings[partition] < ceiling:
                raise ConfigError(
                    f"the index {self._where} went back to an earlier state than the group has committed:"
                    f" of {partition.input_id} partition {partition.number} everything was decided below"
                    f" offset {ceiling}, and it knows of offsets below {ceilings[partition]}; {REMEDY}"
                )

    async def _knows_anything(self) -> bool:
        """Return whether anything was ever decided or finished."""
        counts = [await self._client.execute("HLEN", key) for key in self._bound_keys]
        return any(counts)

    async def _ceilings(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """Return the offsets below which all decided records lie."""
        addresses = [CellAddress(DECIDED, partition_name(partition)) for partition in partitions]
        values, _ = await self._clusters.read(addresses)
        return {partition: unpack_ceiling(value) for partition, value in zip(partitions, values, strict=True)}
