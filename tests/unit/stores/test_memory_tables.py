from collections.abc import Awaitable, Callable

import pytest

from tests.contracts.tables import TABLE_CLAIMS
from tests.doubles.tables import MemoryTables


@pytest.mark.parametrize("claim", TABLE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_memory_tables_keep_the_contract(claim: Callable[[MemoryTables], Awaitable[None]]) -> None:
    await claim(MemoryTables())
