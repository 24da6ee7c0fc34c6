"""The state of the tables' layout as it is stored, and as a process knows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.stores.table_layouts import LayoutChanged, LayoutState, TableLayouts

NUMBERS = st.integers(0, 10**6)
STATES = st.builds(LayoutState, st.integers(1, 10**6), NUMBERS, st.none() | NUMBERS)


@given(state=STATES | st.just(LayoutState()))
def test_what_is_stored_is_what_is_read(state: LayoutState) -> None:
    assert LayoutState.unpack(state.pack()) == state


@pytest.mark.parametrize("stored", [b"x", b"/", b"/1", b"/1/2", b"/1/2/3/4", b"/a/2/", b"/1/2/x", b"7/1/2/"])
def test_anything_else_is_no_state(stored: bytes) -> None:
    assert LayoutState.unpack(stored) is None


def test_an_index_whose_layout_never_changed_stores_nothing() -> None:
    assert LayoutState().pack() == b""


@given(states=st.lists(STATES, min_size=1))
def test_the_latest_state_is_known_in_whatever_order_states_are_read(states: list[LayoutState]) -> None:
    layouts = TableLayouts()
    for state in states:
        layouts.learn(state)

    assert layouts.found.change == max(state.change for state in states)
    assert layouts.used == LayoutState()


def test_pages_probed_before_a_change_are_refused_until_they_are_probed_again() -> None:
    layouts = TableLayouts()
    layouts.require(0)
    layouts.learn(LayoutState(1, 0, 1))
    with pytest.raises(LayoutChanged):
        layouts.require(0)

    layouts.adopt()

    layouts.require(1)
    with pytest.raises(LayoutChanged):
        layouts.require(0)
