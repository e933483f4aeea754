"""The metric ``commonsense``: a trained regressor over triples, length and the losses of a language model.

The score is in the range of the ratings that the model was trained on, higher is better; the shipped model gives 0..1. An
explanation consists of the mean over the model's background sample and a Shapley value for each feature, which add up to the
score; a count's value is divided among its triples. Features outside the range of the training data are clipped to it, so that
a very long response is scored as the longest one in training. The score is NaN for a response that is not an English sentence,
has no words, or has a feature that is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph.errors import InputError, ModelError
from ....graph.item import Item
from ....graph.protocol import COUNTS, KnowledgeGraph
from ...base import BatchScoring, Evidence, Piece, Score, Signature, no_score
from ...text.language import Analyser, is_english
from ...text.turns import count_words
from .features import LOSSES, FeatureExtractor, open_features
from .regressor import Matrix, Regressor, load_regressor, shapley_values

if TYPE_CHECKING:
    from ...models.causal_lm import CausalModel

VERSION = 2

SHIPPED = Path(__file__).parent / "model"
NO_WORD = "the response has no words"
NO_TRIPLE = "no triple joins the response to the history"
NO_NUMBER = "a feature of the response is not a number"

_HOPS = {"one_hop": 1, "two_hop": 2}
_LABELS = {
    "one_hop": "one-hop {count}",
    "two_hop": "two-hop {count}",
    "length": "words",
    "response_loss": "loss of the response",
    "dialogue_loss": "loss of history and response",
}


class Commonsense(BatchScoring):
    """The metric over one regressor and an extractor of its features; usually made by :func:`make`."""

    name = "commonsense"

    def __init__(self, model: Regressor, features: FeatureExtractor, *, evidence: int = 10) -> None:
        """Score with ``model``; an explanation names at most ``evidence`` triples for each of the two counts."""
        if features.features != model.features:
            raise InputError(
                f"the model needs {', '.join(model.features)}, and the extractor gives {', '.join(features.features)}"
            )
        if evidence < 0:
            raise InputError(f"evidence must be >= 0, not {evidence}")
        self.model = model
        self.features = features
        self.reads_english = features.triples is None or is_english(features.triples.linker.analyser)
        self.evidence = evidence

    def own_signature(self) -> Signature:
        parts = (*self.features.signature_parts, ("features", self.model.variant), ("model", self.model.digest))
        return Signature(self.name, parts, VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        if not items:
            return []
        values = self.features.values(items)
        scores = self.model.predict(values)
        pieces: list[tuple[Piece, ...]] = [()] * len(items)
        if explain:
            known = np.flatnonzero(np.isfinite(scores))
            shares, base = shapley_values(self.model.predict, values[known], self.model.background)
            for index, row in zip(known.tolist(), shares, strict=True):
                pieces[index] = self._pieces(items[index], values[index], row, base)
        return [
            no_score(NO_WORD, self.signature)
            if not count_words(item.response)
            else Score(score, Evidence(evidence, self._note(row, score)), self.signature)
            for item, score, row, evidence in zip(items, scores.tolist(), values, pieces, strict=True)
        ]

    def _note(self, values: Matrix, score: float) -> str:
        if np.isnan(score):
            return NO_NUMBER
        counts = [value for name, value in zip(self.model.features, values, strict=True) if name in _HOPS]
        return NO_TRIPLE if counts and not any(counts) else ""

    def _pieces(self, item: Item, values: Matrix, shares: Matrix, base: float) -> tuple[Piece, ...]:
        """Return the pieces of a score: the mean over the background, and each feature with its evidence."""
        known = Piece("base", base, base, name=f"mean of {len(self.model.background)} responses")
        rows = zip(self.model.features, values.tolist(), shares.tolist(), strict=True)
        return (
            known,
            *(Piece("feature", *row[1:], name=self._label(row[0]), rests_on=self._triple_pieces(item, *row)) for row in rows),
        )

    def _label(self, feature: str) -> str:
        return _LABELS[feature].format(count=self.features.triples.count if self.features.triples else "")

    def _triple_pieces(self, item: Item, name: str, value: float, share: float) -> tuple[Piece, ...]:
        """Return the triples of a count, with equal parts of its share; those not listed are summed in the last piece."""
        triples = self.features.triples
        if name not in _HOPS or triples is None or not value:
            return ()
        listed = triples.evidence(item, 1 if name == "one_hop" else 2, limit=self.evidence) if self.evidence else []
        named = [replace(piece, share=share / value) for piece in listed]
        unlisted = value - len(named)
        if unlisted > 0:
            named.append(Piece("triple", unlisted, share * unlisted / value, name=f"further {triples.count}"))
        return tuple(named)


def make(
    graph: KnowledgeGraph,
    *,
    model: Regressor | str | Path | None = None,
    language_model: CausalModel | str | Path | None = None,
    pipeline: Analyser | str | Path | None = None,
    device: str | None = None,
    evidence: int = 10,
) -> Commonsense:
    """Return the metric over ``graph``.

    The graph may differ from the one that the model was trained on; the signature names both, the model's within its digest.

    Args:
        model: a regressor, its file, or the folder that ``tacit train commonsense`` wrote; the shipped one, which reads
            symbolic features, by default.
        language_model: for models that read losses: an open causal model, its folder, or an id of the hub; by default the id
            that the model was trained with.
        pipeline: an analyser, or the name or folder of a spaCy pipeline; the shipped one by default.
        device: device of the language model, when it is not open yet.
        evidence: most triples listed in an explanation for each of the two counts.
    """
    regressor = model if isinstance(model, Regressor) else load_regressor(SHIPPED if model is None else model)
    features = open_features(
        regressor.features, graph, pipeline=pipeline, count=regressor.facts.get("count") or COUNTS[0],
        language_model=_language_model(regressor, language_model), device=device,
    )  # fmt: skip
    return Commonsense(regressor, features, evidence=evidence)


def _language_model(regressor: Regressor, model: CausalModel | str | Path | None) -> CausalModel | str | Path | None:
    """Return the language model for losses: the given one, or the one of the training if it has an id."""
    if model is not None or not set(regressor.features) & set(LOSSES):
        return model
    used: Any = regressor.facts.get("language_model")
    used = used if isinstance(used, dict) else {}
    if not used.get("id"):
        name = f" (trained with {used['signature']})" if used.get("signature") else ""
        raise ModelError(f"the model reads losses of a causal language model{name}; name it or its folder as language_model")
    return str(used["id"])
