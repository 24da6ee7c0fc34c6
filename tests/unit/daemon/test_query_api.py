"""What the query API admits, refuses, and says of it."""

import asyncio
from http import HTTPStatus
from importlib.resources import files

import msgspec
import pytest
from neardup_daemon.query_api.access import Access
from neardup_daemon.query_api.admission import Admission
from neardup_daemon.query_api.cluster_reading import ClusterParams
from neardup_daemon.query_api.index_reading import ExplainParams, LimitParams, NoParams, PageParams
from neardup_daemon.query_api.parameters import read_parameters
from neardup_daemon.query_api.problems import Refused
from neardup_daemon.settings.query_api import Api, is_loopback

from neardup_stream.errors import ConfigError
from neardup_stream.pipeline.contents_inside import SMALL_FRAME


class Gauges:
    """Keeps the latest counts."""

    def requests(self, running: int, queued: int) -> None:
        self.counts = running, queued


async def test_as_many_requests_run_and_wait_as_the_settings_say() -> None:
    gauges = Gauges()
    admission = Admission(2, 1, gauges)
    first, _ = await admission.enter(), await admission.enter()
    waiting = asyncio.create_task(admission.enter())
    await asyncio.sleep(0)
    assert gauges.counts == (2, 1)

    with pytest.raises(Refused) as refused:
        await admission.enter()

    assert (refused.value.problem.status, refused.value.headers) == (429, {"Retry-After": "1"})
    first.release()
    first.release()
    third = await waiting
    assert gauges.counts == (2, 0)
    third.release()
    assert gauges.counts == (1, 0)


async def test_a_request_that_stops_waiting_makes_room_in_the_queue() -> None:
    gauges = Gauges()
    admission = Admission(1, 1, gauges)
    place = await admission.enter()
    waiting = asyncio.create_task(admission.enter())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert gauges.counts == (1, 0)

    waiting = asyncio.create_task(admission.enter())
    await asyncio.sleep(0)
    place.release()

    assert await waiting


def test_the_web_page_takes_the_threshold_that_the_verdict_took() -> None:
    script = files("neardup_daemon.query_api") / "web" / "comparison.js"

    assert f"const SMALL_FRAME = {SMALL_FRAME:g};" in script.read_text(encoding="utf-8")


async def test_without_a_queue_the_first_that_would_wait_is_refused() -> None:
    admission = Admission(1, 0, Gauges())
    await admission.enter()

    with pytest.raises(Refused):
        await admission.enter()


@pytest.mark.parametrize(
    ("of", "query", "field"),
    [
        (LimitParams, {"limit": ["1001"]}, "limit"),
        (LimitParams, {"limit": ["1", "2"]}, "limit"),
        (LimitParams, {"limits": ["1"]}, "limits"),
        (ExplainParams, {"url": ["a"]}, "url"),
        (ExplainParams, {"url": ["a", "b", "c"]}, "url"),
        (ExplainParams, {"url": ["a", ""]}, "url[1]"),
        (ClusterParams, {"id": ["0"]}, "id"),
    ],
)
def test_a_refused_parameter_is_named(
    of: type[msgspec.Struct], query: dict[str, list[str]], field: str
) -> None:
    with pytest.raises(Refused) as refused:
        read_parameters(of, {"id": "00000000000000ff.3"} if of is ClusterParams else {}, query)

    (error,) = refused.value.problem.errors
    assert (refused.value.problem.status, error.field) == (422, field)


@pytest.mark.parametrize(
    ("of", "query", "message"),
    [
        (PageParams, {"id": ["a"]}, "id: is no parameter of this request; it takes ?url="),
        (PageParams, {}, "url: is missing; the request takes ?url="),
        (LimitParams, {"url": ["a"]}, "url: is no parameter of this request; it takes ?limit="),
        (ClusterParams, {"url": ["a"]}, "url: is no parameter of this request; it takes ?limit=, ?after="),
        (NoParams, {"url": ["a"]}, "url: is no parameter of this request; it takes none"),
        (LimitParams, {"limit": ["1e1"]}, "limit: Expected `int` in plain digits"),
        (LimitParams, {"limit": ["5.0"]}, "limit: Expected `int` in plain digits"),
        (LimitParams, {"limit": ["+5"]}, "limit: Expected `int`, got `str`"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_answered_with_what_the_request_takes(
    of: type[msgspec.Struct], query: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(Refused) as refused:
        read_parameters(of, {"id": "00000000000000ff.3"} if of is ClusterParams else {}, query)

    assert refused.value.problem.detail == message


def test_parameters_are_read_with_their_defaults() -> None:
    assert read_parameters(LimitParams, {}, {}) == LimitParams(20)
    assert read_parameters(LimitParams, {}, {"limit": ["1000"]}) == LimitParams(1000)
    assert read_parameters(ExplainParams, {}, {"url": ["a", "b"]}) == ExplainParams(["a", "b"])


@pytest.mark.parametrize(
    ("authorization", "is_allowed"),
    [("Bearer secret", True), ("bearer  secret ", True), ("Bearer Secret", False), ("Basic secret", False)],
)
def test_the_token_is_compared_whole(authorization: str, *, is_allowed: bool) -> None:
    access = Access(Api(token="secret"))  # noqa: S106 - of this test

    if is_allowed:
        access.check(authorization, "anything.example")
    else:
        with pytest.raises(Refused) as refused:
            access.check(authorization, "localhost")
        assert refused.value.problem.status == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("LOCALHOST", True)]
    + [(name, False) for name in ("192.0.2.1", "::", "api.example", "localhost.example", "")],
)
def test_only_addresses_of_this_machine_need_no_token(host: str, *, is_local: bool) -> None:
    assert is_loopback(host) == is_local
    if is_local:
        Api(host=host)
    else:
        with pytest.raises(ConfigError, match=r"api\.token_file"):
            Api(host=host)
        Api(host=host, token_file="/run/token")  # noqa: S106 - a path
        Api(host=host, tls_certificate_file="/c", tls_client_ca_file="/ca")


@pytest.mark.parametrize(
    "settings",
    [
        {"token": "a", "token_file": "b"},
        {"tls_key_file": "key"},
        {"tls_client_ca_file": "ca"},
        {"host": "192.0.2.1", "tls_certificate_file": "certificate"},
    ],
)
def test_half_of_what_security_needs_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        Api(**settings)  # type: ignore[arg-type]  # texts alone
