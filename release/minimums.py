"""The oldest versions of what the project depends on, as `pyproject.toml` has them."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["minimum_versions"]

_MINIMUM: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+) (?:\[[^]]*\])? >= (?P<version>[^,;]+)", re.VERBOSE)


def minimum_versions(requirements: Sequence[str]) -> str:
    r"""Return constraints for pip that allow the oldest version of each requirement and no other.

    Raises:
        ValueError: a requirement has no oldest version.

    >>> minimum_versions(["click>=8.4,<9", "aiokafka[zstd]>=0.14"])
    'click==8.4\naiokafka==0.14\n'
    """
    return "".join(f"{name}=={version}\n" for name, version in map(_minimum, requirements))


def _minimum(requirement: str) -> tuple[str, str]:
    found = _MINIMUM.match(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} has no oldest version")
    return found["name"], found["version"].strip()
