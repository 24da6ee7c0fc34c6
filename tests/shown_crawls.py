"""Crawls to look at in the web page: the demo's through Kafka, many clusters, and hostile pages."""

import random
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from aiokafka import AIOKafkaProducer
from neardup_daemon.demo.sample_crawl.crawl import generate_crawl
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl

from tests.pipelines import essay
from tests.servers.kafka import run_apart

__all__ = [
    "CLUSTERS",
    "HOSTILE",
    "HOSTILE_REASON",
    "HOSTILE_RECORDS",
    "LARGE_CLUSTER_PAGES",
    "Fed",
    "demo_crawl",
    "hostile_pages",
    "many_clusters",
    "publish",
    "records_of",
    "syndicated",
]

Fed = tuple[bytes, bytes | None]
"""Key and value of a record."""

CLUSTERS = 10_000

LARGE_CLUSTER_PAGES = 260

SCRIPT = "<script>window.injected = true</script>"
IMAGE = "<img src=x onerror='window.injected = true'>"

HOSTILE = (
    f"https://hostile.example/{SCRIPT}",
    f'https://hostile.example/"{IMAGE}',
    "https://hostile.example/\u202egpj.exe",
    "javascript:window.injected=true//https://hostile.example/",
    "data:text/html,<script>window.injected=true</script>",
    "https://hostile.example/" + "long" * 900,
    f"vbscript:{SCRIPT}{IMAGE}",
)
"""URLs of hostile pages: with markup, direction overrides, and schemes that run."""

HOSTILE_TEXT = " ".join((essay(77), SCRIPT, IMAGE, "\u202eevil\u202c", "<style>*{display:none}</style>"))

HOSTILE_RECORDS: tuple[Fed, ...] = (
    (SCRIPT.encode(), msgspec.json.encode({"url": HOSTILE[0], "text": "", "fetched_at": IMAGE})),
    (b"\xff\x00" + IMAGE.encode(), IMAGE.encode()),
)
"""Records that become dead letters, with markup in keys and details."""

HOSTILE_REASON = f"\u202ereason\u200b{SCRIPT}"
"""Of a dead letter that another program wrote."""


def hostile_pages() -> list[Fed]:
    """Return pages with hostile names, all of one text, so that they are one cluster."""
    return [
        (name.encode(), msgspec.json.encode({"url": name, "id": name, "text": HOSTILE_TEXT}))
        for name in HOSTILE
    ]


def demo_crawl(page_count: int) -> SampleCrawl:
    """Return the demo's crawl."""
    return generate_crawl(page_count)


def records_of(crawl: SampleCrawl) -> list[Fed]:
    """Return the records of a crawl."""
    return [(record.key, record.value) for record in crawl.records]


def syndicated(page_count: int, seed: int = 5) -> list[Fed]:
    """Return one story on many sites: copies of it, edits, and edits of edits."""
    dice = random.Random(seed)
    texts = [[f"story{number}" for number in range(400)]]
    pages: list[Fed] = []
    for number in range(page_count):
        words = list(dice.choice(texts))
        if dice.random() < 0.45:
            for place in dice.sample(range(400), dice.choice((2, 6, 14))):
                words[place] = f"edit{number}x{place}"
            texts.append(words)
        paper = dice.choice(("daily", "herald", "courier", "mirror"))
        url = f"https://{paper}{number % 7}.example/story-{number}"
        pages.append((url.encode(), msgspec.json.encode({"url": url, "text": " ".join(words)})))
    return pages


def many_clusters(count: int = CLUSTERS) -> Iterator[bytes]:
    """Yield pages of so many clusters: pairs of copies, and one large cluster."""
    for number in range(count - 1):
        text = " ".join(f"word{number}x{place}" for place in range(40))
        for copy in ("a", "b"):
            url = f"https://site{number % 500}.example/{copy}/{number}"
            yield msgspec.json.encode({"url": url, "text": text})
    for number in range(LARGE_CLUSTER_PAGES):
        yield msgspec.json.encode({"url": f"https://large.example/{number}", "text": essay(1)})


def publish(
    bootstrap_servers: str, topic: str, records: Iterable[Fed], headers: Sequence[tuple[str, bytes]] = ()
) -> None:
    """Append records to a topic, in order, each with these headers."""

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
            for key, value in records:
                await producer.send(topic, value, key=key, headers=headers)

    run_apart(send())
