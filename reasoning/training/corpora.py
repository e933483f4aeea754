"""Dialogues for training: distinct, without those of evaluation sets, split into training and held-out ones, and encoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.questions import Instance, without_speaker
from ..evaluation.resampling import Indices
from ..metrics.coherence.associations import words_of
from ..models.encoder import TextEncoder
from .checkpoints import StageProgress, stored_arrays

Dialogue = tuple[str, ...]

DISTINCTIVE_WORDS = 6
HELD_OUT = 0.1
MOST_HELD_OUT = 1_000
LEAST_DIALOGUES = 20

_CHUNK = 1_024

_SPLITS = re.compile(r"([-_.](train|valid|validation|dev|test|freq|rare|part)?[-_]?\d*)+$", re.IGNORECASE)


class Split(NamedTuple):
    """A corpus, split into dialogues to train on and held-out ones."""

    train: list[Dialogue]
    held_out: list[Dialogue]


def corpus_of(name: str) -> str:
    """Return the corpus of a file, by its name: ``topical-chat-valid-freq`` and ``topical-chat-test-rare`` are
    ``topical-chat``."""
    return _SPLITS.sub("", name) or name


def distinct_dialogues(
    corpora: Mapping[str, Iterable[Sequence[str]]], excluded: Iterable[str] = ()
) -> tuple[dict[str, list[Dialogue]], dict[str, int]]:
    """Return the distinct dialogues to train on, by corpus; and the numbers of dropped ones by reason.

    Blank turns are left out. A dialogue is excluded when it shares a turn of six words or more with the ``excluded`` turns,
    ignoring case, punctuation and spaces.
    """
    excluded_turns = distinctive_turns(excluded)
    seen: set[tuple[str, ...]] = set()
    distinct: dict[str, list[Dialogue]] = {name: [] for name in corpora}
    dropped = {"too short": 0, "excluded": 0, "repeated": 0}
    for name, dialogues in corpora.items():
        for dialogue in dialogues:
            turns = tuple(turn for turn in dialogue if turn.strip())
            plain = tuple(map(_normalised, turns))
            if len(turns) < 2:
                dropped["too short"] += 1
            elif not excluded_turns.isdisjoint(plain):
                dropped["excluded"] += 1
            elif plain in seen:
                dropped["repeated"] += 1
            else:
                seen.add(plain)
                distinct[name].append(turns)
    return distinct, dropped


def distinctive_turns(turns: Iterable[str]) -> set[str]:
    """Return the turns of six words or more, in a form that ignores case, punctuation and spaces."""
    return {plain for turn in turns if (plain := _normalised(turn)).count(" ") >= DISTINCTIVE_WORDS - 1}


def clusters(instances: Sequence[Instance]) -> Indices:
    """Return the number of each instance's group: dialogues that share a turn of six words or more are in one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first: dict[str, int] = {}  # by dialogue and by turn, the first instance
    edges = []
    for index, instance in enumerate(instances):
        edges.append((index, first.setdefault(f"dialogue {instance.id}", index)))
        turns = sorted(distinctive_turns(map(without_speaker, instance.dialogue)))
        edges += [(index, first.setdefault(f"turn {turn}", index)) for turn in turns]
    if not edges:
        return np.zeros(0, dtype=np.int64)
    shape = (len(instances), len(instances))
    _, labels = connected_components(coo_array((np.ones(len(edges), bool), np.array(edges).T), shape), directed=False)
    return np.asarray(labels, np.int64)  # scipy numbers components in order of their first node


def check_corpora(corpora: Mapping[str, Sequence[Dialogue]]) -> None:
    """Raise :class:`InputError` when a corpus has fewer than 20 dialogues, too few to hold some out, or there is none."""
    if not corpora:
        raise InputError("there are no dialogues to train on; give some")
    for name, dialogues in corpora.items():
        if len(dialogues) < LEAST_DIALOGUES:
            raise InputError(
                f"{len(dialogues)} distinct dialogues of {name} are left to train on; give {LEAST_DIALOGUES} or more"
            )


def hold_out(corpora: Mapping[str, Sequence[Dialogue]], random: np.random.Generator) -> dict[str, Split]:
    """Split each corpus: a tenth is held out, at most 1,000 dialogues in all."""
    check_corpora(corpora)
    splits = {}
    for name, dialogues in corpora.items():
        number = min(int(len(dialogues) * HELD_OUT), max(2, MOST_HELD_OUT // len(corpora)))
        order = random.permutation(len(dialogues))
        parts = (sorted(part.tolist()) for part in (order[number:], order[:number]))
        splits[name] = Split(*([dialogues[index] for index in part] for part in parts))
    return splits


def training_dialogues(corpora: Mapping[str, Sequence[Dialogue]], seed: int) -> dict[str, list[Dialogue]]:
    """Return the dialogues that :func:`hold_out` does not hold out under ``seed``.

    Raises:
        InputError: as :func:`hold_out`.
    """
    return {name: split.train for name, split in hold_out(corpora, np.random.default_rng(seed)).items()}


def _normalised(text: str) -> str:
    return " ".join(word.text for word in words_of(text))


# Vectors of turns.


def pooled_vectors(
    texts: Sequence[str], encoder: TextEncoder, folder: Path | None = None, count: Callable[[int], object] | None = None
) -> NDArray[np.float16]:
    """Return pooled vectors in half precision, shape (texts, 3 * width), from batches of similar length in random order.

    Batches that are stored in ``folder`` are not encoded again. ``count`` is called with the number of texts encoded since the
    last call.
    """
    order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
    vectors = np.empty((len(texts), 3 * encoder.width), dtype=np.float16)
    for start in (_CHUNK * np.random.default_rng(0).permutation(-(-len(order) // _CHUNK))).tolist():
        indices = order[start : start + _CHUNK]
        batch = [texts[index] for index in indices]
        stored = stored_arrays(folder, [encoder.signature, batch], partial(_pooled, batch, encoder))
        vectors[indices] = stored["pooled"]
        if count is not None:
            count(len(batch))
    return vectors


def _pooled(texts: Sequence[str], encoder: TextEncoder) -> dict[str, Any]:
    return {"pooled": encoder.pooled(texts, keep=False).astype(np.float16)}


def cumulative(progress: StageProgress, stage: str, total: int) -> Callable[[int], None]:
    """Return a callback for increments, which calls ``progress`` with the stage, their cumulative sum and the total."""
    done = 0

    def count(number: int) -> None:
        nonlocal done
        done += number
        progress(stage, done, total)

    return count
