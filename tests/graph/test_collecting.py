"""Reference cycles are looked for rarely during a load, and as before after it, whatever happened."""

from __future__ import annotations

import gc

import pytest
from tacit.graph.collecting import rare_cycle_search


def test_the_threshold_is_high_inside_and_as_before_after_an_error() -> None:
    before = gc.get_threshold()
    within = []

    @rare_cycle_search()
    def load() -> None:
        within.append(gc.get_threshold()[0])
        raise ValueError("a row")

    with pytest.raises(ValueError, match="a row"):
        load()
    assert within == [1_000_000]
    assert gc.get_threshold() == before


def test_a_search_that_was_switched_off_stays_off() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(0)
        with rare_cycle_search():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
