from neardup_daemon.telemetry.stage_times import StageTimes


def seconds(times: StageTimes, stage: str) -> dict[str, float]:
    (family,) = times.collect()
    return {
        sample.labels["activity"]: sample.value
        for sample in family.samples
        if sample.labels["stage"] == stage
    }


def test_an_activity_that_continues_counts_up_to_the_scrape() -> None:
    now = [100.0]
    times = StageTimes(lambda: now[0])

    times.switch("probe", "waiting_for_input")
    now[0] += 5
    times.switch("probe", "busy")
    now[0] += 2
    first = seconds(times, "probe")
    now[0] += 1
    second = seconds(times, "probe")

    assert first == {"waiting_for_input": 5, "busy": 2, "waiting_for_output": 0}
    assert second == {"waiting_for_input": 5, "busy": 3, "waiting_for_output": 0}


def test_a_stage_that_never_began_has_no_time() -> None:
    assert set(seconds(StageTimes(), "decide").values()) == {0}
