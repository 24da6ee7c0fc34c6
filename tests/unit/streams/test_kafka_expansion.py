import os
from collections.abc import Callable, Iterator

import pytest
from aiokafka import codec
from aiokafka.errors import CorruptRecordException
from aiokafka.record._crecords import default_records as compiled_default_records
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from neardup_stream.streams.kafka.aiokafka_batches_compat import parse_any_batch
from neardup_stream.streams.kafka.config import DEFAULT_MAX_EXPANDED_BYTES
from neardup_stream.streams.kafka.expansion import ExpansionExceeded
from neardup_stream.wire.header_limit import DEFAULT_MAX_HEADERS

CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
LIMIT = 100_000
ANY_HEADERS = 1 << 31
"""What is decompressed here are no records."""


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    parse_any_batch(LIMIT, ANY_HEADERS)
    yield
    parse_any_batch(DEFAULT_MAX_EXPANDED_BYTES, DEFAULT_MAX_HEADERS)


def _expand(name: str, payload: bytes) -> bytes:
    expanded: bytes = getattr(compiled_default_records, f"{name}_decode")(payload)
    return expanded


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("fill", [bytes, os.urandom], ids=["zeros", "noise"])
def test_a_batch_may_expand_to_its_limit_and_no_further(name: str, fill: Callable[[int], bytes]) -> None:
    encode = getattr(codec, f"{name}_encode")
    content = fill(LIMIT)

    assert _expand(name, encode(content)) == content
    with pytest.raises(ExpansionExceeded):
        _expand(name, encode(content + b"x"))


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_every_part_of_a_batch_is_expanded_within_one_limit(name: str) -> None:
    encode = getattr(codec, f"{name}_encode")
    parts = [bytes(LIMIT // 2), os.urandom(LIMIT // 2)]

    assert _expand(name, b"".join(map(encode, parts))) == b"".join(parts)
    with pytest.raises(ExpansionExceeded):
        _expand(name, b"".join(map(encode, [*parts, b"x"])))


def test_blocks_of_snappy_that_java_does_not_frame_are_bounded_too() -> None:
    assert _expand("snappy", codec.snappy_encode(bytes(LIMIT), xerial_compatible=False)) == bytes(LIMIT)
    with pytest.raises(ExpansionExceeded):
        _expand("snappy", codec.snappy_encode(bytes(LIMIT + 1), xerial_compatible=False))


@pytest.mark.parametrize("name", CODECS)
def test_a_bomb_is_not_expanded(name: str) -> None:
    bomb = getattr(codec, f"{name}_encode")(bytes(64 << 20))

    with pytest.raises(ExpansionExceeded):
        _expand(name, bomb)


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("spoil", [lambda whole: whole[: len(whole) // 2], lambda whole: b"x" * len(whole)])
def test_a_damaged_batch_is_damaged(name: str, spoil: Callable[[bytes], bytes]) -> None:
    whole = getattr(codec, f"{name}_encode")(os.urandom(1000))

    with pytest.raises(CorruptRecordException):
        _expand(name, spoil(whole))


@pytest.mark.parametrize("name", CODECS)
def test_that_is_how_batches_are_read(name: str) -> None:
    batch = DefaultRecordBatchBuilder(2, CODECS[name], 0, -1, -1, -1, 1 << 30)
    batch.append(0, 0, b"key", bytes(LIMIT), [])

    with pytest.raises(ExpansionExceeded):
        list(DefaultRecordBatch(bytes(batch.build())))
