"""What people call a site, and how much of it is frame."""

import numpy as np
import pytest
from neardup_daemon.inspect.frame_sites import frame_lines, named_site
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import ConfigError
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import FrameTable


@pytest.mark.parametrize(
    ("scope", "name", "site"),
    [
        ("host", "www.Example.com", "www.example.com"),
        ("host", "https://www.example.com/news?x=1", "www.example.com"),
        ("host", "faß.example", "xn--fa-hia.example"),
        ("domain", "www.example.co.uk", "example.co.uk"),
        ("meta.project", "https://any/thing", "https://any/thing"),
    ],
    ids=["host", "url", "international", "domain", "meta"],
)
def test_a_site_is_named_as_its_pages_name_it(scope: str, name: str, site: str) -> None:
    assert named_site(name, Settings.load(overrides=[f"frames.scope={scope}"])) == site


@pytest.mark.parametrize(
    ("overrides", "name", "complaint"),
    [
        (["frames.scope=off"], "a.com", "frames.scope = off"),
        (["verdict.scheme=simhash"], "a.com", "verdict.scheme = simhash"),
        (["frames.scope=language"], "a.com", "frames.scope: expected"),
        ([], "", "'' is no host"),
        ([], " ", "' ' is no host"),
        ([], "mailto:joe@example.com", "is no host"),
        ([], "http://[", "is no host"),
    ],
    ids=["off", "no-sketches", "no-such-scope", "empty", "blank", "address", "no-url"],
)
def test_what_has_no_frame_is_refused(overrides: list[str], name: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        named_site(name, Settings.load(overrides=overrides))


def test_lines_are_frame_by_the_bounds_for_what_they_stand_in() -> None:
    counts = np.array([1, 2, 4, 5, 9, 10], np.uint8)
    table = FrameTable(20, np.arange(6, dtype=np.uint32), counts)

    assert frame_lines(table, FrameConfig()) == (3, 5, 1)


def test_while_few_pages_are_known_half_of_them_are_enough() -> None:
    table = FrameTable(4, np.arange(3, dtype=np.uint32), np.array([1, 2, 4], np.uint8))

    assert frame_lines(table, FrameConfig()) == (2, 2, 0)
    assert frame_lines(FrameTable.empty(), FrameConfig()) == (0, 0, 0)
