import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.streams.files.outputs import (
    OutputFile,
    buffered_output,
    check_outputs,
    is_written_directly,
)


class Interruption(Exception):  # noqa: N818 - it stands for any end of a block but the usual one
    """The block did not come to its end."""


def write_half(output: OutputFile) -> None:
    with output as file:
        file.write(b"half")
        raise Interruption


def test_a_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    place = tmp_path / "events.jsonl"

    with OutputFile(str(place)) as file:
        file.write(b"half")
        assert not place.exists()
        file.write(b" and half")

    assert place.read_bytes() == b"half and half"
    assert list(tmp_path.iterdir()) == [place]


def test_an_interrupted_write_leaves_the_earlier_file_and_keeps_what_was_written(tmp_path: Path) -> None:
    place = tmp_path / "events.jsonl"
    place.write_bytes(b"of an earlier run")
    output = OutputFile(str(place))

    with pytest.raises(Interruption):
        write_half(output)

    assert place.read_bytes() == b"of an earlier run"
    assert output.partial_path is not None
    assert output.partial_path.read_bytes() == b"half"


def test_an_interrupted_write_of_nothing_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(Interruption), OutputFile(str(tmp_path / "events.jsonl")):
        raise Interruption

    assert not list(tmp_path.iterdir())


def test_a_symbolic_link_keeps_leading_to_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")

    for content in (b"first", b"second"):
        with OutputFile(str(tmp_path / "link")) as file:
            file.write(content)

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"second"


def test_a_file_that_is_replaced_keeps_its_rights(tmp_path: Path) -> None:
    place = tmp_path / "events.jsonl"
    place.touch(0o600)

    with OutputFile(str(place)) as file:
        file.write(b"new")

    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    place = tmp_path / ("n" * 255)

    with OutputFile(str(place)) as file:
        file.write(b"new")

    assert place.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["absent/events.jsonl", "n" * 256, "folder", "events.jsonl/below"])
def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "events.jsonl").touch()

    with pytest.raises(ConfigError, match="cannot open"), OutputFile(str(tmp_path / name)):
        pass


@pytest.mark.parametrize("name", ["file/events.jsonl", "n" * 300, "loop", "loop/events.jsonl"])
def test_a_path_that_leads_nowhere_is_no_pipe_and_opening_it_says_why(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    path = str(tmp_path / name)

    assert not is_written_directly(path)
    with pytest.raises(ConfigError, match="cannot open"):
        OutputFile(path).check_writable()


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", "-"])
def test_devices_and_standard_output_are_written_directly(path: str) -> None:
    output = OutputFile(path)

    with pytest.raises(Interruption), output:
        raise Interruption

    assert output.partial_path is None


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd", "/proc/{own}/fd"])
def test_an_open_file_that_is_named_by_its_number_is_continued(tmp_path: Path, folder: str) -> None:
    place = tmp_path / "all.jsonl"
    place.write_bytes(b"earlier\n")

    with place.open("ab") as ours:
        with OutputFile(f"{folder.format(own=os.getpid())}/{ours.fileno()}") as file:
            file.write(b"later\n")
        ours.write(b"still open\n")

    assert place.read_bytes() == b"earlier\nlater\nstill open\n"


def test_an_open_file_is_checked_before_work_starts_and_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "all.jsonl"
    place.write_bytes(b"earlier\n")

    with place.open("rb+") as ours, place.open("rb") as read_only:
        path = f"/dev/fd/{ours.fileno()}"
        assert is_written_directly(path)
        OutputFile(path).check_writable()
        with pytest.raises(ConfigError, match="cannot open"):
            OutputFile(f"/dev/fd/{read_only.fileno()}").check_writable()

    assert place.read_bytes() == b"earlier\n"


def test_an_open_file_that_is_only_read_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "pages.jsonl"
    place.write_bytes(b"earlier\n")

    with (
        place.open("rb") as ours,
        pytest.raises(ConfigError, match="cannot open"),
        OutputFile(f"/dev/fd/{ours.fileno()}"),
    ):
        pass

    assert place.read_bytes() == b"earlier\n"


def test_an_error_of_writing_names_the_file() -> None:
    with (
        pytest.raises(OSError, match=r"No space left on device: '/dev/full'"),
        OutputFile("/dev/full") as file,
    ):
        file.write(b"x")


def test_small_writes_to_a_full_pipe_that_does_not_block_all_arrive() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with os.fdopen(reader, "rb") as read_end, ThreadPoolExecutor(1) as thread:
        with os.fdopen(writer, "wb", buffering=0) as write_end:
            while write_end.write(bytes(512)):
                pass
            read = thread.submit(read_end.read)
            with buffered_output(f"/dev/fd/{writer}") as file:
                for _ in range(100_000):
                    file.write(b"ten bytes\n")

        assert read.result().lstrip(b"\0") == b"ten bytes\n" * 100_000


def test_a_pipe_that_others_share_is_written_without_blocking_and_stays_as_it_is_for_them() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as read_end:
        with os.fdopen(writer, "wb"), OutputFile(f"/dev/fd/{writer}") as file:
            assert not os.get_blocking(file.fileno())
            assert os.get_blocking(writer)
            file.write(b"ours")

        assert read_end.read() == b"ours"


def test_a_pipe_whose_reader_has_left_is_opened_and_writing_says_so() -> None:
    reader, writer = os.pipe()
    os.close(reader)

    with (
        os.fdopen(writer, "wb"),
        OutputFile(f"/dev/fd/{writer}") as file,
        pytest.raises(BrokenPipeError),
    ):
        file.write(b"ours")


def test_small_writes_are_gathered_and_all_arrive(tmp_path: Path) -> None:
    place = tmp_path / "pairs.jsonl"

    with buffered_output(str(place)) as file:
        for number in range(100_000):
            file.write(b"%d\n" % number)

    assert place.read_bytes().splitlines() == [b"%d" % number for number in range(100_000)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One file under four names, a folder under two, and a pipe."""
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_bytes(b"{}\n")
    Path("hard.jsonl").hardlink_to("in.jsonl")
    Path("soft.jsonl").symlink_to("in.jsonl")
    Path("dangling.jsonl").symlink_to("absent.jsonl")
    Path("folder").mkdir()
    Path("other").symlink_to("folder")
    os.mkfifo("pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        pytest.param(["in.jsonl"], ["in.jsonl"], id="the-input-itself"),
        pytest.param(["in.jsonl"], ["./folder/../in.jsonl"], id="the-input-by-another-path"),
        pytest.param(["in.jsonl"], ["hard.jsonl"], id="a-hard-link-to-the-input"),
        pytest.param(["in.jsonl"], ["soft.jsonl"], id="a-symbolic-link-to-the-input"),
        pytest.param(["soft.jsonl"], ["-", "in.jsonl"], id="the-target-of-the-input"),
        pytest.param(["pipe"], ["pipe"], id="a-pipe-into-itself"),
        pytest.param(["in.jsonl"], ["out.jsonl", "./out.jsonl"], id="two-outputs-that-do-not-exist-yet"),
        pytest.param(["in.jsonl"], ["folder/o", "other/o"], id="two-outputs-by-a-linked-folder"),
        pytest.param(["-"], ["absent.jsonl", "dangling.jsonl"], id="two-outputs-by-a-dangling-link"),
        pytest.param(["-"], ["soft.jsonl", "hard.jsonl"], id="two-outputs-that-exist"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_output_that_is_an_input_or_another_output_is_refused(
    inputs: list[str], outputs: list[str]
) -> None:
    with pytest.raises(ConfigError, match=r"is an input and an output|are the same output"):
        check_outputs(inputs, outputs)


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        pytest.param(["in.jsonl", "hard.jsonl"], ["out.jsonl", "folder/out.jsonl"], id="files-of-their-own"),
        pytest.param(["/dev/null", "-"], ["/dev/null", "-", "/dev/null"], id="the-null-device"),
        pytest.param(["-"], ["-", "-"], id="standard-input-and-output"),
        pytest.param(["in.jsonl"], ["pipe", "pipe"], id="one-pipe-for-two-outputs"),
        pytest.param(["absent.jsonl"], ["nowhere/out.jsonl"], id="what-opening-will-refuse"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_outputs_that_destroy_nothing_are_accepted(inputs: list[str], outputs: list[str]) -> None:
    check_outputs(inputs, outputs)


def test_an_output_is_complete_once_its_bytes_and_then_its_name_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "events.jsonl"
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        fsync(descriptor)
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    def noted_replace(*names: Path) -> None:
        replace(*names)
        steps.append("rename")

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)

    with OutputFile(str(place)) as file:
        file.write(b"whole")

    assert steps == ["file", "rename", "directory"]


@pytest.mark.parametrize(
    "number",
    [errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO],
    ids=lambda each: errno.errorcode[each],
)
def test_only_a_failed_disk_ends_an_output_whose_directory_is_not_synchronized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    place = tmp_path / "events.jsonl"
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    output = OutputFile(str(place))
    is_disk_failure = number == errno.EIO

    with (
        pytest.raises(StreamUnavailable, match="cannot write") if is_disk_failure else nullcontext(),
        output as file,
    ):
        file.write(b"whole")

    assert place.read_bytes() == b"whole"
    assert output.partial_path is None
