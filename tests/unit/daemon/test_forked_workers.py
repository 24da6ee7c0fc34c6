from pathlib import Path

import pytest
from neardup_daemon.forked_workers import forked_query_worker, forked_workers
from neardup_daemon.settings.settings import Settings

from neardup_stream.fingerprints.simhash import load_kernel
from neardup_stream.kernel_cache import _NUMBA_SETTING


@pytest.fixture
def empty_kernel_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(_NUMBA_SETTING, str(tmp_path))


@pytest.mark.parametrize(
    ("overrides", "is_forked"),
    [
        ([], (True, False)),
        (["api.enabled=true"], (True, True)),
        (["api.enabled=true", 'archive.files=["october.nda"]'], (False, True)),
    ],
    ids=["pages", "pages and queries", "archives"],
)
def test_each_worker_is_forked_whose_work_is_known_from_the_settings(
    overrides: list[str], is_forked: tuple[bool, bool]
) -> None:
    load_kernel()

    with forked_workers(Settings.load(overrides=overrides)) as workers:
        assert tuple(worker is not None for worker in workers) == is_forked
        pids = [worker.pid for worker in workers if worker]

    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.usefixtures("empty_kernel_cache")
def test_none_is_forked_while_a_kernel_must_be_compiled_so_that_the_port_is_served_before() -> None:
    settings = Settings.load(overrides=["api.enabled=true"])

    with forked_workers(settings) as workers, forked_query_worker(settings) as queries:
        assert (*workers, queries) == (None, None, None)
