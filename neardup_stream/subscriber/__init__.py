"""Reads the events of neardup-stream: decodes them, adds them up, keeps the result in a file, acts on it.

Pure Python without dependencies. The distribution `neardup-events` has these files as `neardup_events`.
"""

from .actions import Actions, Pages
from .decoding import CloudEvent, NotAnEvent, decode
from .subscription import Subscription
from .tracked import Change, Effect, Fold, PageStatus

__all__ = [
    "Actions",
    "Change",
    "CloudEvent",
    "Effect",
    "Fold",
    "NotAnEvent",
    "PageStatus",
    "Pages",
    "Subscription",
    "decode",
]
