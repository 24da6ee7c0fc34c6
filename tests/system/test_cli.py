import json
import logging
import os
import shlex
import subprocess
import sys
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path
from textwrap import dedent

import click
import pytest
from neardup_daemon import cli
from neardup_daemon.cli import COMMANDS, main

from neardup_stream.errors import ConfigError, CorruptData, DependencyLost, InvariantBroken
from tests.system.conftest import call

PROGRAM = [sys.executable, "-m", "neardup_daemon"]
HEAVY = {"aiohttp", "aiokafka", "numba", "numpy", "prometheus_client", "pydantic", "redis", "resiliparse"}

ERRORS: dict[str, Exception] = {
    "config": ConfigError("http.port is taken"),
    "lost": DependencyLost("Redis stayed unavailable"),
    "corrupt": CorruptData("redis://user:hunter2@cache holds rubbish"),
    "bug": InvariantBroken("a promise"),
    "group": ExceptionGroup(
        "tasks", [DependencyLost("Redis stayed unavailable"), DependencyLost("Redis stayed unavailable")]
    ),
}


@click.command()
@click.argument("name")
def fail(name: str) -> None:
    raise ERRORS[name]


@pytest.fixture(autouse=True)
def failing_command(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = COMMANDS["config"]._replace(target=f"{__name__}:fail")
    monkeypatch.setitem(cli.COMMANDS, "fail", entry)


def test_help_lists_every_command_and_imports_none() -> None:
    script = dedent("""
        import json, sys
        from neardup_daemon.cli import main
        code = main(["--help"])
        print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
    """)

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    code, modules = json.loads(run.stderr)
    assert code == 0
    assert HEAVY.isdisjoint(modules)
    assert not [name for name in modules if name.startswith("neardup_daemon.commands.")]
    assert {line.split()[0] for line in run.stdout.partition("Commands:")[2].splitlines() if line} >= {
        "run",
        "dedup",
        "find-all",
        "config",
    }


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "fail"])
def test_each_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0

    assert capsys.readouterr().out.startswith(f"Usage: neardup-stream {command} ")


@pytest.mark.parametrize("command", ["query", "explain", "forget", "expire", "rebuild"])
def test_help_of_a_command_needs_no_client_and_no_compiler(command: str) -> None:
    script = dedent("""
        import sys
        from neardup_daemon.cli import main
        main([sys.argv[1], "--help"])
        print(*sys.modules, file=sys.stderr)
    """)

    run = subprocess.run([*PROGRAM[:1], "-c", script, command], capture_output=True, text=True, check=True)

    assert {"aiohttp", "aiokafka", "numba", "redis", "resiliparse"}.isdisjoint(run.stderr.split())


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        pytest.param(
            ["dedupe"],
            "neardup-stream: there is no command 'dedupe'; did you mean dedup? (see 'neardup-stream --help')",
            id="close-command",
        ),
        pytest.param(
            ["config", "show", "--cnfig", "x"],
            "neardup-stream: No such option '--cnfig'. Did you mean '--config'?"
            " (see 'neardup-stream config show --help')",
            id="close-option",
        ),
        pytest.param(
            ["check", "--partitions", "many"],
            "neardup-stream: Invalid value for '--partitions': 'many' is not a valid whole number"
            " (see 'neardup-stream check --help')",
            id="whole-number",
        ),
        pytest.param(
            ["verify", "--wait", "long"],
            "neardup-stream: Invalid value for '--wait': 'long' is not a valid number"
            " (see 'neardup-stream verify --help')",
            id="number",
        ),
        pytest.param(["fail", "config"], "neardup-stream: http.port is taken", id="settings"),
        pytest.param(
            ["config", "show", "--set", "http.prot=1"],
            "neardup-stream: --set http.prot: there is no setting 'http.prot'; did you mean http.port?",
            id="close-setting",
        ),
    ],
)
def test_what_the_user_got_wrong_is_one_line_and_exit_2(
    argv: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2

    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("lost", 3, "neardup-stream: Redis stayed unavailable"),
        ("group", 3, "neardup-stream: Redis stayed unavailable"),
        ("corrupt", 4, "neardup-stream: redis://***@cache holds rubbish"),
    ],
)
def test_what_the_world_got_wrong_is_one_line_and_its_own_code(
    name: str, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fail", name]) == code

    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.parametrize(
    "command", [["tail"], ["replay"], ["verify"], ["forget", "page-1"]], ids=lambda words: words[0]
)
def test_brokers_that_are_unavailable_are_reported_in_one_line_with_the_remedy(command: list[str]) -> None:
    run = subprocess.run(
        [*PROGRAM, *command, "--kafka-bootstrap-servers", "127.0.0.1:1"], capture_output=True, check=False
    )

    (line,) = run.stderr.decode().splitlines()
    assert run.returncode == 3
    assert line.startswith("neardup-stream: 127.0.0.1:1 cannot be reached: ")
    assert "see that the brokers run" in line


def test_our_own_bug_is_logged_with_its_traceback_and_exits_70(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["fail", "bug"]) == 70

    (record,) = caplog.records
    assert record.getMessage() == "internal_error"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], InvariantBroken)


def test_our_own_bug_is_printed_with_the_remedy_by_a_command_that_writes_no_logs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging, "lastResort", None)

    assert main(["fail", "bug"]) == 70

    head, *traceback = capsys.readouterr().err.splitlines()
    assert "critical internal_error  remedy=this is a bug in neardup-stream" in head
    assert traceback[-1] == "neardup_stream.errors.InvariantBroken: a promise"


def test_no_command_at_all_shows_the_help_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2

    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["config schema", "demo --pages 300"])
def test_a_reader_that_leaves_ends_the_process_quietly_with_141(command: str) -> None:
    with subprocess.Popen(
        [*PROGRAM, *command.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (141, b"")


def test_what_the_encoding_of_standard_output_does_not_have_is_escaped() -> None:
    run = call("search", "--help", environ={"PYTHONIOENCODING": "latin-1"})

    assert (run.returncode, run.stderr) == (0, b"")
    assert rb"FILE\u2026" in run.stdout


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_standard_streams_that_are_closed_at_the_start_do_not_get_the_events_of_a_file(
    tmp_path: Path, closed: str
) -> None:
    pages, events = tmp_path / "pages.jsonl", tmp_path / "events.jsonl"
    pages.write_text(
        "".join(f'{{"url": "http://a.example/{n}", "text": "{"the same words " * 40}"}}\n' for n in range(3))
    )
    command = shlex.join([*PROGRAM, "dedup", str(pages), "--workers", "1", "--events", str(events)])

    run = subprocess.run(["sh", "-c", f"{command} {closed}"], check=False)

    assert run.returncode == 0
    assert len(events.read_text().splitlines()) == 2


@pytest.mark.parametrize("words", ["dedup -", "config schema", "find-all -b 6 -d 3"])
def test_a_command_that_has_something_to_write_to_a_closed_standard_output_says_so(words: str) -> None:
    run = subprocess.run(
        ["sh", "-c", f"{shlex.join(PROGRAM)} {words} >&-"],
        input=b"1\n2\n",
        stderr=subprocess.PIPE,
        check=False,
    )

    assert run.returncode == 2
    assert b"standard output is closed: " in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_what_is_written_to_a_pipe_that_does_not_block_waits_for_its_reader() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    fcntl(writer, F_SETPIPE_SZ, 4096)  # less than the schema
    with subprocess.Popen([*PROGRAM, "config", "schema"], stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        with os.fdopen(reader, "rb") as read_end:
            schema = read_end.read()
        assert process.stderr is not None
        complaint = process.stderr.read()

    assert (process.returncode, complaint) == (0, b"")
    assert "$defs" in json.loads(schema)


def test_an_error_whose_reader_has_left_keeps_its_exit_code() -> None:
    with subprocess.Popen(
        [*PROGRAM, "dedup", "missing.jsonl", "--state", "a", "--redis"], stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        process.stderr.close()

        assert process.wait(60) == 2


def test_a_full_disk_under_the_output_is_reported_and_exits_3() -> None:
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run([*PROGRAM, "config", "schema"], stdout=full, stderr=subprocess.PIPE, check=False)

    assert run.returncode == 3
    assert run.stderr == b"neardup-stream: cannot write standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "redirected", "code"),
    [
        ("config show", ">/dev/full 2>&1", 3),
        ("nosuch", "2>/dev/full", 2),
        ("", "2>/dev/full", 2),
        ("--version", "2>/dev/full", 0),
    ],
    ids=["both-streams", "error", "help", "nothing-to-say"],
)
def test_a_full_disk_under_standard_error_leaves_the_exit_code(
    words: str, redirected: str, code: int
) -> None:
    run = subprocess.run(["sh", "-c", f"{shlex.join(PROGRAM)} {words} {redirected}"], check=False, timeout=60)

    assert run.returncode == code


@pytest.mark.parametrize(
    ("value", "terminal", "is_colored"),
    [("1", "xterm", False), ("", "xterm", True), ("", "dumb", False)],
    ids=["set", "empty", "dumb terminal"],
)
def test_no_color_is_heeded(
    value: str, terminal: str, monkeypatch: pytest.MonkeyPatch, *, is_colored: bool
) -> None:
    contexts: list[bool | None] = []

    @click.command()
    def show() -> None:
        contexts.append(click.get_current_context().color)

    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setattr(cli._neardup_stream, "get_command", lambda *_: show)

    assert main(["config"]) == 0
    assert contexts == [None if is_colored else False]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("neardup-stream fi", ["find-all", "find-clusters", "fingerprint"]),
        ("neardup-stream check --cr", ["--create-topics"]),
    ],
    ids=["commands", "options"],
)
def test_a_shell_is_shown_what_words_may_be(line: str, words: list[str]) -> None:
    run = call(environ={"_NEARDUP_STREAM_COMPLETE": "bash_complete", "COMP_LINE": line})

    assert sorted(line.removeprefix("plain,") for line in run.stdout.decode().split()) == words


def test_a_shell_is_given_its_script() -> None:
    run = call(environ={"_NEARDUP_STREAM_COMPLETE": "zsh_source"})

    assert run.returncode == 0
    assert b"#compdef neardup-stream" in run.stdout
