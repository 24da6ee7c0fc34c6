"""Archives with right checksums and digests, and wrong numbers: no program of ours writes them."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from neardup_stream.archive.layout import CHECKS, Header, Section, checksums
from neardup_stream.archive.units import PAGE_BYTES

__all__ = ["falsify", "restate"]


def falsify(path: Path, name: str, at: int, content: bytes) -> None:
    """Replace some bytes of a section, and make all checksums and digests those of the new bytes."""
    data = bytearray(path.read_bytes())
    header = _header(path)
    section, checks = header.by_name[name], header.by_name[CHECKS]
    assert at + len(content) <= section.size_bytes, "falsified within the section"
    data[section.offset + at : section.offset + at + len(content)] = content
    sums = checksums(bytes(data[PAGE_BYTES : checks.offset]), 1).astype("<u4").tobytes()
    data[checks.offset + 4 : checks.offset + 4 + len(sums)] = sums
    digests = [_digest(data[each.offset : each.offset + each.size_bytes]) for each in header.sections]
    sections = tuple(
        each._replace(digest=digest) for each, digest in zip(header.sections, digests, strict=True)
    )
    page = replace(header, sections=sections, archive_id=_digest(b"".join(digests))).pack()
    _write(path, page + bytes(data[PAGE_BYTES:]))


def restate(path: Path, name: str, change: Callable[[Section], Section]) -> None:
    """Change what the header says of a section."""
    header = _header(path)
    sections = tuple(change(each) if each.name == name else each for each in header.sections)
    _write(path, replace(header, sections=sections).pack() + path.read_bytes()[PAGE_BYTES:])


def _header(path: Path) -> Header:
    return Header.unpack(path.read_bytes()[:PAGE_BYTES], str(path), path.stat().st_size)


def _digest(data: bytes | bytearray) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _write(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)
