"""Dialogues as pairs of a context and its true response, without what judges have seen, split into training and development."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError

Rows = NDArray[np.int64]

LONG_TURN = 6
_WORD = re.compile(r"[^\W_]+")


def plain(text: str) -> str:
    """Return a text's words in lower case, with one blank between them: what makes two turns the same."""
    return " ".join(_WORD.findall(text.lower()))


def without_judged(dialogues: Iterable[Sequence[str]], judged: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the distinct dialogues of two turns or more, without those that judges have seen.

    A dialogue counts as seen when it holds a judged turn of six words or more, or two judged turns one after the other.

    Args:
        judged: histories of judged responses, each with its response at the end when that stood in a dialogue.
    """
    long: set[str] = set()
    neighbours: set[tuple[str, str]] = set()
    for turns in judged:
        told = [plain(turn) for turn in turns]
        long.update(turn for turn in told if turn.count(" ") >= LONG_TURN - 1)
        neighbours.update(itertools.pairwise(told))
    kept: dict[tuple[str, ...], tuple[str, ...]] = {}
    for dialogue in dialogues:
        turns = tuple(turn for turn in dialogue if turn.strip())
        told = [plain(turn) for turn in turns]
        seen = any(turn in long for turn in told) or any(pair in neighbours for pair in itertools.pairwise(told))
        if len(turns) > 1 and not seen:
            kept.setdefault(tuple(told), turns)
    return list(kept.values())


@dataclass(frozen=True, slots=True)
class Pairs:
    """Contexts with their responses.

    Attributes:
        texts: the distinct turns. context: rows of a context's turns in it, the last first, shape (pairs, turns), -1 for none.
        response: rows of the responses, shape (pairs,). dialogue: which dialogue each pair is of.
        dialogues_of: for each text, the dialogues it stands in. responses: rows of texts that are a response.
        dev: which pairs are for development.
    """

    texts: list[str]
    context: Rows
    response: Rows
    dialogue: Rows
    dialogues_of: list[frozenset[int]]
    responses: frozenset[int]
    dev: NDArray[np.bool_]


def make_pairs(
    dialogues: Sequence[Sequence[str]], turns: int, *, most: int | None = None, dev_share: float = 0.05, seed: int = 0
) -> Pairs:
    """Return every turn from the second on with the ``turns`` before it.

    A dialogue is for development by a hash of its words, so that it stays there whatever else is trained on.

    Args:
        most: about how many pairs to keep: dialogues are drawn with ``seed`` until there are as many.

    Raises:
        InputError: there are fewer than 20 pairs, or none on one of the two sides.
    """
    if most is not None:
        drawn = np.random.default_rng([seed, 1]).permutation(len(dialogues)).tolist()
        reached = np.cumsum([len(dialogues[number]) - 1 for number in drawn])
        chosen = sorted(drawn[: int(np.searchsorted(reached, most)) + 1])
        dialogues = [dialogues[number] for number in chosen]
    places: dict[str, int] = {}
    context, response, dialogue, dev = [], [], [], []
    members: list[set[int]] = []
    for number, said in enumerate(dialogues):
        held_out = _share_of("\n".join(map(plain, said))) < dev_share
        rows = [places.setdefault(turn, len(places)) for turn in said]
        members.extend(set() for _ in range(len(places) - len(members)))
        for row in rows:
            members[row].add(number)
        for place in range(1, len(rows)):
            before = rows[max(place - turns, 0) : place][::-1]
            context.append(before + [-1] * (turns - len(before)))
            response.append(rows[place])
            dialogue.append(number)
            dev.append(held_out)
    pairs = Pairs(
        list(places), np.array(context, np.int64).reshape(-1, turns), np.array(response, np.int64), np.array(dialogue, np.int64),
        [frozenset(one) for one in members],
        frozenset(response), np.array(dev, bool),
    )  # fmt: skip
    if len(pairs.response) < 20 or not pairs.dev.any() or pairs.dev.all():
        raise InputError(
            f"{len(dialogues):,} dialogues give {len(pairs.response):,} pairs, {int(pairs.dev.sum()):,} of them for development; "
            "GRADE needs more dialogues to learn from"
        )
    return pairs


def _share_of(text: str) -> float:
    """A number in 0..1 that hangs on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
