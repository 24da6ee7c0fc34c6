"""What is wrong with how an input was read, and what a target of the fuzzer has to say."""

import tempfile
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from time import process_time
from types import TracebackType
from typing import Self

from tests.fuzz.corpus import Corpus

__all__ = ["SLOW_SECONDS", "Backstop", "FileTarget", "Finding", "Target"]

SLOW_SECONDS = 1.0
"""CPU time of one input that is worth a look, though no limit is exceeded."""


class Finding(Exception):  # noqa: N818 - what the fuzzer is for
    """An input that breaks a promise."""


class Backstop(Exception):  # noqa: N818 - it held
    """An input that only the limits of its process stopped; the scan of markup may learn of its kind."""


class Target(ABC):
    """One thing that reads what others wrote.

    Attributes:
        corpus: where mutations begin.
        slow_seconds: CPU time of one input that is worth a look.
    """

    corpus: Corpus
    slow_seconds = SLOW_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def try_out(self, content: bytes) -> None:
        """Read the input, by the clock.

        Raises:
            Finding: it breaks a promise, or is slow.
        """
        start = process_time()
        self.try_without_clock(content)
        if process_time() - start > self.slow_seconds:
            raise Finding(f"took {process_time() - start:.1f} s")

    def try_without_clock(self, content: bytes) -> None:
        """Read the input, however long that takes: on a busy machine the time says little.

        Raises:
            Finding: it breaks a promise.
        """
        try:
            self.read(content)
        except (Finding, Backstop):
            raise
        except Exception as error:
            raise Finding(f"{type(error).__name__}: {error}") from error

    @abstractmethod
    def read(self, content: bytes) -> None:
        """Read the input, whose errors are known."""


class FileTarget(Target):
    """One reader of files.

    Attributes:
        folder: for the file, while the target is open.
    """

    def __init__(self) -> None:
        self._temporary: AbstractContextManager[str] = tempfile.TemporaryDirectory()
        self.folder = Path()

    def __enter__(self) -> Self:
        self.folder = Path(self._temporary.__enter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._temporary.__exit__(kind, error, trace)
