"""Reference cycles are looked for rarely during a load or a batch, and as before after it, whatever happened."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest
from tacit.graph.item import Item
from tacit.graph.loading import rare_cycle_search
from tacit.reasoning.base import BatchScoring, Evidence, Score, Signature


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


def test_blocks_of_two_threads_leave_the_threshold_as_it_was() -> None:
    """The first to enter is the first to leave, as threads may."""
    before = gc.get_threshold()
    one, other = rare_cycle_search(), rare_cycle_search()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_threshold()[0] == 1_000_000
    other.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_scoring_searches_rarely() -> None:
    before, within = gc.get_threshold(), []

    class Watching(BatchScoring):
        def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
            within.append((len(items), explain, gc.get_threshold()[0]))
            return [score] * len(items)

    score = Score(1.0, Evidence(), Signature("watching", (), 1))
    watching = Watching()
    watching.signature = score.signature
    assert watching.score_batch([(["How are you today?"], "I am fine, thank you.")]) == [score]
    assert within == [(1, False, 1_000_000)]
    assert gc.get_threshold() == before
