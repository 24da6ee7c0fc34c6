"""Compare two pages of which one at least may be given as text or HTML; nothing is stored."""

from collections.abc import Set as AbstractSet
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from neardup_daemon.inspect.explanation_words import sentences
from neardup_daemon.inspect.page_lookup import AskedPage, given_record
from neardup_daemon.inspect.shared_words import ShownText, shown_texts
from neardup_daemon.preparing import build_viewer
from neardup_daemon.query_api.answers import ExplainAnswer
from neardup_daemon.query_api.endpoints import Call, Reply
from neardup_daemon.query_api.index_reading import OpenIndex, PageName, stored_page
from neardup_daemon.query_api.problems import (
    Refused,
    refused_field,
    refused_input,
    refused_json,
    refused_page,
)
from neardup_stream.errors import BadPage
from neardup_stream.frames.table import FrameTable
from neardup_stream.message import Skipped
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.pipeline.kept_text import NOTHING_KEPT
from neardup_stream.wire.pages import OWN_FIELDS

__all__ = ["CompareAnswer", "CompareInput", "ComparedPage", "Comparing"]

_NO_FRAME: Final[frozenset[int]] = frozenset()


class ComparedPage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page to compare: stored, or given with its content.

    Attributes:
        url: of the page; without content, its id will do.
        html: markup.
        text: visible text.
    """

    url: PageName
    html: str | None = None
    text: str | None = None


class CompareInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two pages to compare."""

    first: ComparedPage
    second: ComparedPage


class CompareAnswer(ExplainAnswer, frozen=True, kw_only=True):
    """Why two pages match, or do not, with the texts of those that are given.

    Attributes:
        first_text: of the first page; absent for a stored one, of which no text is kept.
        second_text: of the second page.
    """

    first_text: ShownText | UnsetType = UNSET
    second_text: ShownText | UnsetType = UNSET


class _Side(NamedTuple):
    """A page, its text, and the hashes of the lines that are frame; no text of a stored page."""

    page: AskedPage
    text: str | None = None
    frame: AbstractSet[int] = _NO_FRAME


class Comparing:
    """Answers calls to compare two pages.

    Args:
        index: that is asked; its preparation keeps texts.
    """

    def __init__(self, index: OpenIndex) -> None:
        self._index = index
        self._settings, self._stores, self._threads = index.settings, index.stores, index.threads

    async def compare(self, call: Call) -> Reply:
        """Answer why two pages match, or do not.

        Raises:
            Refused: a page is not stored, or can never be a page.
            StoreUnavailable: the store is unavailable.
            CorruptData: what is stored is not ours.
        """
        given = _given(call.body)
        sides = await self._side("first", given.first), await self._side("second", given.second)
        return Reply(await self._answer(*sides))

    async def _side(self, name: str, given: ComparedPage) -> _Side:
        if given.html is None and given.text is None:
            otherwise = "needs html or text beside its url"
            return _Side(await stored_page(given.url, f"{name}.url", self._stores, otherwise))
        record = given_record(msgspec.json.encode(given), (OWN_FIELDS,))
        try:
            page = await self._index.prepared(record)
        except BadPage as error:
            raise _refused(name, error) from error
        assert not isinstance(page, Skipped)  # noqa: S101 - it has no content type and no status
        assert page.arrival is not None  # noqa: S101 - a given page has one
        text = (page.arrival.kept or NOTHING_KEPT).decoded
        frame = await self._frame(page)
        placed = await self._index.placed(page)
        is_whole = len(text) <= self._settings.api.shown_characters
        return _Side(placed._replace(text=text if is_whole else None), text, frame)

    async def _frame(self, page: AskedPage) -> AbstractSet[int]:
        """Return the hashes of the lines of a given page that are frame, by the stored table of its site."""
        arrival = page.arrival
        if arrival is None or arrival.lines is None or not arrival.site:
            return _NO_FRAME
        site = site_hash(arrival.site, self._stores.pages.handle_key)
        (packed,) = await self._stores.frames.fetch([site])
        viewer = build_viewer(self._settings, self._index.preparation)
        is_content = await self._threads.run(viewer.content_of, arrival, FrameTable.unpack(packed))
        return frozenset(arrival.lines.hashes[np.logical_not(is_content)].tolist())

    async def _answer(self, first: _Side, second: _Side) -> CompareAnswer:
        explanation = await self._index.explained(first.page, second.page)
        texts = await self._threads.run(
            shown_texts,
            (first.text or "", second.text or ""),
            (first.frame, second.frame),
            self._settings.sketch.shingle_tokens,
            self._settings.api.shown_characters,
        )
        return CompareAnswer(
            words=sentences(explanation),
            first_text=UNSET if first.text is None else texts[0],
            second_text=UNSET if second.text is None else texts[1],
            **msgspec.structs.asdict(explanation),
        )


_INPUT: Final = msgspec.json.Decoder(CompareInput)


def _given(body: bytes) -> CompareInput:
    try:
        return _INPUT.decode(body)
    except msgspec.ValidationError as error:
        raise refused_input(error) from error
    except msgspec.DecodeError as error:
        raise refused_json(body, error) from error
    except UnicodeDecodeError as error:
        raise refused_field("", str(error), HTTPStatus.BAD_REQUEST) from error


def _refused(name: str, error: BadPage) -> Refused:
    """Return the refusal of a given page; the field at fault is that of this page."""
    problem = refused_page(error).problem
    field = f"{name}.{problem.errors[0].field}".rstrip(".")
    return refused_field(field, problem.errors[0].message, HTTPStatus(problem.status))
