"""What an answer of the query API says about a page."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["duplicate_of"]

_DUPLICATE: Final = "io.neardup.duplicate.v1"


def duplicate_of(answer: Mapping[str, Any]) -> str | None:
    """Return the URL of the page that a page is a near-duplicate of; None if it is none.

    Pages are compared by id, because one page has several spellings of its URL. In an answer about a text
    that is not stored the cluster is that of the page's stored text, and says nothing of this one. A page
    that is left to archives (`archived`) is none, whatever it matches.

    Args:
        answer: of `POST /v1/query` or `POST /v1/pages`.
    """
    verdict = answer.get("verdict")
    if verdict is not None and not (answer.get("cluster") and answer["page"]["is_stored"]):
        return str(answer["matches"][0]["url"]) if verdict in ("exact", "near") else None
    for event in answer.get("events", ()):
        if event["type"] == _DUPLICATE:
            data = event["data"]
            cluster = data.get("cluster")
            return _other(cluster, data["page"]["id"]) if cluster else str(data["matches"][0]["url"])
    cluster = answer.get("cluster")
    return _other(cluster, answer.get("id") or answer["page"]["id"]) if cluster else None


def _other(cluster: Mapping[str, Any], page_id: str) -> str | None:
    """Return the URL of the representative; None if it is the page itself."""
    representative = cluster["representative"]
    return None if cluster["size"] == 1 or representative["id"] == page_id else str(representative["url"])
