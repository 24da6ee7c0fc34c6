from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.stores.memory.records import MemoryRecords
from tests.contracts.records import RECORD_CLAIMS


@pytest.mark.parametrize("claim", RECORD_CLAIMS, ids=lambda claim: claim.__name__)
async def test_memory_records_keep_the_contract(claim: Callable[[MemoryRecords], Awaitable[None]]) -> None:
    await claim(MemoryRecords())
