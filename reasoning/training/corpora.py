"""Dialogues to learn from: each once, none that something will be measured on, and those that are held out of learning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...graph.errors import InputError
from ..coherence.terms import words_of

Dialogue = tuple[str, ...]

TELLING_WORDS = 6
HELD_OUT = 0.1
MOST_HELD_OUT = 1_000
LEAST_DIALOGUES = 20

_SPLITS = re.compile(r"([-_.](train|valid|validation|dev|test|freq|rare|part)?[-_]?\d*)+$", re.IGNORECASE)


class Split(NamedTuple):
    """A corpus, parted into what is learnt from and what the parts are weighed on."""

    learnt: list[Dialogue]
    held: list[Dialogue]


def corpus_of(name: str) -> str:
    """Return which corpus a file is of, by its name without extensions and without what names a part of a corpus.

    ``topical-chat-valid-freq`` and ``topical-chat-test-rare`` are both of ``topical-chat``.
    """
    return _SPLITS.sub("", name) or name


def distinct_dialogues(
    corpora: Mapping[str, Iterable[Sequence[str]]], excluded: Iterable[str] = ()
) -> tuple[dict[str, list[Dialogue]], dict[str, int]]:
    """Return the dialogues to train on, each once, by corpus; and how many were dropped and why.

    Blank turns are left out. A dialogue stands among the ``excluded`` turns when it shares one of six words or more with them;
    case, punctuation and blanks do not count.
    """
    barred = {turn for turn in map(_plain, excluded) if turn.count(" ") >= TELLING_WORDS - 1}
    seen: set[tuple[str, ...]] = set()
    kept: dict[str, list[Dialogue]] = {name: [] for name in corpora}
    dropped = {"too short": 0, "excluded": 0, "repeated": 0}
    for name, dialogues in corpora.items():
        for given in dialogues:
            turns = tuple(turn for turn in given if turn.strip())
            plain = tuple(map(_plain, turns))
            if len(turns) < 2:
                dropped["too short"] += 1
            elif not barred.isdisjoint(plain):
                dropped["excluded"] += 1
            elif plain in seen:
                dropped["repeated"] += 1
            else:
                seen.add(plain)
                kept[name].append(turns)
    return kept, dropped


def check_corpora(corpora: Mapping[str, Sequence[Dialogue]]) -> None:
    """Raise :class:`InputError` when a corpus has fewer than 20 dialogues, too few to hold some out."""
    if not corpora:
        raise InputError("there is nothing to train on; give dialogues")
    for name, dialogues in corpora.items():
        if len(dialogues) < LEAST_DIALOGUES:
            raise InputError(
                f"{len(dialogues)} distinct dialogues of {name} are left to train on; give {LEAST_DIALOGUES} or more"
            )


def hold_out(corpora: Mapping[str, Sequence[Dialogue]], random: np.random.Generator) -> dict[str, Split]:
    """Hold a tenth of each corpus out of learning, at most 1,000 dialogues in all.

    Raises:
        InputError: a corpus has fewer than 20 dialogues, or there is none.
    """
    check_corpora(corpora)
    splits = {}
    for name, dialogues in corpora.items():
        held = min(int(len(dialogues) * HELD_OUT), max(2, MOST_HELD_OUT // len(corpora)))
        order = random.permutation(len(dialogues))
        parts = (sorted(part.tolist()) for part in (order[held:], order[:held]))
        splits[name] = Split(*([dialogues[place] for place in part] for part in parts))
    return splits


def _plain(text: str) -> str:
    return " ".join(word.text for word in words_of(text))
