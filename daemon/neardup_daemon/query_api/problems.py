"""Report errors of the query API as problem documents (RFC 9457) that name the field at fault."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from neardup_stream.errors import BadPage
from neardup_stream.message import Skipped
from neardup_stream.wire.lone_surrogates import lone_surrogate
from neardup_stream.wire.pages import PageInput

__all__ = [
    "PROBLEM_TYPE",
    "RETRY_SOON",
    "FieldProblem",
    "Problem",
    "Refused",
    "refused_field",
    "refused_input",
    "refused_json",
    "refused_page",
    "refused_skip",
]

PROBLEM_TYPE: Final = "application/problem+json"

RETRY_SOON: Final = MappingProxyType({"Retry-After": "1"})
"""The header of an answer that may be another one a second later."""

_UNREADABLE: Final = frozenset({"not_json", "invalid_utf8", "lone_surrogate", "empty_value"})
"""Reasons of bytes that are no JSON at all."""

_SKIPPING_FIELDS: Final = frozenset({"content_type", "status"})
"""Fields of a page for which it is skipped; the reason has the same name."""

_PLACE = re.compile(r"(?P<what>.*?) - at `\$\.?(?P<field>[^`]*)`\Z", re.DOTALL)
_NAMED = re.compile(r"(missing required|unknown) field `(?P<field>[^`]*)`")


class FieldProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one field of a request.

    Attributes:
        field: of the body, the path or the query; empty for the body as a whole.
        message: what was expected.
    """

    field: str
    message: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was not answered, as RFC 9457 has it.

    Attributes:
        title: the status in words.
        status: of HTTP.
        detail: one sentence, with the remedy where there is one.
        errors: the fields at fault, where the request has a field at fault.
    """

    title: str
    status: Annotated[int, Meta(ge=400, le=599)]
    detail: str
    errors: tuple[FieldProblem, ...] = ()


class Refused(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """Ends a request with a problem document.

    Args:
        status: of HTTP.
        detail: one sentence.
        errors: the fields at fault.
        headers: of the answer.
    """

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        errors: tuple[FieldProblem, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(title=status.phrase, status=status.value, detail=detail, errors=errors)
        self.headers = headers or {}


def refused_field(field: str, message: str, status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> Refused:
    """Return a refusal because of one field."""
    detail = f"{field}: {message}" if field else message
    return Refused(status, detail, (FieldProblem(field=field, message=message),))


def refused_input(error: msgspec.ValidationError) -> Refused:
    """Return the refusal of input that msgspec refused, naming the field in which it stopped."""
    return refused_field(*_field_and_fault(str(error)))


def refused_json(body: bytes, error: msgspec.DecodeError) -> Refused:
    """Return the refusal of a body that is no JSON."""
    return refused_field("", lone_surrogate(body) or str(error), HTTPStatus.BAD_REQUEST)


def refused_page(error: BadPage) -> Refused:
    """Return the refusal of a page that can never be one, naming the field at fault where it is one."""
    field, fault = _field_and_fault(error.detail)
    if not field and (own := error.detail.partition(" ")[0].rstrip(":")) in PageInput.__struct_fields__:
        field, fault = own, fault.removeprefix(f"{own}: ")
    status = HTTPStatus.BAD_REQUEST if error.reason in _UNREADABLE else HTTPStatus.UNPROCESSABLE_ENTITY
    return refused_field(field, f"{fault} ({error.reason})", status)


def refused_skip(skipped: Skipped) -> Refused:
    """Return the refusal of a page that daemons skip, naming the field at fault where it is one."""
    if skipped.reason in _SKIPPING_FIELDS:
        return refused_field(skipped.reason, "the page is skipped")
    return refused_field("", f"the page is skipped: {skipped.reason}")


def _field_and_fault(message: str) -> tuple[str, str]:
    """Return the field that a message of msgspec names, and the rest of the message."""
    place = _PLACE.match(message)
    fault, field = (place["what"], place["field"]) if place else (message, "")
    if named := _NAMED.search(fault):
        field = f"{field}.{named['field']}".lstrip(".")
    return field, fault
