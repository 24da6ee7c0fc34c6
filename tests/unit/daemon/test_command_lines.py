"""Commands refuse what they cannot do before they begin."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from neardup_daemon.cli import main
from neardup_daemon.exit_codes import USAGE

from neardup_stream.streams.files.jsonl import JSON_LINES_ENDINGS
from neardup_stream.streams.files.parquet import PARQUET_ENDING

RUN = """
import sys
from neardup_daemon.cli import main
code = main(sys.argv[1:])
print(code, "numba" in sys.modules)
"""
LONG_NUMBER = "9" * 5000


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "--pages", "1M", "--near-duplicates", "nan"],
        ["plan", "--pages", "1M", "--framed", "nan"],
        ["plan", "--pages", "1M", "--master-gib", "nan"],
        ["plan", "--pages", "1M", "--master-gib", "5e-324"],
        ["plan", "--pages", "1M", "--master-gib", "inf"],
        ["plan", "--pages", "1M", "--html-bytes", LONG_NUMBER],
        ["plan", "--pages", "1M", "--html-bytes", "-1"],
        ["plan", "search", "--pages", LONG_NUMBER, "--terms", "100"],
        ["plan", "search", "--pages", "10", "--terms", "nan"],
        ["plan", "search", "--pages", "10", "--terms", "100", "--false-drops", "inf"],
        ["check", "--create-topics", "--partitions", "2147483648"],
        ["tail", "--idle-seconds", "nan"],
        ["verify", "--wait", "nan"],
        ["freeze", "crawl.jsonl", "-o", "a.nda", "--unseen-days", "nan"],
        ["demo", "--pages", LONG_NUMBER],
    ],
    ids=lambda command: " ".join(word[:12] for word in command),
)
def test_numbers_that_no_machine_has_are_refused(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == USAGE
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("freeze {} -o a.nda --common 3", "--common is for the part 'passages'"),
        ("verify --pages {} --events {} --wait 9", "--wait is for a group that reads the pages topic"),
        ("search word {} --count --limit 1", "--count shows no pages"),
        ("plan --pages 20M search --pages 3 --terms 5", "--pages is not for 'plan search'"),
        ("plan --set http.port=1 search --pages 3 --terms 5", "--set is not for 'plan search'"),
        ("run --embedded --redis-url redis://nowhere:1", "--embedded starts a private Redis"),
        ("query page --state . --redis-url redis://nowhere:1", "--state names a directory's index"),
        ("dedup - -", "standard input (-) is named twice"),
        ("freeze - {} - -o a.nda", "standard input (-) is named twice"),
        ("produce - -", "standard input (-) is named twice"),
        ("fingerprint - -", "standard input (-) is named twice"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    command: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(b"")

    assert main(command.format(crawl, crawl).split()) == USAGE
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    "module",
    [
        "files_run",
        "frame_learning",
        "inspect.explaining",
        "inspect.frame_showing",
        "inspect.querying",
        "repair.expiring",
        "repair.rebuilding",
    ],
)
def test_commands_that_need_redis_alone_load_neither_kafka_nor_metrics(module: str) -> None:
    code = (
        f"import sys, neardup_daemon.{module}; print({{'aiokafka', 'prometheus_client'}} & {{*sys.modules}})"
    )

    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert printed == "set()\n"


def test_the_largest_numbers_have_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    largest = ["--pages", "1000G", "--rate", "1000G", "--words", "1000G", "--url-bytes", "1000G"]

    assert main(["plan", *largest, "--master-gib", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("option", ["--pages", "--events", "--dead-letters"])
def test_verify_refuses_files_that_do_not_belong_together(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.jsonl"
    file.touch()

    assert main(["verify", option, str(file)]) == USAGE
    assert "--pages and --events go together" in capsys.readouterr().err


def test_the_help_of_kept_pages_names_the_formats_that_are_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["dedup", "--help"])

    _, _, described = capsys.readouterr().out.partition("--keep-representatives FILE ")
    described, _, _ = described.partition("--write-warc OUT.warc.gz ")
    assert all(ending in described for ending in (*JSON_LINES_ENDINGS, PARQUET_ENDING))


@pytest.mark.parametrize(
    ("command", "is_logged"),
    [
        (["dedup", "none.jsonl"], True),
        (["freeze", "none.jsonl", "-o", "a.nda"], True),
        (["fingerprint", "none.jsonl"], True),
        (["overlap", "none.jsonl", "--against", "none.nda"], True),
        (["dedup", "none.jsonl", "--state", "state", "--redis"], False),
        (["dedup", "none.jsonl", "--unknown"], False),
        (["dedup", "none.jsonl", "--set", "unknown=1"], False),
        (["archive", "info", "none.nda"], False),
    ],
)
def test_an_error_is_a_log_line_where_the_command_logs_and_its_line_and_settings_are_right(
    command: list[str], capsys: pytest.CaptureFixture[str], *, is_logged: bool
) -> None:
    assert main(command) == USAGE

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("{" if is_logged else "neardup-stream: ")
    assert not is_logged or json.loads(line)["event"] == "failed"


def test_an_error_is_a_dated_line_where_logs_are_text_and_go_to_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["dedup", "none.jsonl", "--set", "log.format=text"]) == USAGE

    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z error   failed  error=none.jsonl: no such file", line)


@pytest.mark.parametrize("output", ["--events", "--clusters", "--dead-letters", "--report"])
@pytest.mark.parametrize("used", ["archive", "settings", "secret"])
def test_an_output_does_not_take_the_place_of_what_the_run_reads(
    output: str, used: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl, archive, settings, secret = (
        tmp_path / name for name in ("crawl.jsonl", "october.nda", "neardup.toml", "password")
    )
    for path in (crawl, archive, secret):
        path.write_bytes(b"as it was")
    settings.write_text(f'[redis]\nusername = "me"\npassword_file = "{secret}"\n')
    before = settings.read_bytes()
    target = {"archive": archive, "settings": settings, "secret": secret}[used]
    link = tmp_path / "link"
    link.symlink_to(target)

    code = main(
        ["dedup", str(crawl), "--config", str(settings), "--archive", str(archive), output, str(link)]
    )

    assert code == USAGE
    assert "is an input and an output" in capsys.readouterr().err
    assert (archive.read_bytes(), settings.read_bytes(), secret.read_bytes()) == (
        b"as it was",
        before,
        b"as it was",
    )


@pytest.mark.parametrize("name", ["state/appendonly.aof", "link/new.jsonl"])
@pytest.mark.parametrize(
    "command",
    [("dedup", "pages.jsonl", "--events"), ("forget", "page-17", "--events"), ("freeze", "--index", "-o")],
    ids=lambda words: words[0],
)
def test_no_output_lies_in_the_folder_of_an_index(
    command: tuple[str, ...], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, output = tmp_path / "state", tmp_path / name
    state.mkdir()
    (tmp_path / "link").symlink_to(state)

    assert main([*command, str(output), "--state", str(state)]) == USAGE

    assert "is in the folder of --state" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    "command",
    [
        ["dedup", "pages.jsonl", "--events", "-", "--state", "loop"],
        ["dedup", "pages.jsonl", "--state", "state", "--events", "loop"],
        ["search", "--settle", "word", "n" * 300],
        ["replay", "--save", "n" * 300],
    ],
    ids=lambda words: " ".join(word[:9] for word in words),
)
def test_a_path_that_leads_nowhere_is_refused(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "pages.jsonl").touch()

    assert main(command) == USAGE

    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("command", [["dedup"], ["freeze", "-o", "a.nda"]], ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("name", "message"),
    [("none.jsonl", "no such file"), ("pages.txt", "pages are read from"), ("folder", "is a directory")],
)
def test_an_input_is_refused_before_kernels_are_loaded(
    command: list[str], name: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "pages.txt").touch()
    (tmp_path / "folder").mkdir()

    run = subprocess.run(
        [sys.executable, "-c", RUN, *command, name], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert message in run.stderr
    assert run.stdout.split() == [str(USAGE), "False"]
