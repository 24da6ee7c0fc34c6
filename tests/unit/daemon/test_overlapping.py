"""`overlap` reads untrusted pages within the limits of one page."""

from pathlib import Path

import msgspec
from neardup_daemon.inspect.overlapping import OverlapRequest, PageOverlaps, find_overlaps
from neardup_daemon.settings.settings import Settings

HEAVY = "<p>".join(f"word{number}" for number in range(250_000))


async def test_a_page_over_the_limits_is_a_complaint_and_the_next_page_is_looked_for(tmp_path: Path) -> None:
    heavy, light = tmp_path / "heavy.html", tmp_path / "light.txt"
    heavy.write_text(HEAVY)
    light.write_text("some words")
    settings = Settings()
    settings = msgspec.structs.replace(
        settings, limits=msgspec.structs.replace(settings.limits, page_seconds=0.1)
    )

    request = OverlapRequest((str(heavy), str(light)), ())
    complaint, answer = [each async for each in find_overlaps(request, settings)]

    assert isinstance(complaint, str)
    assert "page_seconds" in complaint
    assert isinstance(answer, tuple)
    assert isinstance(answer[0], PageOverlaps)
    assert answer[0].id == str(light)
