"""WACZ collections, and collections of collections: the archives in them are read, damage is named."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest
from backports import zstd

from neardup_stream.errors import CorruptData
from neardup_stream.page import Page
from neardup_stream.streams.files.source import FileSource
from tests.unit.streams.archives import resource
from tests.unit.streams.written_files import read_files, write


async def test_a_collection_is_the_archives_in_it(tmp_path: Path) -> None:
    path = tmp_path / "crawl.wacz"
    with zipfile.ZipFile(path, "w") as collection:
        collection.writestr("datapackage.json", "{}")
        collection.writestr("pages/pages.jsonl", '{"format":"json-pages-1.0"}\n')
        collection.writestr("archive/0.warc.gz", gzip.compress(resource("http://a.example/0", b"a")))
        collection.writestr("archive/1.warc", resource("http://a.example/1", b"b") * 2)

    records = await read_files(path, max_page_bytes=10_000)

    assert [record.position.offset for record in records] == [0, 1, 2]
    assert [record.decoded.url for record in records if isinstance(record.decoded, Page)] == [
        "http://a.example/0",
        "http://a.example/1",
        "http://a.example/1",
    ]


async def test_an_archive_in_zstd_is_read_and_those_behind_a_damaged_one_too(tmp_path: Path) -> None:
    path = tmp_path / "crawl.wacz"
    urls = [f"http://a.example/{number}" for number in range(4)]
    frames = [zstd.compress(resource(url, b"text")) for url in urls]
    with zipfile.ZipFile(path, "w") as collection:
        collection.writestr("archive/0.warc.zst", b"")
        collection.writestr("archive/1.warc.ZST", frames[0] + frames[1])
        collection.writestr("archive/2.warc.zst", frames[2] + frames[0][:-9])
        collection.writestr("archive/3.warc.zst", frames[3])

    async with FileSource([str(path)], 10_000) as source:
        records = await source.read(100, 1 << 20)
        with pytest.raises(CorruptData, match=r"archive/2\.warc\.zst"):
            await source.read(100, 1 << 20)

    assert [record.decoded.url for record in records if isinstance(record.decoded, Page)] == urls


def collected(**archives: bytes) -> bytes:
    """Return a collection with archives by the names that they have without an ending."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as collection:
        for name, archive in archives.items():
            collection.writestr(f"archive/{name}.warc.gz", archive)
    return packed.getvalue()


async def test_a_collection_of_collections_is_the_archives_in_them(tmp_path: Path) -> None:
    urls = [f"http://a.example/{number}" for number in range(4)]
    packed = [gzip.compress(resource(url, b"text")) for url in urls]
    with zipfile.ZipFile(tmp_path / "crawl.wacz", "w") as outer:
        outer.writestr("datapackage.json", '{"profile": "multi-wacz-package"}')
        outer.writestr("one.wacz", collected(a=packed[0], b=packed[1]))
        outer.writestr("damaged.wacz", collected(a=packed[0])[:-9])
        outer.writestr("two.wacz", collected(a=packed[2], b=packed[3]))

    async with FileSource([str(tmp_path / "crawl.wacz")], 10_000) as source:
        records = await source.read(100, 1 << 20)
        with pytest.raises(CorruptData, match=r"damaged\.wacz"):
            await source.read(100, 1 << 20)

    assert [record.decoded.url for record in records if isinstance(record.decoded, Page)] == urls


@pytest.mark.parametrize(
    ("name", "content"),
    [("pages/pages.jsonl", b"{}"), ("archive/", b""), ("one.wacz", collected())],
    ids=["pages", "empty-folder", "empty-collection"],
)
async def test_a_zip_file_without_archives_is_no_collection(
    tmp_path: Path, name: str, content: bytes
) -> None:
    with zipfile.ZipFile(tmp_path / "crawl.wacz", "w") as packed:
        packed.writestr(name, content)

    with pytest.raises(CorruptData, match="no collection"):
        await read_files(tmp_path / "crawl.wacz")


async def test_a_collection_within_a_collection_whose_archive_lies_nowhere_is_damaged(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as inner:
        inner.writestr("archive/a.warc", b"WARC/1.0")
        inner.infolist()[0].header_offset = 1 << 63
    with zipfile.ZipFile(tmp_path / "crawl.wacz", "w") as outer:
        outer.writestr("one.wacz", packed.getvalue())

    with pytest.raises(CorruptData, match=r"archive/a\.warc"):
        await read_files(tmp_path / "crawl.wacz")


async def test_a_compressed_collection_within_a_collection_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "crawl.wacz", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("one.wacz", collected())

    with pytest.raises(CorruptData, match="uncompressed"):
        await read_files(tmp_path / "crawl.wacz")


@pytest.mark.parametrize("damaged", [b"junk", gzip.compress(b"WARC/1.0")[:-4]], ids=["junk", "cut-off"])
async def test_a_damaged_archive_hides_no_other_of_its_collection(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "crawl.wacz"
    with zipfile.ZipFile(path, "w") as collection:
        collection.writestr("archive/0.warc.gz", damaged)
        collection.writestr("archive/1.warc.gz", gzip.compress(resource("http://a.example/1", b"b")))

    async with FileSource([str(path)], 10_000) as source:
        (record,) = await source.read(100, 1 << 20)
        with pytest.raises(CorruptData, match=r"archive/0\.warc\.gz"):
            await source.read(100, 1 << 20)

    assert isinstance(record.decoded, Page)
    assert record.decoded.url == "http://a.example/1"


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all"])
async def test_a_damaged_collection_is_damaged(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CorruptData, match="damaged or cut off"):
        await read_files(write(tmp_path / "crawl.wacz", content))


async def test_a_collection_with_a_damaged_name_is_damaged(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as collection:
        collection.writestr("archive/\u00fc.warc", b"")
    damaged = packed.getvalue().replace("\u00fc".encode(), b"\xfc\xfc")

    with pytest.raises(CorruptData, match="damaged or cut off"):
        await read_files(write(tmp_path / "crawl.wacz", damaged))


@pytest.mark.parametrize("harm", ["password", "lzma"])
async def test_a_collection_that_cannot_be_unpacked_is_damaged(tmp_path: Path, harm: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA if harm == "lzma" else zipfile.ZIP_STORED) as file:
        file.writestr("archive/a.warc", b"WARC/1.0\r\n" * 50)
    content = bytearray(packed.getvalue())
    if harm == "password":
        for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            content[content.index(mark) + flags] |= 1
    else:
        start = content.index(b"archive/a.warc") + len(b"archive/a.warc") + 9
        content[start : start + 20] = bytes(20)

    with pytest.raises(CorruptData, match="damaged"):
        await read_files(write(tmp_path / "crawl.wacz", bytes(content)))
