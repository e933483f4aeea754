"""Dividing judged responses into parts for training and testing so that no conversation stands on both sides.

Judgement files rate several responses to one history, and some rate turn after turn of one conversation. A model that has seen
the one has seen a good part of the other, so items stay together when their histories are equal, or when one's history goes on
from the other's history and response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError

Places = NDArray[np.int64]


class Round(NamedTuple):
    """Places of the items to learn from, and of those to test on."""

    train: Places
    test: Places


def conversations(items: Sequence[tuple[Sequence[str], str]]) -> Places:
    """Return the number of each item's conversation, shape (n,), from 0 in order of first appearance.

    Two ``(history, response)`` are of one conversation when their histories are equal, or when the history of one begins with all
    of the other's turns, its response included.
    """
    owner: dict[tuple[str, ...], int] = {}
    parent = list(range(len(items)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for place, (history, _) in enumerate(items):
        first = owner.setdefault(tuple(history), place)
        parent[root(place)] = root(first)
    said = {(*history, response): place for place, (history, response) in enumerate(items)}
    for history, place in owner.items():
        for length in range(1, len(history) + 1):
            before = said.get(history[:length])
            if before is not None:
                parent[root(place)] = root(before)
    names: dict[int, int] = {}
    return np.array([names.setdefault(root(place), len(names)) for place in range(len(items))], dtype=np.int64)


def k_folds(groups: Places, folds: int, seed: int) -> list[Round]:
    """Return ``folds`` rounds in which every item is tested once; items of one group are tested together.

    Groups are dealt out in a seeded order, each to the fold that holds the fewest items so far.

    Raises:
        InputError: there are fewer groups than folds, or fewer than two folds.
    """
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, dtype=np.int64)
    if folds < 2 or len(sizes) < folds:
        raise InputError(f"{len(sizes)} conversations cannot be divided into {folds} folds; give 2 or more folds, and more data")
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    held = [0] * folds
    fold_of = np.zeros(len(sizes), dtype=np.int64)
    for group in sorted(shuffled.tolist(), key=lambda group: -sizes[group]):
        fold = min(range(folds), key=held.__getitem__)
        fold_of[group] = fold
        held[fold] += int(sizes[group])
    tested = fold_of[groups]
    return [Round(np.flatnonzero(tested != fold), np.flatnonzero(tested == fold)) for fold in range(folds)]


def random_splits(groups: Places, test_share: float, rounds: int, seed: int) -> list[Round]:
    """Return ``rounds`` random splits whose test part holds about ``test_share`` of the items, in whole groups.

    Raises:
        InputError: a part would be empty.
    """
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, dtype=np.int64)
    found = []
    for number in range(rounds):
        order = np.random.default_rng([seed, number]).permutation(len(sizes))
        chosen = np.zeros(len(sizes), dtype=bool)
        chosen[order[: max(1, int(np.searchsorted(np.cumsum(sizes[order]), test_share * len(groups))))]] = True
        tested = chosen[groups]
        if tested.all() or not tested.any():
            raise InputError(f"{len(sizes)} conversations cannot be divided into parts for training and testing; give more data")
        found.append(Round(np.flatnonzero(~tested), np.flatnonzero(tested)))
    return found
