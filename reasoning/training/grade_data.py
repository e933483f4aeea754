"""Training data of GRADE: pairs of context and response with false responses, keywords and dialogue graphs."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ...graph.errors import InputError
from ...graph.protocol import KnowledgeGraph
from ..metrics.grade.concepts import Neighbourhood
from ..metrics.grade.dialogue_graph import DialogueGraph, Keyword, KeywordFinder, batch, build, edge_weights
from ..metrics.grade.network import GradeConfig, Graphs, frozen_texts, graph_tensors, tuned_texts
from ..models.hub import need
from ..text.idf import IdfTable
from ..text.linking import Linker
from .checkpoints import StageProgress

Rows = NDArray[np.int64]


@dataclass
class Material:
    """Pairs with their candidates (the true response first, then false ones), as inputs of the model."""

    config: GradeConfig
    pairs: Pairs
    candidates: Rows  # rows of Pairs.texts, shape (pairs, 1 + false ones)
    graph: KnowledgeGraph
    around: Neighbourhood
    finder: KeywordFinder
    keywords: list[tuple[Keyword, ...]]  # of each text
    vectors: Any = None  # of the texts, for a frozen encoder
    tokenizer: Any = None  # for a tuned encoder, of `length` tokens
    length: int = 512
    blind: bool = False  # hide the context, to measure how well responses alone can be told apart
    graphs: dict[tuple[int, int], DialogueGraph] = field(default_factory=dict)  # by pair and candidate, computed on first use

    def __post_init__(self) -> None:
        self._weights = edge_weights(self.config.profile)

    def texts(self, indices: Sequence[int]) -> tuple[Tensor, ...]:
        """Return the utterance branch's inputs for all candidates of some pairs, pair by pair."""
        width = self.candidates.shape[1]
        rows = self.candidates[indices].reshape(-1)
        context = np.repeat(self.pairs.context[indices], width, axis=0)
        if self.blind:
            context = np.full_like(context, -1)
        if self.tokenizer is not None:
            all_texts = self.pairs.texts
            turns = [[all_texts[row] for row in before[::-1] if row >= 0] for before in context]
            return tuned_texts(self.tokenizer, turns, [all_texts[row] for row in rows], self.length)
        read = np.concatenate([context.reshape(-1), rows])
        used, inverse = np.unique(read, return_inverse=True)
        vectors = self.vectors[used]  # the row of -1 is read but not used
        inverse = np.where(read >= 0, inverse, -1)
        at = inverse[: context.size].reshape(context.shape)
        earlier = [[row for row in before[1:].tolist() if row >= 0] for before in at]
        return frozen_texts(vectors, at[:, 0].tolist(), earlier, inverse[context.size :].tolist())

    def tensors(self, indices: Sequence[int]) -> Graphs | None:
        """Return the dialogue graphs of all candidates of some pairs, pair by pair; None without a graph branch."""
        if not self.config.graph:
            return None
        graphs = [self._graph_of(index, column) for index in indices for column in range(self.candidates.shape[1])]
        return graph_tensors(graphs, self._weights, self.around.rows)

    def prepare(self, indices: Sequence[int], progress: StageProgress) -> None:
        """Compute all dialogue graphs and rows of concepts before the training."""
        if not self.config.graph:
            return
        for start in range(0, len(indices), 256):
            block = indices[start : start + 256]
            graphs = [self._graph_of(index, column) for index in block for column in range(self.candidates.shape[1])]
            self.around.rows(batch(graphs, self._weights).concepts)
            progress("dialogue graphs", min(start + 256, len(indices)), len(indices))

    def _graph_of(self, index: int, column: int) -> DialogueGraph:
        key = (index, column)
        result = None if self.blind else self.graphs.get(key)
        if result is None:
            turns = [] if self.blind else [self.keywords[row] for row in self.pairs.context[index][::-1] if row >= 0]
            keywords = self.finder.of_dialogue(turns, self.keywords[self.candidates[index, column]])
            sides = (
                [keyword.mention.concept for keyword in keywords_of_side]
                for keywords_of_side in (keywords.context, keywords.response)
            )
            result = build(self.graph, *sides)
            if not self.blind:
                self.graphs[key] = result
        return result


def find_keywords(
    texts: Sequence[str], linker: Linker, train_texts: Sequence[str], config: GradeConfig, progress: StageProgress
) -> tuple[KeywordFinder, list[tuple[Keyword, ...]]]:
    """Compute the idf table of ``train_texts``, a subset of ``texts``; return a keyword finder and each text's keywords."""
    mentions: dict[str, Any] = {}
    for start in range(0, len(texts), 2000):
        block = texts[start : start + 2000]
        mentions.update(zip(block, linker.link_batch(block), strict=True))
        progress("keywords", min(start + 2000, len(texts)), len(texts))
    idf = IdfTable.count(mentions[text] for text in train_texts)
    finder = KeywordFinder(linker, idf, threshold=config.threshold, limit=config.max_keywords, cache_size=0)
    return finder, [finder.strongest(text, mentions[text]) for text in texts]


# False responses: similar to the true one in words (BM25), similar in meaning, or random.
#
# Huang et al. (EMNLP 2020, section 3.4): the middle one of the responses that Lucene finds for the true one; and one drawn from
# the five nearest by embedding among a thousand random ones. A false response is not a turn of the same dialogue, has other words
# than the true one, and is the true response of another history.
#
# Such responses differ from true ones as texts (shorter, plainer, more repeated), which a network can learn instead of coherence.

Floats = NDArray[np.float32]
Progress = Callable[[int], object]

FOUND = 10
POOL = 1000
NEAREST = 5
SHARD = 10_000
_BLOCK = 500


def random_negatives(pairs: Pairs, seed: int) -> Rows:
    """Return a random turn of another dialogue for each pair, as rows of :attr:`Pairs.texts`, shape (pairs,)."""
    rng = np.random.default_rng([seed, 2])
    texts = [normalised_words(text) for text in pairs.texts]
    return np.array([_random_negative(pairs, texts, index, rng) for index in range(len(pairs.response))], np.int64)


def lexical_negatives(pairs: Pairs, seed: int, progress: Progress | None = None) -> Rows:
    """Return for each pair the middle one of ten turns that BM25 finds for its true response, shape (pairs,), in random shards
    of about 10,000 turns, which is faster."""
    bm25s = need("bm25s", "neural")
    rng = np.random.default_rng([seed, 3])
    texts = [normalised_words(text) for text in pairs.texts]
    shards = np.array_split(rng.permutation(len(texts)), max(round(len(texts) / SHARD), 1))
    parts = np.array_split(rng.permutation(len(pairs.response)), len(shards))
    result = np.zeros(len(pairs.response), np.int64)
    for shard, indices in zip(shards, parts, strict=True):
        index = bm25s.BM25(backend="numba" if len(shards) > 1 else "numpy")  # compiling takes longer than searching one shard
        index.index([texts[row].split() or ["?"] for row in shard], show_progress=False)
        k = min(FOUND + 5, len(shard))
        for start in range(0, len(indices), _BLOCK):
            block = indices[start : start + _BLOCK]
            queries = [texts[pairs.response[pair]].split() or ["?"] for pair in block]
            rows, scores = index.retrieve(queries, k=k, show_progress=False)
            for pair, hits, values in zip(block.tolist(), rows, scores, strict=True):
                allowed = [int(shard[hit]) for hit, value in zip(hits, values, strict=True) if value > 0]
                allowed = [row for row in allowed if _is_allowed_negative(pairs, texts, pair, row)][:FOUND]
                result[pair] = allowed[len(allowed) // 2] if allowed else _random_negative(pairs, texts, pair, rng)
            if progress is not None:
                progress(len(block))
    return result


def embedding_negatives(pairs: Pairs, embeddings: Floats, seed: int, progress: Progress | None = None) -> Rows:
    """Return for each pair one of the five turns nearest to its true response among 1,000 random ones, shape (pairs,), by unit
    ``embeddings`` of :attr:`Pairs.texts`."""
    rng = np.random.default_rng([seed, 4])
    texts = [normalised_words(text) for text in pairs.texts]
    result = np.zeros(len(pairs.response), np.int64)
    for start in range(0, len(pairs.response), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(pairs.response)))
        pool = rng.choice(len(texts), min(POOL, len(texts)), replace=False)
        likeness = np.round(embeddings[pairs.response[block]] @ embeddings[pool].T, 5)
        order = np.argsort(-likeness, axis=1, kind="stable")
        for index, ranks in zip(block.tolist(), order, strict=True):
            allowed: list[int] = []
            for rank in ranks:
                if len(allowed) == NEAREST:
                    break
                if _is_allowed_negative(pairs, texts, index, int(pool[rank])):
                    allowed.append(int(pool[rank]))
            result[index] = allowed[rng.integers(len(allowed))] if allowed else _random_negative(pairs, texts, index, rng)
        if progress is not None:
            progress(len(block))
    return result


def _is_allowed_negative(pairs: Pairs, texts: list[str], index: int, row: int) -> bool:
    """Whether a turn can be a false response: a response of another dialogue, with other words."""
    true = int(pairs.response[index])
    return row in pairs.responses and int(pairs.dialogue[index]) not in pairs.dialogues_of[row] and texts[row] != texts[true]


def _random_negative(pairs: Pairs, texts: list[str], index: int, rng: np.random.Generator) -> int:
    """A random turn that can be a false response; any turn when a hundred draws find none."""
    row = 0
    for _ in range(100):
        row = int(rng.integers(len(texts)))
        if _is_allowed_negative(pairs, texts, index, row):
            break
    return row


# Dialogues as pairs of a context and its true response, without judged ones, split into training and development.

LONG_TURN = 6
_WORD = re.compile(r"[^\W_]+")


def normalised_words(text: str) -> str:
    """Return a text's words in lower case, separated by single spaces; turns with equal results count as the same."""
    return " ".join(_WORD.findall(text.lower()))


def without_judged(dialogues: Iterable[Sequence[str]], judged: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the distinct dialogues of two turns or more, without those that occur in judgement files.

    ``judged`` are histories, each followed by its response when that is the true one. A dialogue is left out when it has a judged
    turn of six words or more, or two consecutive turns that were judged so.
    """
    long: set[str] = set()
    neighbours: set[tuple[str, str]] = set()
    for turns in judged:
        words = [normalised_words(turn) for turn in turns]
        long.update(turn for turn in words if turn.count(" ") >= LONG_TURN - 1)
        neighbours.update(itertools.pairwise(words))
    distinct: dict[tuple[str, ...], tuple[str, ...]] = {}
    for dialogue in dialogues:
        turns = tuple(turn for turn in dialogue if turn.strip())
        words = [normalised_words(turn) for turn in turns]
        was_judged = any(turn in long for turn in words) or any(pair in neighbours for pair in itertools.pairwise(words))
        if len(turns) > 1 and not was_judged:
            distinct.setdefault(tuple(words), turns)
    return list(distinct.values())


@dataclass(frozen=True, slots=True)
class Pairs:
    """Contexts with their responses."""

    texts: list[str]  # the distinct turns
    context: Rows  # rows of a context's turns, the last first, shape (pairs, turns), -1 for none
    response: Rows  # rows of the responses, shape (pairs,)
    dialogue: Rows  # the number of each pair's dialogue
    dialogues_of: list[frozenset[int]]  # for each text, the dialogues that contain it
    responses: frozenset[int]  # rows of texts that are a response
    dev: NDArray[np.bool_]  # whether each pair is for development


def make_pairs(
    dialogues: Sequence[Sequence[str]], turns: int, *, limit: int | None = None, dev_share: float = 0.05, seed: int = 0
) -> Pairs:
    """Return every turn but the first of each dialogue, with the ``turns`` before it.

    A dialogue's split is decided by a hash of its words, so that it does not depend on the other dialogues. With ``limit``,
    dialogues are drawn until there are about as many pairs.
    """
    if limit is not None:
        drawn = np.random.default_rng([seed, 1]).permutation(len(dialogues)).tolist()
        reached = np.cumsum([len(dialogues[number]) - 1 for number in drawn])
        chosen = sorted(drawn[: int(np.searchsorted(reached, limit)) + 1])
        dialogues = [dialogues[number] for number in chosen]
    row_of: dict[str, int] = {}
    context, response, dialogue, dev = [], [], [], []
    members: list[set[int]] = []
    for number, texts in enumerate(dialogues):
        held_out = _share_of("\n".join(map(normalised_words, texts))) < dev_share
        rows = [row_of.setdefault(turn, len(row_of)) for turn in texts]
        members.extend(set() for _ in range(len(row_of) - len(members)))
        for row in rows:
            members[row].add(number)
        for index in range(1, len(rows)):
            before = rows[max(index - turns, 0) : index][::-1]
            context.append(before + [-1] * (turns - len(before)))
            response.append(rows[index])
            dialogue.append(number)
            dev.append(held_out)
    pairs = Pairs(
        list(row_of), np.array(context, np.int64).reshape(-1, turns), np.array(response, np.int64), np.array(dialogue, np.int64),
        [frozenset(members_of_dialogue) for members_of_dialogue in members],
        frozenset(response), np.array(dev, bool),
    )  # fmt: skip
    if len(pairs.response) < 20 or not pairs.dev.any() or pairs.dev.all():
        raise InputError(
            f"{len(dialogues):,} dialogues give {len(pairs.response):,} pairs, {int(pairs.dev.sum()):,} of them for development; "
            "GRADE needs more dialogues to train on"
        )
    return pairs


def _share_of(text: str) -> float:
    """A number in 0..1 that is a function of the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
