"""Collect the settings that verdicts depend on: daemons that share a namespace must agree on them."""

from typing import Final

from neardup_daemon.archives import archive_ids
from neardup_daemon.settings.settings import Settings
from neardup_stream.stores.index_identity import Policy

__all__ = ["agreed_archive_ids", "policy"]

_ARCHIVES: Final = "archive.files"


def policy(settings: Settings) -> Policy:
    """Return every setting that changes verdicts, by name, except those of the schema.

    Raises:
        ConfigError: archives decide which pages are skipped, and one of them is missing, or is no archive.
        CorruptData: one of them is damaged.
    """
    verdict, clusters = settings.verdict, settings.clusters
    counted: dict[str, str | float] = {
        "index.bucket_cap": settings.index.bucket_cap,
        "clusters.rule": clusters.rule,
    }
    if verdict.scheme == "sketch":
        counted |= {
            "verdict.near_resemblance": verdict.near_resemblance,
            "verdict.near_containment": verdict.near_containment,
            "verdict.contained_containment": verdict.contained_containment,
            "verdict.content_containment": verdict.content_containment,
        }
    if clusters.rule == "linked":
        counted["clusters.link_containment"] = clusters.link_containment
    if settings.archive.on_match == "skip" and settings.archive.files:
        counted |= {"archive.on_match": "skip", _ARCHIVES: ",".join(archive_ids(settings))}
    return Policy(verdict.policy, counted)


def agreed_archive_ids(agreed: Policy) -> list[str] | None:
    """Return the ids of the archives in a policy, in the order of their files; None if it has none."""
    ids = agreed.settings.get(_ARCHIVES)
    return None if ids is None else str(ids).split(",")
