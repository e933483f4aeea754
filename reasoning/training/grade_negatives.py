"""False responses for GRADE to tell from true ones: like them in words (BM25), like them in meaning, or at random.

Huang et al. (EMNLP 2020, section 3.4): of the responses that Lucene finds for the true one the middle one is taken; of the five
nearest by embedding among a thousand drawn at random one is drawn. None is a turn of the same dialogue, nor has the same words,
and each is the true response of another place.

False responses found this way differ from true ones as texts (they are shorter, plainer, more often the same few), which a
network can learn instead of whether they fit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..extras import need
from .grade_pairs import Pairs, plain

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
Progress = Callable[[int], object]

FOUND = 10
POOL = 1000
NEAREST = 5
SHARD = 10_000
_BLOCK = 500


def random_negatives(pairs: Pairs, seed: int) -> Rows:
    """Return a turn of another dialogue for each pair, drawn at random, shape (pairs,)."""
    rng = np.random.default_rng([seed, 2])
    said = [plain(text) for text in pairs.texts]
    return np.array([_another(pairs, said, place, rng) for place in range(len(pairs.response))], np.int64)


def lexical_negatives(pairs: Pairs, seed: int, progress: Progress | None = None) -> Rows:
    """Return for each pair the middle one of ten turns that BM25 finds for its true response, shape (pairs,).

    Turns are searched in shards of about 10,000, drawn at random, since a search in all of them takes longer than training.

    Raises:
        MissingExtra: bm25s is not installed.
    """
    bm25s = need("bm25s", "neural")
    rng = np.random.default_rng([seed, 3])
    said = [plain(text) for text in pairs.texts]
    shards = np.array_split(rng.permutation(len(said)), max(round(len(said) / SHARD), 1))
    asked = np.array_split(rng.permutation(len(pairs.response)), len(shards))
    found = np.zeros(len(pairs.response), np.int64)
    for shard, places in zip(shards, asked, strict=True):
        index = bm25s.BM25(backend="numba")
        index.index([said[row].split() or ["?"] for row in shard], show_progress=False)
        k = min(FOUND + 5, len(shard))
        for start in range(0, len(places), _BLOCK):
            block = places[start : start + _BLOCK]
            queries = [said[pairs.response[place]].split() or ["?"] for place in block]
            rows, scores = index.retrieve(queries, k=k, show_progress=False)
            for place, hits, values in zip(block.tolist(), rows, scores, strict=True):
                good = [int(shard[hit]) for hit, value in zip(hits, values, strict=True) if value > 0]
                good = [row for row in good if _allowed(pairs, said, place, row)][:FOUND]
                found[place] = good[len(good) // 2] if good else _another(pairs, said, place, rng)
            if progress is not None:
                progress(len(block))
    return found


def embedding_negatives(pairs: Pairs, embeddings: Floats, seed: int, progress: Progress | None = None) -> Rows:
    """Return for each pair one of the five turns nearest to its true response among a thousand drawn at random, shape (pairs,).

    Args:
        embeddings: of :attr:`Pairs.texts`, of unit length, shape (texts, d).
    """
    rng = np.random.default_rng([seed, 4])
    said = [plain(text) for text in pairs.texts]
    found = np.zeros(len(pairs.response), np.int64)
    for start in range(0, len(pairs.response), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(pairs.response)))
        pool = rng.choice(len(said), min(POOL, len(said)), replace=False)
        likeness = np.round(embeddings[pairs.response[block]] @ embeddings[pool].T, 5)
        order = np.argsort(-likeness, axis=1, kind="stable")
        for place, ranks in zip(block.tolist(), order, strict=True):
            good: list[int] = []
            for rank in ranks:
                if len(good) == NEAREST:
                    break
                if _allowed(pairs, said, place, int(pool[rank])):
                    good.append(int(pool[rank]))
            found[place] = good[rng.integers(len(good))] if good else _another(pairs, said, place, rng)
        if progress is not None:
            progress(len(block))
    return found


def _allowed(pairs: Pairs, said: list[str], place: int, row: int) -> bool:
    """Whether a turn may stand as a false response: it is of another dialogue, a response there, and says something else."""
    true = int(pairs.response[place])
    return row in pairs.responses and int(pairs.dialogue[place]) not in pairs.dialogues_of[row] and said[row] != said[true]


def _another(pairs: Pairs, said: list[str], place: int, rng: np.random.Generator) -> int:
    """A turn drawn at random that may stand as a false response; any turn when a hundred draws find none."""
    row = 0
    for _ in range(100):
        row = int(rng.integers(len(said)))
        if _allowed(pairs, said, place, row):
            break
    return row
