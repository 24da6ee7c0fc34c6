"""Decide which environment variables are settings, and which only look like ours.

Kubernetes gives every pod the addresses of the Services around it: one named neardup-stream sets
`NEARDUP_STREAM_PORT=tcp://10.0.0.1:9464` and a dozen more, which must stop no daemon.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping

__all__ = ["PREFIX", "ignored_variables", "setting_variables"]

PREFIX = "NEARDUP_"

_SERVICE_NAME = re.compile(
    r".*_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)"
)
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://.*")


def setting_variables(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Variables that set something, or are misspelled so that they set nothing, with their dotted names.

    Args:
        environ: all variables.
        names: dotted names of all settings.
    """
    known = frozenset(names)
    sections = {name.partition(".")[0] for name in known}
    for variable in sorted(environ):
        if variable.startswith(PREFIX):
            name = variable.removeprefix(PREFIX).lower().replace("__", ".")
            if name in known or not _is_foreign(variable, environ[variable], name, sections):
                yield variable, name


def ignored_variables(environ: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Variables that begin as ours do and are none: they set nothing, and are worth a warning."""
    ours = {variable for variable, _ in setting_variables(environ, names)}
    return sorted(variable for variable in environ if variable.startswith(PREFIX) and variable not in ours)


def _is_foreign(variable: str, value: str, name: str, sections: Container[str]) -> bool:
    if _SERVICE_NAME.fullmatch(variable) or (
        variable.endswith("_PORT") and _SERVICE_ADDRESS.fullmatch(value)
    ):
        return True
    return "." not in name and name.partition("_")[0] not in sections
