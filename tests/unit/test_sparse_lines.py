from neardup_stream.sparse_lines import SparseLines


def test_the_first_case_has_a_line_and_then_one_a_minute_has_the_number_since() -> None:
    times = iter([0.0, 1.0, 59.9, 60.0, 119.9, 500.0])
    lines = SparseLines(lambda: next(times))

    assert [lines.count() for _ in range(6)] == [1, 0, 0, 3, 0, 2]
