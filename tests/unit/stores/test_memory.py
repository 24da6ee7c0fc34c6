from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.stores.memory import MemoryRecords, MemoryTables
from tests.contracts.stores import RECORD_CLAIMS, TABLE_CLAIMS


@pytest.mark.parametrize("claim", TABLE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_memory_tables_keep_the_contract(claim: Callable[[MemoryTables], Awaitable[None]]) -> None:
    await claim(MemoryTables())


@pytest.mark.parametrize("claim", RECORD_CLAIMS, ids=lambda claim: claim.__name__)
async def test_memory_records_keep_the_contract(claim: Callable[[MemoryRecords], Awaitable[None]]) -> None:
    await claim(MemoryRecords())
