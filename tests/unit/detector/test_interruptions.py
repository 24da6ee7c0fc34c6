"""A detector whose call was interrupted says what it would have said anyway, or refuses to say anything."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import pytest

from neardup_stream import Detector, DetectorConfig
from neardup_stream.clusters.rules import Choice, Support, components
from neardup_stream.errors import NeardupError
from tests.pipelines import essay

TEXT = essay(1)

REFUSAL = "a call was interrupted, so what is stored may lack verdicts: make a new Detector"

LATER: dict[str, Callable[[Detector], Awaitable[object]]] = {
    "add": lambda detector: detector.add({"a": TEXT}),
    "add_pages": lambda detector: detector.add_pages([]),
    "query": lambda detector: detector.query({"asked": TEXT}),
    "forget": lambda detector: detector.forget(["a"]),
}


STEPS = {
    "register": "pipeline/register.py",
    "probe": "pipeline/probe.py",
    "verify": "pipeline/verify.py",
    "decide": "pipeline/decide.py",
    "write_ranks": "stores/memory/records.py",
    "remove": "indexes/permuted.py",
    "trim": "clusters/clusters.py",
    "tidy": "clusters/clusters.py",
}
"""Functions that decide pages, and behind `decide` what finishes them, with their files."""


@contextmanager
def interrupted_in(step: str, error: type[BaseException]) -> Iterator[None]:
    """Raise an error as this thread enters a step."""
    entered = {step, f"{step}_requests"}

    def interrupt(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name in entered and code.co_filename.endswith(STEPS[step]):
            sys.setprofile(None)
            raise error

    sys.setprofile(interrupt)
    try:
        yield
    finally:
        sys.setprofile(None)


def ruled(rule: Callable[[], None]) -> Detector:
    """Return a detector whose rule calls ours before it chooses."""

    def choose(supports: Sequence[Support]) -> Choice:
        rule()
        return components(supports)

    return Detector(DetectorConfig(rule=choose))


def cancel_this_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def fail() -> None:
    raise ZeroDivisionError


async def assert_refuses(detector: Detector) -> None:
    for call in LATER.values():
        with pytest.raises(NeardupError, match=REFUSAL):
            await asyncio.wait_for(call(detector), 30)


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError, MemoryError])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("call", ["add", "forget"])
def test_after_an_interruption_in_a_step_every_call_is_refused(
    call: str, step: str, error: type[BaseException]
) -> None:
    with asyncio.Runner() as runner:
        detector = Detector()
        runner.run(detector.add({"a": essay(2), "b": essay(2)}))

        async def interrupted() -> None:
            with interrupted_in(step, error):
                await LATER[call](detector)

        with pytest.raises(error):
            runner.run(interrupted())
        runner.run(assert_refuses(detector))


async def test_after_a_call_that_was_cancelled_while_it_decided_every_call_is_refused() -> None:
    detector = ruled(cancel_this_task)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(detector.add({"a": TEXT, "b": TEXT}))
    await assert_refuses(detector)


async def test_after_an_error_of_the_rule_every_call_is_refused_also_one_that_waited() -> None:
    detector = ruled(fail)

    failed, waited = await asyncio.gather(
        detector.add({"a": TEXT, "b": TEXT}), detector.add({"c": TEXT}), return_exceptions=True
    )

    assert isinstance(failed, ZeroDivisionError)
    assert str(waited) == REFUSAL
    await assert_refuses(detector)


async def test_a_call_that_is_cancelled_before_it_decides_changes_nothing() -> None:
    detector = Detector()
    await detector.add({"a": TEXT})

    calls = [asyncio.create_task(detector.add({"b": TEXT, "c": TEXT})) for _ in range(2)]
    await asyncio.sleep(0)  # one prepares its pages in a thread, the other waits for its turn
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)

    (verdict,) = await detector.add({"b": TEXT})
    assert all(call.cancelled() for call in calls)
    assert (verdict.kind, verdict.representative) == ("exact", "a")
    assert [match.id for match in verdict.matches] == ["a"]


async def test_a_call_that_is_refused_or_a_query_that_is_interrupted_spoils_nothing() -> None:
    detector = Detector()
    await detector.add({"a": TEXT})

    with pytest.raises(TypeError):
        await detector.add({"": TEXT})
    with pytest.raises(MemoryError), interrupted_in("probe", MemoryError):
        await detector.query({"asked": TEXT})

    (verdict,) = await detector.add({"b": TEXT})
    assert (verdict.kind, verdict.representative) == ("exact", "a")


@pytest.mark.parametrize("call", ["add", "query"])
async def test_a_call_whose_loop_was_closed_leaves_no_call_waiting(call: str) -> None:
    detector, loop = Detector(), asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_lost: None)  # says that a task of it waits for ever
    await detector.add({"a": TEXT})

    def begin() -> asyncio.Future[object]:
        task = asyncio.ensure_future(LATER[call](detector), loop=loop)
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
        return task

    lost = await asyncio.to_thread(begin)
    (verdict,) = await asyncio.wait_for(detector.query({"b": TEXT}), 30)

    assert not lost.done()
    assert verdict.representative == "a"
