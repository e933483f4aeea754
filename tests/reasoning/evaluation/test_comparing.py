"""Two systems compared: pairs by history, differences over conversations, checked by hand and by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tacit.graph.errors import InputError
from tacit.graph.item import Item
from tacit.reasoning import Reasoner
from tacit.reasoning.evaluation.comparing import compare_systems, match, paired_difference
from tacit.reasoning.evaluation.correlation import LEAST_CONVERSATIONS


def items(*rows: tuple[str, str]) -> list[Item]:
    return [Item([history], response, id=number) for number, (history, response) in enumerate(rows)]


def test_items_are_paired_by_history_and_in_order_where_one_has_several() -> None:
    first = items(("a", "one"), ("b", "two"), ("a", "three"), ("c", "four"))
    second = items(("a", "five"), ("a", "six"), ("d", "seven"), ("b", "eight"))
    pairs, unmatched = match(first, second)
    assert [(left.response, other.response) for left, other in pairs] == [("one", "five"), ("two", "eight"), ("three", "six")]
    assert unmatched == (1, 1)


def test_the_difference_by_hand() -> None:
    groups = np.arange(12)
    first = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, np.nan, 1])
    second = np.array([2.0, 2, 2, 6, 5, 6, 7, 8, 9, 10, 1, np.nan])
    difference = paired_difference("m", first, second, groups)
    assert (difference.n, difference.left_out, difference.conversations) == (10, 2, 10)
    assert (difference.first, difference.second, difference.difference) == (5.5, pytest.approx(5.7), pytest.approx(0.2))
    assert (difference.wins, difference.ties, difference.losses) == (2, 7, 1)
    assert difference.gain == difference.difference
    lower = paired_difference("m", first, second, groups, better="lower")
    assert (lower.wins, lower.losses, lower.gain) == (1, 2, pytest.approx(-0.2))


def test_the_interval_is_that_of_a_bootstrap_over_conversations() -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 5)
    shared = random.normal(0.3, 1.0, 60)[groups]  # a conversation shifts all of its pairs
    first = random.normal(size=300)
    second = first + shared + random.normal(0, 0.1, 300)
    difference = paired_difference("m", first, second, groups)
    means = np.array([(second - first)[groups == group].mean() for group in range(60)])
    by_scipy = stats.bootstrap((means,), np.mean, n_resamples=10_000, method="percentile", random_state=0).confidence_interval
    assert difference.low == pytest.approx(by_scipy.low, abs=0.02)
    assert difference.high == pytest.approx(by_scipy.high, abs=0.02)
    assert difference == paired_difference("m", first, second, groups)
    difference_of_twenty = paired_difference("m", first[:20], second[:20], groups[:20])
    assert (difference_of_twenty.conversations, difference_of_twenty.low, difference_of_twenty.p) == (4, None, None)
    assert difference_of_twenty.conversations < LEAST_CONVERSATIONS


def test_the_order_of_the_systems_does_not_change_the_conversations() -> None:
    talks = [[f"{word} {number}" for word in ("hi", "well", "fine", "bye")] for number in range(12)]
    people = [Item(talk[:length], talk[length]) for talk in talks for length in range(1, 4)]
    other = [Item(item.history, "ok") for item in people]
    reasoner = Reasoner(None, ["length"])
    [forth] = compare_systems(people, other, reasoner, resamples=100).metrics
    [back] = compare_systems(other, people, reasoner, resamples=100).metrics
    assert (forth.conversations, back.conversations) == (12, 12)
    assert back.low is not None
    assert back.high is not None
    assert (forth.low, forth.high) == (pytest.approx(-back.high), pytest.approx(-back.low))


def test_systems_are_compared_with_their_largest_differences() -> None:
    first = items(("a", "one two three"), ("b", "one"), ("c", "one two"))
    second = items(("a", "one"), ("b", "one two three four"), ("c", "one two"), ("d", "one"))
    counted: list[int] = []
    comparison = compare_systems(first, second, Reasoner(metrics=["length"]), largest=1, progress=counted.append)
    (row,) = comparison.metrics
    assert (row.metric, row.n, row.difference, row.ties) == ("length", 3, pytest.approx(1 / 3), 1)
    assert [
        (contrasted.history, contrasted.first_score.value, contrasted.second_score.value) for contrasted in comparison.largest
    ] == [
        (("b",), 1, 4),
        (("a",), 3, 1),
    ]
    assert (comparison.unmatched, sum(counted)) == ((0, 1), 6)
    assert comparison == type(comparison).from_dict(comparison.to_dict())


def test_without_a_shared_history_the_error_says_what_to_give() -> None:
    with pytest.raises(InputError, match="no history is in both inputs"):
        compare_systems(items(("a", "one")), items(("b", "one")), Reasoner(metrics=["length"]))
