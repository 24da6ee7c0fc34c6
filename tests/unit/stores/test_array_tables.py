from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.page import Fingerprint64, Handle
from neardup_stream.stores.arrays.tables import ArrayTables, load_tables_kernel
from tests.contracts.tables import TABLE_CLAIMS


@pytest.mark.parametrize("claim", TABLE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_array_tables_keep_the_contract(claim: Callable[[ArrayTables], Awaitable[None]]) -> None:
    await claim(ArrayTables())


async def test_once_the_kernel_is_loaded_probes_and_inserts_load_no_more_of_it() -> None:
    ArrayTables().load_kernel()
    kernel = load_tables_kernel()
    loaded = [list(function.signatures) for function in (kernel.find_members, kernel.insert_keys)]

    index = PermutedIndex(ArrayTables(), IndexLayout(IndexConfig(bands=2)))
    pages = [IndexedPage(Handle(n), 1, Fingerprint64(n << 40), (n, n + 1)) for n in range(6000)]
    await index.probe_and_insert(pages)

    assert [list(function.signatures) for function in (kernel.find_members, kernel.insert_keys)] == loaded
