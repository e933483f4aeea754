"""The five features of the commonsense regressor, in batches: two counts of triples, length, and two losses of a language
model.

After Zhou et al. (SIGDIAL 2021), section 4.3, and the re-implementation by the authors of ACCENT (ACL 2023): one-hop and
two-hop triples between history and response, the response's length in words, and the mean negative log-likelihood per token of
the response alone and of history and response together. Only the features that a model reads are computed: one without losses
needs no language model, and one without counts no graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError, ModelError
from ....graph.item import Item
from ....graph.path_search import count_triples_many, counted_chains
from ....graph.protocol import COUNTS, Count, KnowledgeGraph
from ...base import Piece
from ...lru_cache import LruCache
from ...text.language import Analyser, open_analyser
from ...text.linking import concept_linker, first_mentions
from ...text.turns import count_words
from ..grounding import latest_mentions
from .regressor import FEATURES, Matrix

if TYPE_CHECKING:
    from ...models.causal_lm import CausalModel

HOPS = FEATURES[:2]
LOSSES = FEATURES[3:]


class FeatureExtractor:
    """Computes features of items; recent utterances, counts and losses are cached."""

    def __init__(
        self,
        features: Sequence[str],
        *,
        triples: TripleFeatures | None = None,
        language_model: CausalModel | None = None,
        cache_size: int = 20_000,
    ) -> None:
        """Extract ``features``, some of ``FEATURES`` in their order; counts need ``triples``, losses a ``language_model``."""
        if not features or list(features) != [name for name in FEATURES if name in features]:
            raise InputError(f"the features {list(features)} are not some of {', '.join(FEATURES)} in this order")
        self.features = tuple(features)
        self.triples = triples if _includes_any(features, HOPS) else None
        self.language_model = language_model if _includes_any(features, LOSSES) else None
        if self.triples is None and _includes_any(features, HOPS):
            raise InputError("triples cannot be counted without a graph; give one")
        if self.language_model is None and _includes_any(features, LOSSES):
            raise InputError("losses cannot be computed without a language model; give one")
        self._losses: LruCache[tuple[str, ...], float] = LruCache(cache_size)

    @property
    def signature_parts(self) -> tuple[tuple[str, str], ...]:
        """Names and values for signatures: graph, pipeline, kind of count, language model."""
        parts = self.triples.signature_parts if self.triples else ()
        return (*parts, ("language_model", self.language_model.signature)) if self.language_model else parts

    def values(self, items: Sequence[Item]) -> Matrix:
        """Return the features of each item, shape ``(len(items), len(self.features))``.

        Counts and words are whole numbers, >= 0; losses are in nats per token. An empty response has 0 words and, since a
        language model also predicts the end of a turn, a loss.
        """
        columns: dict[str, Matrix] = {}
        if self.triples:
            columns |= dict(zip(HOPS, self.triples.counts(items).T, strict=True))
        if "length" in self.features:
            columns["length"] = np.array([count_words(item.response) for item in items], dtype=np.float64)
        if self.language_model:
            dialogues = [(item.response,) for item in items] + [(*item.history, item.response) for item in items]
            columns |= dict(zip(LOSSES, self._cached_losses(dialogues, self.language_model).reshape(2, len(items)), strict=True))
        return np.stack([columns[name] for name in self.features], axis=1)

    def _cached_losses(self, dialogues: Sequence[tuple[str, ...]], model: CausalModel) -> Matrix:
        """Return the loss of each dialogue; those that are not cached are computed together, each once."""
        known = self._losses.get_all(dialogues, lambda fresh: model.losses(fresh).tolist())
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
    """Return an extractor of ``features``, opening only what they need."""
    triples = None
    if _includes_any(features, HOPS):
        if graph is None:
            raise InputError(f"the features {', '.join(features)} count triples of a graph; give one")
        triples = TripleFeatures(graph, open_analyser(pipeline), count=cast("Count", count), cache_size=cache_size)
    model = None
    if _includes_any(features, LOSSES):
        model = open_language_model(language_model, device=device)
    return FeatureExtractor(features, triples=triples, language_model=model, cache_size=cache_size)


def open_language_model(model: CausalModel | str | Path | None, *, device: str | None = None) -> CausalModel:
    """Return a causal language model: ``model`` itself when it is open."""
    if model is None:
        raise ModelError("the losses of responses need a causal language model, and none is named; give its folder or id")
    if not isinstance(model, (str, Path)):
        return model
    from ...models.causal_lm import open_causal

    return open_causal(model, device=device)


def _includes_any(features: Sequence[str], names: Sequence[str]) -> bool:
    return any(name in features for name in names)


# Symbolic features: triples of the graph between a history and a response (Zhou et al., SIGDIAL 2021, sections 3.1 and 4.3).
#
# Concepts are single words: the nouns (proper ones too), verbs and adjectives that are not stop words, as written or as their
# lemma, where the graph has them. All turns of the history together are one set of concepts, the response is the other;
# repetitions do not count. Two kinds of counts, each for one hop and for two, whatever the direction of the assertions:
#
# ``pairs``: pairs (history concept, response concept) that are connected by at least one chain of exactly that many assertions,
# as in Ghazarian et al.'s baseline (ACCENT, ACL 2023), who follow assertions from head to tail only and count both ways.
# ``triples``: different triples (head, relation, tail), for two hops different pairs of triples that share their middle
# concept; assertions that differ only in provenance count once, and so does a triple found from both of its ends.
#
# The ends of a chain differ: a concept that both sides mention makes no triple with itself, but may with others. A pair that
# counts at one hop counts at two hops as well if a chain of two connects it. Without concepts on either side both counts are 0.

_ConceptSets = tuple[tuple[str, ...], tuple[str, ...]]  # of history and response, sorted


class TripleFeatures:
    """Counts the triples between histories and responses; recent utterances and counts are cached."""

    def __init__(self, graph: KnowledgeGraph, analyser: Analyser, *, count: Count = "pairs", cache_size: int = 20_000) -> None:
        """Count ``pairs`` or ``triples`` (see above) in ``graph`` between concepts that ``analyser`` finds."""
        if count not in COUNTS:
            raise InputError(f"unknown count {count!r} of triples; choose from {', '.join(COUNTS)}")
        self.graph = graph
        self.count: Count = count
        self.linker = concept_linker(graph, analyser, cache_size)
        self._counts: LruCache[_ConceptSets, tuple[float, float]] = LruCache(cache_size)
        self._digest = graph.manifest().digest

    @property
    def signature_parts(self) -> tuple[tuple[str, str], ...]:
        """Names and values for signatures: graph, pipeline, kind of count, options of the linker."""
        return (
            ("graph", self._digest),
            ("pipeline", self.linker.analyser.signature),
            ("count", self.count),
            *sorted(self.linker.options.items()),
        )

    def counts(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return the one-hop and the two-hop counts of each item, shape ``(len(items), 2)``; whole numbers, >= 0."""
        concept_sets = self._concept_sets(items)
        known = self._counts.get_all(concept_sets, self._count_triples)
        return np.array([known[sets] for sets in concept_sets], dtype=np.float64).reshape(len(items), 2)

    def _count_triples(self, concept_sets: Sequence[_ConceptSets]) -> Iterable[tuple[float, float]]:
        column = COUNTS.index(self.count)
        return zip(*(count_triples_many(self.graph, concept_sets, hops)[:, column].tolist() for hops in (1, 2)), strict=True)

    def _concept_sets(self, items: Sequence[Item]) -> list[_ConceptSets]:
        turns = list(dict.fromkeys(chain.from_iterable((*item.history, item.response) for item in items)))
        linked = zip(turns, self.linker.link_batch(turns), strict=True)
        concepts = {turn: {mention.concept for mention in mentions} for turn, mentions in linked}
        return [
            (_in_order(concept for turn in item.history for concept in concepts[turn]), _in_order(concepts[item.response]))
            for item in items
        ]

    def evidence(self, item: Item, hops: Literal[1, 2], limit: int | None = 10) -> list[Piece]:
        """Return the counted triples of ``item``: a piece for each pair (its strongest chain) or triple, strongest first.

        At most ``limit``, None for all, as many as :meth:`counts` gives. A piece has value 1, share 0, the first mention in the
        response, the latest one in the history, and the path between them.
        """
        *history, response = self.linker.link_batch([*item.history, item.response])
        latest = latest_mentions(history)
        first = {mention.concept: mention for mention in first_mentions(response)}
        pieces = []
        for path in counted_chains(self.graph, list(latest), list(first), hops, self.count, limit):
            earlier = latest[path.nodes[0]]
            pieces.append(Piece("triple", 1.0, 0.0, first[path.nodes[-1]], earlier.turn, earlier.mention, path.hops, path))
        return pieces


def _in_order(concepts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(concepts)))
