import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from tests.system.conftest import call

TEXT = "the quick brown fox jumps over the lazy dog and runs far and wide"


def page(number: int, text: str = TEXT) -> bytes:
    return json.dumps({"url": f"https://example.com/{number}", "text": text}).encode() + b"\n"


def fingerprint(*arguments: str, stdin: bytes = b"") -> tuple[list[dict[str, Any]], str]:
    """Return the objects on standard output, and standard error; the exit code is 0."""
    run = call("fingerprint", *arguments, stdin=stdin)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()], run.stderr.decode()


def test_each_page_is_a_line_with_its_simhash_as_a_decimal_string(tmp_path: Path) -> None:
    texts = [TEXT, TEXT + " today"]
    file = tmp_path / "pages.jsonl"
    file.write_bytes(b"".join(page(number, text) for number, text in enumerate(texts)))

    lines, _ = fingerprint(str(file))

    simhashes = fingerprint_texts(texts, SimhashConfig()).fingerprints
    urls = ["https://example.com/0", "https://example.com/1"]
    assert lines == [
        {"id": url, "url": url, "simhash": str(simhash), "tokens": tokens}
        for url, simhash, tokens in zip(urls, simhashes, (14, 15), strict=True)
    ]


def test_a_page_below_min_tokens_has_no_simhash_and_says_why() -> None:
    pages = [page(count, " ".join(f"word{n}" for n in range(count))) for count in (19, 20, 21)]

    lines, errors = fingerprint("--verdict-min-tokens", "20", stdin=b"".join(pages))

    assert [(line["tokens"], line["simhash"] is None, line.get("undecided")) for line in lines] == [
        (19, True, "too_short"),
        (20, False, None),
        (21, False, None),
    ]
    assert errors == "3 records: 2 fingerprinted, 1 undecided\n"


def test_bad_records_are_counted_and_five_of_them_shown() -> None:
    records = page(1) + b"json failed to parse\n" * 7 + page(2)

    lines, errors = fingerprint("--set", "pipeline.max_batch_pages=4", stdin=records)

    *shown, summary = errors.splitlines()
    assert len(lines) == 2
    assert [line.rpartition(": JSON")[0] for line in shown] == [
        f"dead letter: standard input, record {number}: not_json" for number in (2, 3, 4, 5, 6)
    ]
    assert summary == "9 records: 2 fingerprinted, 7 dead letters"


def test_a_crawler_s_own_field_names_are_read(tmp_path: Path) -> None:
    config = tmp_path / "crawl.toml"
    config.write_text('[page.fields]\nurl = "target.url"\ntext = "content"\n')
    record = json.dumps({"target": {"url": "https://example.com/1"}, "content": TEXT}).encode()

    lines, _ = fingerprint("--config", str(config), "-", stdin=record)

    assert [line["url"] for line in lines] == ["https://example.com/1"]


@pytest.mark.parametrize("words", [["fingerprint", "-"], ["config", "show"], ["plan", "--pages", "1000"]])
def test_settings_that_are_appended_to_are_refused_and_stay_as_they_are(
    tmp_path: Path, words: list[str]
) -> None:
    config = tmp_path / "my.toml"
    config.write_text("[verdict]\nmin_tokens = 7\n")

    with config.open("ab") as output:
        run = subprocess.run(
            [sys.executable, "-m", "neardup_daemon", *words, "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert run.returncode == 2
    assert b"is an input and an output" in run.stderr
    assert config.read_text() == "[verdict]\nmin_tokens = 7\n"


def test_an_input_that_is_appended_to_is_refused(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(page(1))

    with crawl.open("ab") as output:
        run = subprocess.run(
            [sys.executable, "-m", "neardup_daemon", "fingerprint", str(crawl)],
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert run.returncode == 2
    assert b"is an input and an output" in run.stderr
