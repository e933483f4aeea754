"""Folds: conversations stay together, every item is tested, and a seed gives the same folds again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.resampling import k_folds, random_splits

turns = st.lists(st.sampled_from("abcd"), min_size=0, max_size=4).map(tuple)
items = st.lists(st.tuples(turns, st.sampled_from("abcd")), min_size=1, max_size=40)


def test_conversations_by_hand() -> None:
    rows = [
        (("hi", "hello"), "how are you"),
        (("nice day",), "yes"),
        (("hi", "hello"), "bye"),
        (("hi", "hello", "how are you", "fine", "good"), "why"),  # goes on from the first
        (("nice day", "no"), "rain"),  # another answer than the second's
        (("no",), "yes"),
        (("nice day", "no", "well"), "sun"),
    ]
    assert conversations(rows).tolist() == [0, 1, 0, 0, 2, 3, 2]


def test_without_items_there_are_no_conversations() -> None:
    assert conversations([]).tolist() == []


def test_histories_that_continue_a_response_are_one_conversation() -> None:
    rows = [(("nice day",), "yes"), (("nice day", "no"), "rain"), ((), "nice day")]  # the last is the beginning of both others
    assert conversations(rows).tolist() == [0, 0, 0]


@given(items)
def test_histories_of_which_one_begins_with_the_other_are_grouped(rows: list[tuple[tuple[str, ...], str]]) -> None:
    groups, finer = conversations(rows, share_openings=True), conversations(rows)
    beginnings = [history or (response,) for history, response in rows]
    for turns, first, own in zip(beginnings, groups, finer, strict=True):
        for others, second, other in zip(beginnings, groups, finer, strict=True):
            assert first == second or others[: len(turns)] != turns
            assert own == other or others[: len(turns)] != turns or (len(turns) <= 2 and others != turns)
            assert first == second or own != other
    assert sorted(set(groups.tolist())) == list(range(groups.max() + 1))


@settings(deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=5, max_size=40), folds=st.integers(2, 5), seed=st.integers(0, 99))
def test_every_item_is_tested_once_and_no_group_is_divided(sizes: list[int], folds: int, seed: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rounds = k_folds(groups, folds, seed)
    assert sorted(np.concatenate([test for _, test in rounds]).tolist()) == list(range(len(groups)))
    for train, test in rounds:
        assert not set(groups[train]) & set(groups[test])
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(groups)))
        assert len(train)
        assert len(test)
    held = [len(test) for _, test in rounds]
    assert max(held) - min(held) <= max(sizes)


@settings(deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=10, max_size=40), seed=st.integers(0, 99))
def test_random_splits_keep_groups_whole_and_hold_about_the_share(sizes: list[int], seed: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for train, test in random_splits(groups, 0.1, 5, seed):
        assert not set(groups[train]) & set(groups[test])
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(groups)))
        assert 1 <= len(test) <= 0.1 * len(groups) + 9


def test_random_splits_are_as_near_to_the_share_as_groups_allow() -> None:
    singles = np.arange(10)
    assert [len(test) for _, test in random_splits(singles, 0.3, 3, 0)] == [3, 3, 3]
    pairs = np.repeat(np.arange(10), 2)
    assert [len(test) for _, test in random_splits(pairs, 0.28, 3, 0)] == [6, 6, 6]  # 5.6 of 20


def test_seeds() -> None:
    groups = np.repeat(np.arange(30), 3)
    folds = [[test.tolist() for _, test in k_folds(groups, 5, seed)] for seed in (0, 0, 1)]
    splits = [[test.tolist() for _, test in random_splits(groups, 0.1, 5, seed)] for seed in (0, 0, 1)]
    assert folds[0] == folds[1] != folds[2]
    assert splits[0] == splits[1] != splits[2]


def test_too_few_conversations() -> None:
    with pytest.raises(InputError, match="3 conversations cannot be divided into 10 folds"):
        k_folds(np.array([0, 1, 2]), 10, 0)
    with pytest.raises(InputError, match="cannot be divided into 1 folds"):
        k_folds(np.array([0, 1, 2]), 1, 0)
    with pytest.raises(InputError, match="cannot be divided"):
        random_splits(np.array([0, 0, 0]), 0.1, 3, 0)
    with pytest.raises(InputError, match="0 conversations"):
        k_folds(np.array([], dtype=np.int64), 2, 0)
