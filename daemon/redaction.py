"""Secrets out of anything a person or a log collector may read."""

import re

__all__ = ["redact"]

_USERINFO = re.compile(r"(?<=://)\S*@")
_PASSWORD_PARAMETER = re.compile(r"(?i)(?<=password=)[^&\s\"']+")


def redact(text: str) -> str:
    """`text` with user names and passwords inside URLs replaced by `***`.

    Everything up to the last `@` goes, because a password typed without percent-encoding may hold any
    character. Harmless text that looks the same goes too.

    >>> redact("redis://user:p@ss@cache:6379/0")
    'redis://***@cache:6379/0'
    >>> redact("unix:///run/redis.sock?password=secret&db=1")
    'unix:///run/redis.sock?password=***&db=1'
    """
    return _PASSWORD_PARAMETER.sub("***", _USERINFO.sub("***@", text))
