"""List every endpoint of the query API."""

from http import HTTPStatus

from neardup_daemon.inspect.querying import Answer
from neardup_daemon.query_api.answers import (
    ClusterAnswer,
    ClustersAnswer,
    ExplainAnswer,
    HostsAnswer,
    QueryAnswer,
)
from neardup_daemon.query_api.cluster_reading import ClusterParams, ClusterReading
from neardup_daemon.query_api.comparing import CompareAnswer, CompareInput, Comparing
from neardup_daemon.query_api.deciding import Deciding, DecisionAnswer, DecisionParams, PendingAnswer
from neardup_daemon.query_api.endpoints import Endpoint
from neardup_daemon.query_api.index_reading import (
    ExplainParams,
    IndexReading,
    LimitParams,
    NoParams,
    PageParams,
)
from neardup_daemon.query_api.linking import Linking, LinksAnswer, LinksParams
from neardup_daemon.query_api.topic_reading import DeadLettersAnswer, MergesAnswer, TopicReading
from neardup_stream.wire.pages import PageInput

__all__ = ["cluster_endpoints", "deciding_endpoints", "reading_endpoints", "topic_endpoints"]

_OK, _ACCEPTED, _NOT_FOUND = HTTPStatus.OK, HTTPStatus.ACCEPTED, (HTTPStatus.NOT_FOUND,)


def reading_endpoints(reading: IndexReading, comparing: Comparing) -> list[Endpoint]:
    """Return the endpoints for pages and lists that need nothing but the index."""
    return [
        Endpoint(
            method="GET",
            path="/v1/pages",
            name="page",
            summary="What a stored page matches, and its cluster.",
            params=PageParams,
            body=None,
            answers={_OK: Answer},
            problems=_NOT_FOUND,
            handle=reading.page,
        ),
        Endpoint(
            method="GET",
            path="/v1/clusters",
            name="clusters",
            summary="The largest clusters, by a survey that is made from time to time.",
            params=LimitParams,
            body=None,
            answers={_OK: ClustersAnswer},
            problems=_NOT_FOUND,
            handle=reading.clusters,
        ),
        Endpoint(
            method="POST",
            path="/v1/query",
            name="query",
            summary="What a page matches that is not stored by this request.",
            params=NoParams,
            body=PageInput,
            answers={_OK: QueryAnswer},
            problems=(),
            handle=reading.query,
        ),
        Endpoint(
            method="GET",
            path="/v1/explain",
            name="explain",
            summary="Why two stored pages match, or do not.",
            params=ExplainParams,
            body=None,
            answers={_OK: ExplainAnswer},
            problems=_NOT_FOUND,
            handle=reading.explain,
        ),
        Endpoint(
            method="POST",
            path="/v1/compare",
            name="compare",
            summary="Why two pages match, or do not, each stored or given; nothing is stored.",
            params=NoParams,
            body=CompareInput,
            answers={_OK: CompareAnswer},
            problems=_NOT_FOUND,
            handle=comparing.compare,
        ),
        Endpoint(
            method="GET",
            path="/v1/hosts",
            name="hosts",
            summary="The hosts with most duplicates, by the same survey, and their frames.",
            params=LimitParams,
            body=None,
            answers={_OK: HostsAnswer},
            problems=_NOT_FOUND,
            handle=reading.hosts,
        ),
    ]


def cluster_endpoints(reading: ClusterReading, linking: Linking) -> list[Endpoint]:
    """Return the endpoints of one cluster."""
    return [
        Endpoint(
            method="GET",
            path="/v1/clusters/{id}",
            name="cluster",
            summary="A cluster, its representative and its members, some at a time.",
            params=ClusterParams,
            body=None,
            answers={_OK: ClusterAnswer},
            problems=_NOT_FOUND,
            handle=reading.cluster,
        ),
        Endpoint(
            method="GET",
            path="/v1/clusters/{id}/links",
            name="links",
            summary="Which of the first pages of a cluster match each other.",
            params=LinksParams,
            body=None,
            answers={_OK: LinksAnswer},
            problems=_NOT_FOUND,
            handle=linking.links,
        ),
    ]


def topic_endpoints(reading: TopicReading) -> list[Endpoint]:
    """Return the endpoints that read the latest records of topics, for which Kafka is needed."""
    return [
        Endpoint(
            method="GET",
            path="/v1/merges",
            name="merges",
            summary="The newest merges of clusters among the latest events.",
            params=LimitParams,
            body=None,
            answers={_OK: MergesAnswer},
            problems=(),
            handle=reading.merges,
        ),
        Endpoint(
            method="GET",
            path="/v1/dead-letters",
            name="dead_letters",
            summary="Dead letters by reason, and the latest of them.",
            params=LimitParams,
            body=None,
            answers={_OK: DeadLettersAnswer},
            problems=(),
            handle=reading.dead_letters,
        ),
    ]


def deciding_endpoints(deciding: Deciding) -> list[Endpoint]:
    """Return the endpoints that have pages decided, for which Kafka is needed."""
    return [
        Endpoint(
            method="POST",
            path="/v1/pages",
            name="decide",
            summary="Publish a page to the pages topic, and wait for what is decided of it.",
            params=NoParams,
            body=PageInput,
            answers={_OK: DecisionAnswer, _ACCEPTED: PendingAnswer},
            problems=(),
            handle=deciding.decide,
        ),
        Endpoint(
            method="GET",
            path="/v1/decisions/{partition}/{offset}",
            name="decision",
            summary="What was decided of a record of the pages topic, for a while after its commit.",
            params=DecisionParams,
            body=None,
            answers={_OK: DecisionAnswer, _ACCEPTED: PendingAnswer},
            problems=(HTTPStatus.NOT_FOUND, HTTPStatus.GONE),
            handle=deciding.decision,
        ),
    ]
