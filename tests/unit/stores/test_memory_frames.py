from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.stores.memory.frames import MemoryFrames
from tests.contracts.frames import FRAME_CLAIMS


@pytest.mark.parametrize("claim", FRAME_CLAIMS, ids=lambda claim: claim.__name__)
async def test_memory_frames_keep_the_contract(claim: Callable[[MemoryFrames], Awaitable[None]]) -> None:
    await claim(MemoryFrames())
