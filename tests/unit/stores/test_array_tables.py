from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.stores.arrays.tables import ArrayTables
from tests.contracts.tables import TABLE_CLAIMS


@pytest.mark.parametrize("claim", TABLE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_array_tables_keep_the_contract(claim: Callable[[ArrayTables], Awaitable[None]]) -> None:
    await claim(ArrayTables())
