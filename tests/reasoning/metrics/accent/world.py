"""A small world of events, an encoder worked out by hand and a COMET that says what it is told, for the tests of ACCENT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tacit.graph.model import Assertion
from tacit.graph.names import concept_uri, event_uri
from tacit.reasoning.metrics.accent.scorers.base import Query
from tacit.reasoning.metrics.accent.tails.comet import Generated

EVENTS = (
    ("PersonX buys a dog", "xWant", "to feed the dog", 1.0),
    ("PersonX buys a dog", "xWant", "to go to the park", 2.0),
    ("PersonX buys a dog", "xReact", "happy", 1.0),
    ("PersonX buys a dog", "xNeed", "none", 1.0),
    ("PersonX gets a puppy", "xWant", "to name the puppy", 1.0),
    ("PersonX eats dinner", "xEffect", "is full", 1.0),
    ("PersonX eats dinner", "xReact", "satisfied", 1.0),
    ("PersonX eats dinner", "HinderedBy", "PersonX has no food", 1.0),
    ("PersonX eats ___", "isFilledBy", "pasta", 1.0),
)
CONCEPTS = (("walk the dog", "HasPrerequisite", "get a leash", 1.5), ("dog", "IsA", "pet", 4.0))


def world() -> list[Assertion]:
    """The assertions of the small world: ATOMIC's between events, ConceptNet's between concepts."""
    events = [Assertion(event_uri(h), r, event_uri(t), w, "atomic2020", "test.tsv", "cc:by/4.0") for h, r, t, w in EVENTS]
    concepts = [Assertion(concept_uri(h), r, concept_uri(t), w, "conceptnet", "/d/test") for h, r, t, w in CONCEPTS]
    return events + concepts


class WordEncoder:
    """An encoder without a model: a text is the sum of its words, each a random direction of its own; it remembers as others do.

    Attributes:
        seen: every text that was encoded, in order, so that a test can count.
    """

    dimension = 64

    def __init__(self, signature: str = "words") -> None:
        self.signature = signature
        self.seen: list[str] = []
        self._vectors: dict[str, NDArray[np.float64]] = {}
        self.files = SimpleNamespace(name="words", requested="words")

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (texts, 64)."""
        return self.sentences(self.pooled(texts))

    def pooled(self, texts: Sequence[str], *, keep: bool = True, progress: Any = None) -> NDArray[np.float32]:
        """The same; this encoder pools in one way."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self.seen += fresh
        if progress is not None:
            progress(len(fresh))
        new = {text: sum((_direction(word) for word in text.lower().split()), np.full(64, 1e-3)) for text in fresh}
        rows = [self._vectors[text] if text in self._vectors else new[text] for text in texts]
        if keep:
            self._vectors.update(new)
        vectors = np.array(rows).reshape(len(texts), 64)
        unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def sentences(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rows as they are."""
        return pooled


def _direction(word: str) -> NDArray[np.float64]:
    return np.random.default_rng(list(word.encode())).normal(size=64)


class FixedComet:
    """Stands for a COMET: says ``answers[head, relation]``, counts the queries that reach it, and fails when told to."""

    beams = 10

    def __init__(self, answers: Mapping[tuple[str, str], Sequence[str]], name: str = "fixed") -> None:
        self.files = SimpleNamespace(requested=name, name=name, digest="0" * 12, signature=f"{name}@{'0' * 12}")
        self.answers = answers
        self.calls = 0
        self.fails = ""
        self.source = f"comet:{self.files.signature}"
        self.signature = self.files.signature

    def generate(self, queries: Sequence[Query]) -> list[list[Generated]]:
        """The answers, each a little less likely than the one before."""
        if self.fails:
            raise RuntimeError(self.fails)
        self.calls += len(queries)
        return [
            [Generated(text, -0.5 - rank) for rank, text in enumerate(self.answers.get((head, relation), ()))]
            for head, relation in queries
        ]
