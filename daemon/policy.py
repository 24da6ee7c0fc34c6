"""What verdicts depend on, of the settings: daemons that share a namespace must agree on it."""

from daemon.settings import Settings
from neardup_stream.stores.redis_namespace import Policy

__all__ = ["policy"]


def policy(settings: Settings) -> Policy:
    """Every setting that counts, by name; what changes stored bytes as well is part of the schema."""
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
    return Policy(verdict.policy, counted)
