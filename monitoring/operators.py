"""The dashboard for those who run the daemons."""

from typing import Final

from monitoring.operators_health import DEPENDENCIES, PROCESS, QUERY_API
from monitoring.operators_work import BOTTLENECK, INPUT, KEEPING_UP
from monitoring.panels import Board

__all__ = ["OPERATORS"]


OPERATORS: Final = Board(
    "neardup-operators",
    "neardup-stream: operation",
    "Does it keep up, where is the time spent, what is wrong with the input, Redis, Kafka and the processes?",
    (KEEPING_UP, BOTTLENECK, INPUT, DEPENDENCIES, QUERY_API, PROCESS),
)
