"""A crawl and its archive."""

import shutil
from pathlib import Path

import pytest

from tests.system.archives.frozen_pages import freeze_pages


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl and of its archive, of which each test has copies."""
    folder = tmp_path_factory.mktemp("frozen")
    freeze_pages(folder)
    return folder


@pytest.fixture
def crawl(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy2(frozen / "crawl.jsonl", tmp_path))  # with its time, which dates the pages


@pytest.fixture
def archive(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy2(frozen / "crawl.nda", tmp_path))
