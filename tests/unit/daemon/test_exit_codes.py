import errno

import click
import pytest
from neardup_daemon.exit_codes import exit_code_of

from neardup_stream.errors import (
    ConfigError,
    CorruptData,
    DependencyLost,
    InvariantBroken,
    StoreUnavailable,
    StreamUnavailable,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(ConfigError("wrong"), 2, id="settings"),
        pytest.param(click.UsageError("wrong"), 2, id="command-line"),
        pytest.param(DependencyLost("gone"), 3, id="unavailable-too-long"),
        pytest.param(StoreUnavailable("unavailable"), 3, id="store-unavailable"),
        pytest.param(StreamUnavailable("unavailable"), 3, id="stream-unavailable"),
        pytest.param(OSError(errno.ENOSPC, "disk full"), 3, id="disk-full"),
        pytest.param(OSError(errno.EFBIG, "file too large"), 3, id="limit-of-file-sizes"),
        pytest.param(CorruptData("bytes"), 4, id="corrupt"),
        pytest.param(InvariantBroken("promise"), 70, id="broken-promise"),
        pytest.param(ZeroDivisionError(), 70, id="anything-else"),
        pytest.param(FileNotFoundError(), 70, id="an-error-of-another-class"),
        pytest.param(BrokenPipeError(), 141, id="reader-left"),
    ],
)
def test_the_class_of_an_error_decides_the_exit_code(error: Exception, code: int) -> None:
    assert exit_code_of(error) == code


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        pytest.param([ConfigError("a"), ConfigError("b")], 2, id="all-alike"),
        pytest.param([DependencyLost("a"), CorruptData("b")], 4, id="corrupt-outranks-lost"),
        pytest.param([CorruptData("a"), KeyError("b")], 70, id="a-bug-outranks-all"),
        pytest.param([BrokenPipeError(), ExceptionGroup("", [DependencyLost("b")])], 3, id="nested"),
    ],
)
def test_a_group_is_as_bad_as_its_worst_member(errors: list[Exception], code: int) -> None:
    assert exit_code_of(ExceptionGroup("tasks", errors)) == code
