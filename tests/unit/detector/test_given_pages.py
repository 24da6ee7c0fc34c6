"""A page with a wrong field is refused before anything of its call is kept."""

import math
from typing import Any

import numpy as np
import pytest

from neardup_stream import Detector, Page
from neardup_stream.errors import BadPage
from tests.pipelines import essay

TEXT = essay(1)


def page(**fields: Any) -> Page:
    usual: dict[str, Any] = {"id": "page", "url": "u", "fetched_at_seconds": 0, "text": TEXT}
    return Page(**(usual | fields))


async def refused(fields: dict[str, Any], error: type[Exception], match: str) -> None:
    detector = Detector()

    with pytest.raises(error, match=match):
        await detector.add_pages([page(id="fine"), page(**fields)])

    assert (await detector.add({"later": TEXT}))[0].kind == "unique"
    assert (await detector.add({"last": TEXT}))[0].representative == "later"


@pytest.mark.parametrize("page_id", [None, 1, b"page", ""])
async def test_an_id_is_a_string_that_is_not_empty(page_id: Any) -> None:
    await refused({"id": page_id}, TypeError, "a page id is a string that is not empty")


@pytest.mark.parametrize(
    ("field", "value", "type_name"),
    [
        ("url", None, "NoneType"),
        ("url", b"u", "bytes"),
        ("fetched_at_seconds", None, "NoneType"),
        ("fetched_at_seconds", "2024", "str"),
        ("text", b"bytes", "bytes"),
        ("html", b"<p>bytes", "bytes"),
        ("body", "letters", "str"),
        ("charset", 8, "int"),
        ("content_type", b"text/html", "bytes"),
        ("meta", "{}", "str"),
    ],
)
async def test_a_field_of_another_type_is_refused_by_its_name(field: str, value: Any, type_name: str) -> None:
    await refused({field: value}, TypeError, f"page 'page': {field} is of type {type_name}")


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1.0, 1e12])
async def test_a_time_outside_the_years_of_the_stream_is_refused(seconds: float) -> None:
    await refused({"fetched_at_seconds": seconds}, BadPage, "is outside the years 1970 to 9999")


@pytest.mark.parametrize("field", ["id", "url", "charset", "content_type"])
async def test_half_of_a_character_is_refused_where_it_cannot_be_stored_or_read(field: str) -> None:
    await refused({field: "half \ud83d"}, BadPage, "lone_surrogate")


@pytest.mark.parametrize("page_ids", [[1], b"page", [None], [""]])
async def test_what_is_no_id_is_not_forgotten_and_nothing_else_is(page_ids: Any) -> None:
    detector = Detector()
    await detector.add({"page": TEXT})

    with pytest.raises(TypeError, match="a page id is a string that is not empty"):
        await detector.forget(["page", *page_ids])

    assert (await detector.query({"asked": TEXT}))[0].representative == "page"


async def test_strings_and_numbers_of_numpy_are_those_of_python() -> None:
    detector = Detector()
    given = page(id=np.str_("a"), url=np.str_("u"), fetched_at_seconds=np.float64(1), text=np.str_(TEXT))

    await detector.add_pages([given])
    (found,) = await detector.add({np.str_("b"): np.str_(TEXT)})

    assert (found.kind, found.representative) == ("exact", "a")
    assert type(found.representative) is str
