"""Where mutations begin: good input of every kind but markup, and the words of each language."""

import base64
import gzip
import io
from collections.abc import Sequence

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup_stream.errors import BadPage
from neardup_stream.message import Partition, Position, Record
from neardup_stream.wire.dead_letters import dead_letter, to_json_line
from tests.fuzz.corpus import TEXT_WORDS, Corpus
from tests.unit.streams.archives import resource, response, warc_record

__all__ = [
    "DEAD_LETTERS",
    "FOREIGN_PAGES",
    "PAGES",
    "SETTINGS",
    "TEXTS",
    "WARC",
    "in_parquet",
]

_NUMBERS = [b"0", b"-1", b"1e309", b"9" * 400, b"18446744073709551616", b"0.1", b"null", b"true"]
_PAGE = {
    "url": "https://site.example/a?b=c#d",
    "text": "some words of a page that is long enough to be judged",
}
PAGES = Corpus(
    [
        msgspec.json.encode(page)
        for page in (
            _PAGE,
            {**_PAGE, "id": "an id", "fetched_at": "2026-11-22T01:55:00Z", "meta": {"a": [1, {"b": None}]}},
            {"url": "http://fa\u00df.de:80/../x%2f", "html": "<p>some <b>words", "status": 200, "score": 0.5},
            {
                "url": "//x",
                "body": base64.b64encode(b"<p>caf\xe9").decode(),
                "content_type": "text/html; charset=latin-1",
            },
            {
                "url": "a",
                "body": base64.b64encode(b"\xff\xfea\0").decode(),
                "charset": "utf-16",
                "language": "de",
            },
        )
    ],
    [
        *_NUMBERS,
        *TEXT_WORDS,
        *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b'{"a":', b"\\ud800", b"\\udc00", b"\\u0000"),
        *(
            b'"url":',
            b'"html":',
            b'"text":',
            b'"body":',
            b'"id":',
            b'"meta":',
            b'"fetched_at":',
            b"\xff",
            b"=",
        ),
        *(
            b"http://",
            b"xn--",
            b"%25",
            b"@",
            b"[::1]",
            b"/../",
            b"?a%d&",
            b"\xc0\x80",
            b".",
            b"+24:00",
            b"-00-",
        ),
    ],
)

FOREIGN_PAGES = Corpus(
    [
        msgspec.json.encode(page)
        for page in (
            {"url": ["https://site.example/"], "body": ["<p>text"], "depth": 1, "status": "200"},
            {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": "true"},
            {"id": "1", "url": "https://site.example/", "ts": "2026-11-22T01:55:00.123Z", "text": "a text"},
            {"key": "a", "url": "a", "response": {"body": "<p>text", "headers": [["A", "b"]]}, "status": {}},
            {"url": "https://site.example/", "content": "text", "tstamp": 1_795_309_260_123, "boost": 0.5},
        )
    ],
    [*PAGES.words, b'"ts":', b'"content":', b'"response":{', b'"format":', b'"status":"', b"[[", b"]]"],
)


def in_parquet(compression: str) -> bytes:
    """Return pages as rows of a Parquet file."""
    count = 20
    columns = {
        "url": [f"https://site.example/{number}" for number in range(count)],
        "html": ["<p>some words of a page", None] * (count // 2),
        "body": [b"caf\xe9"] * count,
        "fetched_at": pa.array(range(count), pa.timestamp("ns")),
        "status": [200] * count,
        "meta": [{"a": [1, 2], "b": "c"}] * count,
    }
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content, compression=compression, row_group_size=count // 2)
    return content.getvalue()


TEXTS = Corpus(["some words \u00e9 \u6771\u4eac of a page".encode() * 5, b"x " * 50], TEXT_WORDS)

_HTML = b"<p>some words of a page</p>" * 3
_ARCHIVE = response("http://site.example/1", _HTML) + resource("http://site.example/2", b"text", "text/plain")
WARC = Corpus(
    [
        _ARCHIVE,
        gzip.compress(response("http://site.example/3", _HTML)) + gzip.compress(_ARCHIVE),
        warc_record("conversion", "http://site.example/4", b"the text", "text/plain"),
        response("http://site.example/5", gzip.compress(_HTML), headers=("Content-Encoding: gzip",)),
    ],
    [
        *_NUMBERS,
        *(
            b"WARC/1.0\r\n",
            b"\r\n",
            b"\r\n\r\n",
            b"\n",
            b"\x1f\x8b\x08\0",
            b"\x28\xb5\x2f\xfd",
            b"\0",
            b"HTTP/1.1 200\r\n",
        ),
        *(
            b"Content-Length: ",
            b"Content-Length: 900000000\r\n",
            b"WARC-Type: response\r\n",
            b"WARC-Target-URI: ",
        ),
        *(
            b"Transfer-Encoding: chunked\r\n",
            b"Content-Encoding: gzip, br, deflate\r\n",
            b"ffffffff\r\n",
            b"0\r\n",
        ),
        *(
            b"WARC-Truncated: length\r\n",
            b"WARC-Date: 2026-11-22T00:00:00Z\r\n",
            b"Content-Type: ",
            b"X%d: y\r\n",
        ),
    ],
)

SETTINGS = Corpus(
    [
        b'[kafka]\npages_topic = "crawl"\ntls = true\n[redis]\nurl = "redis://:secret@h/0"\n',
        b'[page.fields]\nhtml = "content"\nurl = "target.url"\n[pages]\nstatus = [200, 404]\n',
        b"[limits]\nmax_page_bytes = 1\npage_seconds = 0.5\n[pipeline]\nmax_batch_pages = 2\n",
    ],
    [
        *_NUMBERS,
        *(
            b"[",
            b"]",
            b"=",
            b'"',
            b"'''",
            b"\n",
            b"#",
            b"{",
            b"}",
            b".",
            b"_",
            b"inf",
            b"nan",
            b"1979-05-27",
            b"\xff",
        ),
        *(b"[a.b]", b"a=[[", b"[[a]]", b"kafka.", b'"redis://h h"', b"\\u0000", b"x%d=1\n", b"a.%d=", b"{a="),
    ],
)


def _letter(value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()) -> bytes:
    record = Record(
        position=Position(Partition("pages", 0), 7), key=b"\xff", value=value, headers=headers, timestamp_ms=1
    )
    return to_json_line(dead_letter(record, BadPage("not_json", "bad"), None))


DEAD_LETTERS = Corpus(
    [_letter(b"x"), _letter(None), _letter(b"\xff", [("neardup.attempts", b"3"), ("a", b"\xff")])],
    [
        *_NUMBERS,
        *(
            b"{",
            b"}",
            b"[",
            b"]",
            b'"',
            b",",
            b":",
            b'"key":',
            b'"value_base64":',
            b'"headers":[',
            b'{"name":"a"},',
        ),
        *(
            b"neardup.attempts",
            b"neardup.error.reason",
            b"\\ud800",
            b"====",
            b"\xff",
            b'"value":"%d"',
            b"\xe2\x80\xa8",
        ),
    ],
)
