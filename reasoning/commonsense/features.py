"""The five features of the commonsense regressor, in batches: triples, length, and the losses of a language model.

After Zhou et al. (SIGDIAL 2021), section 4.3, and the re-implementation by the authors of ACCENT (ACL 2023): one-hop and two-hop
triples between history and response, the response's length in words, and the mean negative log-likelihood per token of the
response alone and of history and response together. Only what a model reads is worked out, so one without losses needs no
language model, and one without counts no graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from ...graph.errors import InputError, ModelError
from ...graph.item import Item
from ...graph.protocol import COUNTS, Count, KnowledgeGraph
from ..cache import LruCache
from ..language import Analyser, open_analyser
from ..words import count_words
from .regressor import FEATURES, Matrix
from .triples import TripleFeatures

if TYPE_CHECKING:
    from ..likelihood import CausalModel

HOPS = FEATURES[:2]
LOSSES = FEATURES[3:]


class FeatureExtractor:
    """Works out chosen features of items; remembers the utterances, counts and losses that it saw last."""

    def __init__(
        self,
        features: Sequence[str],
        *,
        triples: TripleFeatures | None = None,
        language_model: CausalModel | None = None,
        cache_size: int = 20_000,
    ) -> None:
        """Extract ``features``, some of ``FEATURES`` in their order.

        Args:
            triples: counts the triples, where they are asked for.
            language_model: gives the losses, where they are asked for.
            cache_size: dialogues whose losses are kept in memory.

        Raises:
            InputError: there is no such feature, none is named, or what it needs is missing.
        """
        if not features or list(features) != [name for name in FEATURES if name in features]:
            raise InputError(f"the features {list(features)} are not some of {', '.join(FEATURES)} in this order")
        self.features = tuple(features)
        self.triples = triples if _any(features, HOPS) else None
        self.language_model = language_model if _any(features, LOSSES) else None
        if self.triples is None and _any(features, HOPS):
            raise InputError("triples cannot be counted without a graph; give one")
        if self.language_model is None and _any(features, LOSSES):
            raise InputError("losses cannot be worked out without a language model; give one")
        self._losses: LruCache[tuple[str, ...], float] = LruCache(cache_size)

    @property
    def signature_parts(self) -> tuple[tuple[str, str], ...]:
        """What the features depend on besides the text: graph, pipeline, what is counted, language model."""
        parts = self.triples.signature_parts if self.triples else ()
        return (*parts, ("language_model", self.language_model.signature)) if self.language_model else parts

    def values(self, items: Sequence[Item]) -> Matrix:
        """Return the features of each item, shape ``(len(items), len(self.features))``.

        Counts and words are whole numbers, 0 or more; losses are in nats per token. An empty response has 0 words and, since a
        language model also predicts the end of a turn, a loss.

        Raises:
            ModelError: the language model gives no number.
        """
        columns: dict[str, Matrix] = {}
        if self.triples:
            columns |= dict(zip(HOPS, self.triples.counts(items).T, strict=True))
        if "length" in self.features:
            columns["length"] = np.array([count_words(item.response) for item in items], dtype=np.float64)
        if self.language_model:
            asked = [(item.response,) for item in items] + [(*item.history, item.response) for item in items]
            columns |= dict(zip(LOSSES, self._known_losses(asked, self.language_model).reshape(2, len(items)), strict=True))
        return np.stack([columns[name] for name in self.features], axis=1)

    def _known_losses(self, dialogues: Sequence[tuple[str, ...]], model: CausalModel) -> Matrix:
        """Return the loss of each dialogue; those not seen of late are asked for together, each once."""
        known: dict[tuple[str, ...], float] = {}
        fresh = []
        for dialogue in dict.fromkeys(dialogues):
            found = self._losses.get(dialogue)
            if found is None:
                fresh.append(dialogue)
            else:
                known[dialogue] = found
        if fresh:
            for dialogue, loss in zip(fresh, model.losses(fresh).tolist(), strict=True):
                known[dialogue] = loss
                self._losses.put(dialogue, loss)
        return np.array([known[dialogue] for dialogue in dialogues], dtype=np.float64)


def open_features(
    features: Sequence[str],
    graph: KnowledgeGraph | None,
    *,
    pipeline: Analyser | str | Path | None = None,
    count: str = COUNTS[0],
    language_model: CausalModel | str | Path | None = None,
    device: str | None = None,
    cache_size: int = 20_000,
) -> FeatureExtractor:
    """Return an extractor of ``features``, opening what they need and nothing else.

    Args:
        graph: where triples are counted.
        pipeline: an analyser, or the name or folder of a spaCy pipeline; the shipped one by default.
        count: ``pairs`` or ``triples``; see :mod:`tacit.reasoning.commonsense.triples`.
        language_model: a causal model that is open, its folder, or an id of the hub.
        device: where the language model runs, when it is not open yet.
        cache_size: utterances, counts and losses kept in memory.

    Raises:
        InputError: an option makes no sense, or the features need a graph and there is none.
        ModelError: the pipeline or the language model cannot be opened, or losses are asked for and no model is named.
        MissingExtra: losses are asked for, and torch or transformers is not installed.
    """
    triples = None
    if _any(features, HOPS):
        if graph is None:
            raise InputError(f"the features {', '.join(features)} count triples of a graph; give one")
        triples = TripleFeatures(graph, open_analyser(pipeline), count=cast("Count", count), cache_size=cache_size)
    model = None
    if _any(features, LOSSES):
        model = open_language_model(language_model, device=device)
    return FeatureExtractor(features, triples=triples, language_model=model, cache_size=cache_size)


def open_language_model(model: CausalModel | str | Path | None, *, device: str | None = None) -> CausalModel:
    """Return a causal language model: ``model`` itself when it is open.

    Raises:
        ModelError: none is named, or it cannot be opened.
        MissingExtra: torch or transformers is not installed.
    """
    if model is None:
        raise ModelError("the losses of responses need a causal language model, and none is named; give its folder or id")
    if not isinstance(model, (str, Path)):
        return model
    from ..likelihood import open_causal

    return open_causal(model, device=device)


def _any(features: Sequence[str], names: Sequence[str]) -> bool:
    return any(name in features for name in names)
