"""Settings files that are missing, broken, too large or hostile."""

from pathlib import Path

import pytest
from neardup_daemon.settings.settings import Settings
from neardup_daemon.settings.settings_file import MAX_FILE_BYTES, MAX_KEY_PARTS

from tests.unit.daemon.settings.refusals import refusal


def test_a_missing_file_and_a_broken_one_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[kafka\n")

    assert refusal(config=tmp_path / "none.toml").endswith("none.toml: No such file or directory")
    assert refusal(config=broken).startswith(f"{broken} is not valid TOML: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("x = " + "[" * 20_000 + "]" * 20_000, "is nested too deeply", id="nested-arrays"),
        pytest.param(
            "x = " + "{a=" * 20_000 + "1" + "}" * 20_000, "is nested too deeply", id="nested-tables"
        ),
        pytest.param("[http]\nport = " + "9" * 5_000, "is not valid TOML", id="integer-of-5,000-digits"),
        pytest.param(
            "[http]\nport = " + "9" * 4_000, "expected a whole number <= 65535", id="integer-of-4,000"
        ),
        pytest.param("x = 1\n" * 200_000, "has more than 131,072 bytes", id="too-large"),
        pytest.param(
            "[" + ".".join("a" * 20_000) + "]\nx = 1",
            "a key has 20,000 parts; at most 8 are allowed",
            id="deep-table",
        ),
        pytest.param("x = \ud800", "is not UTF-8: byte 4 is none", id="no-utf-8"),
    ],
)
def test_a_hostile_settings_file_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(content.encode(errors="surrogatepass"))

    refused = refusal(config=file)

    assert message in refused
    assert "\n" not in refused


@pytest.mark.parametrize(
    "key", ["{}", "x = {{{} = 1}}", "[{}]", 'x = {{a = """b"""", {} = 1}}', "x = '''c''''\n{} = 1"]
)
@pytest.mark.parametrize("part", ["a", '"a.b"', "'.'", "1", "a "])
def test_a_key_has_at_most_eight_parts(key: str, part: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"

    file.write_text(key.format(".".join([part] * MAX_KEY_PARTS)))
    assert "parts" not in refusal(config=file)
    file.write_text(key.format(".".join([part] * (MAX_KEY_PARTS + 1))))
    assert f"line {1 + key.count(chr(10))}: a key has 9 parts; at most 8 are allowed" in refusal(config=file)


@pytest.mark.parametrize(
    "value", ['"{}"', "'{}'", '"""\n{}"""', "'''{}'''", '"\\"{}"', '"" # {}', '"#" # "{}']
)
def test_dots_in_a_value_or_a_comment_are_no_parts_of_a_key(value: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f"[log]\nlevel = {value.format('.'.join('abcdefghijk'))}")

    assert "log.level" in refusal(config=file)


def test_a_settings_file_may_begin_with_the_mark_that_editors_write(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[http]\nport = 9000\n", encoding="utf-8-sig")

    assert Settings.load(file).http.port == 9000


def test_a_settings_file_holds_the_largest_size_and_no_byte_more(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b"#" * MAX_FILE_BYTES)

    assert Settings.load(file) == Settings()
    file.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert "has more than 131,072 bytes" in refusal(config=file)


def test_a_settings_file_without_an_end_is_refused() -> None:
    assert "has more than" in refusal(config=Path("/dev/zero"))


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        ("[api]\nworkers = 2\n", "api.workers in {}, line 2: there is no setting 'api.workers'"),
        ("\n[crawler]\ndepth = 3\n", "crawler in {}, line 2: there is no setting 'crawler'"),
        ('[http]\n"host_name" = 3\n', "http.host_name in {}, line 2: there"),
        ("log = {level = 'info', color = 1}\n", "log.color in {}, line 1: there"),
        ("\n[[crawler]]\ndepth = 3\n", "crawler in {}, line 2: there"),
        ("kafka . brokers = 1\n", "kafka.brokers in {}, line 1: there"),
        ("[redis]\n'hunter2' = 1\n", "redis.*** in {}, line 2: there"),
    ],
    ids=["in-a-table", "a-table", "quoted", "in-braces", "an-array", "dotted", "masked"],
)
def test_an_unknown_key_is_named_with_its_line(content: str, refused: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)

    assert refusal(config=file).startswith(refused.format(file))


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("[http]\nport = 1\n# port = 2\nport = 3\n", ": line 4 sets the key of line 2 again"),
        (
            '[http]\nport = 1\n[log]\nlevel = """\nport = 2\n"""\nlevel = 3\n',
            ": line 7 sets the key of line 4 again",
        ),
        ("[http]\n'a' = 1\n'b' = 1\n'b' = 2\n", ""),
        ("[[x]]\na = 1\n[[x]]\na = 1\nb.c = 1\nb = 2\n", ""),
        ("[[x]]\n[x.y]\na = 1\n[[x]]\n[x.y]\na = 2\nb.c = 1\nb = 2\n", ""),
        ("[a]\nx = [\n[1],\n[2]\n]\ny = 1\ny = 2\n", ": line 7 sets the key of line 6 again"),
        ("[a]\ny = 1\nx = [\n[1],\n]\ny = 2\n[b]\nz = 1\n", ": line 6 sets the key of line 2 again"),
        ("a.b = 1\na = 2\nc = 1\nc = 2\n", ""),
    ],
    ids=[
        "plain",
        "in-a-string",
        "quoted",
        "of-arrays",
        "below-arrays",
        "behind-a-list",
        "around-one",
        "later",
    ],
)
def test_a_key_that_is_set_twice_is_named_by_its_lines(content: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)

    message = refusal(config=file)

    assert "Cannot overwrite a value" in message
    assert message.partition(")")[2] == place


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("[http]\nport = 1\n[log]\n\n[http]\n", ": line 5 declares the table of line 1 again"),
        ("[[x]]\n[x.y]\n[[x]]\n[x.y]\n[x.y]\n", ": line 5 declares the table of line 4 again"),
    ],
    ids=["plain", "below-arrays"],
)
def test_a_table_that_is_declared_twice_is_named_by_its_lines(
    content: str, place: str, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)

    assert refusal(config=file).endswith(place)


@pytest.mark.parametrize("content", ["[[http]]\nport = 1\n", "http = 3\n"], ids=["of-tables", "no-table"])
def test_a_section_in_another_form_is_named_as_one(content: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)

    assert "; http is a section, written [http] in a file, with settings such as http." in refusal(
        config=file
    )
    assert "; page.fields is a section, " in refusal(["page.fields=x"])


@pytest.mark.parametrize(
    "content",
    [
        "[[x]]\n[x.y]\na = 1\n[[x]]\n[x.y]\na = 2\n[z\n",
        "x = [\nb = 1,\nb = 2\n]\n",
        "[a]\nx = 1\nx.y = 2\nx = [\n",
    ],
    ids=["below-arrays", "a-list", "another-error-before"],
)
def test_what_is_no_key_that_is_set_twice_is_not_named_as_one(content: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)

    assert "again" not in refusal(config=file)


def test_lines_of_lists_and_texts_are_no_places_of_settings(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[log]\nformat = """\nlevel = 1\n"""\n[archive]\nfiles = [\n[1],\n]\non_match = 1\n')

    message = refusal(config=file)

    assert f"archive.on_match in {file}, line 9: " in message
    assert f"archive.files in {file}, line 6: " in message
