"""Shared resources of tuple scorers (event table, known tails, encoder, models), each opened on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .....graph.protocol import KnowledgeGraph, TailsInBulk
from ....models.hub import check_dtype
from ....registry import load_scorer
from ..events import RELATIONS
from ..tails.event_table import Events, EventTable, events_home, open_table
from ..tails.sources import CachedTails, Chain, CometTails, GraphTails, NearestTails
from .base import TailSource, TupleScorer

if TYPE_CHECKING:
    from .retrieval_model import RetrievalModel

Progress = Callable[[str, int], None]

_CACHE_SIZE = 100_000  # vectors of texts in memory


class ScorerResources:
    """Opens tuple scorers and tail sources over one graph, with one encoder.

    A tuple scorer is made by the function ``make_…(resources, *, …)`` of its module; :mod:`tacit.reasoning.registry` lists them.

    Attributes:
        graph: the graph.
        device: where models run, as torch names it; None for the default.
        dtype: of the weights of ``llm-probe``'s language model.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        encoder: Any = None,
        device: str | None = None,
        dtype: str = "bfloat16",
        progress: Progress | None = None,
    ) -> None:
        """Open scorers over ``graph``; ``encoder`` is a folder, an id or an open one.

        ``progress`` is called with the name of what is computed once per graph, and the amount done since the last call.
        """
        self.graph = graph
        self._encoder = encoder
        self.device = device
        self.dtype = check_dtype(dtype)
        self._progress = progress
        self._models: dict[str | Path | None, RetrievalModel] = {}

    @cached_property
    def encoder(self) -> Any:
        """The sentence encoder."""
        if hasattr(self._encoder, "pooled"):
            return self._encoder
        from ....models.encoder import open_encoder

        return open_encoder(self._encoder, device=self.device, cache_size=_CACHE_SIZE)

    @cached_property
    def table(self) -> EventTable:
        """The graph's events as arrays."""
        return open_table(self.graph, progress=self._counter("reading the events"))

    @cached_property
    def events(self) -> Events:
        """The graph's events: those of a store are asked for by Cypher, those of other graphs are in the table."""
        if isinstance(self.graph, TailsInBulk):
            from ..tails.event_table import StoredEvents

            return StoredEvents(self.graph)
        return self.table

    @cached_property
    def vectors(self) -> Any:
        """Embeddings, stored beside the graph."""
        from ....models.vector_cache import VectorCache

        return VectorCache(events_home(self.graph), self.encoder)

    @cached_property
    def memory(self) -> Any:
        """The stored tails that COMETs generated."""
        from ..tails.tail_cache import TailCache

        return TailCache(self.graph, self.events)

    def embed(self, texts: Sequence[str]) -> Any:
        """Return the vectors of ``texts``, shape (texts, d)."""
        return self.vectors[texts]

    def tails(
        self, *, nearest: int = 0, threshold: float = 0.0, comet: str | Path | Any | None = None, remember: bool = True
    ) -> TailSource:
        """Return a tail source: the graph, then ``nearest`` heads with a cosine >= ``threshold`` (0: none), then
        ``comet``, or without one the stored tails of COMETs."""
        graph = GraphTails(self.events, generated=comet is None)
        sources: list[TailSource] = [graph]
        if nearest:
            sources.append(self._nearest(graph, nearest, threshold))
        if comet is not None:
            sources.append(CometTails(self.comet(comet), self.memory, remember=remember))
        else:
            sources.append(CachedTails(self.memory))
        return Chain(sources)

    def scorer(
        self,
        name: str,
        *,
        tails: TailSource | None = None,
        model: str | Path | None = None,
        probe: str | Path | None = None,
        comet: Any = None,
    ) -> TupleScorer:
        """Return the scorer ``name`` of :mod:`tacit.reasoning.registry`, with those of the options that it has."""
        return load_scorer(name, self, tails=tails, model=model, probe=probe, comet=comet)

    def relations(self) -> list[str]:
        """Return the relations that tuples may have: ACCENT's twelve, and those of this graph's events."""
        return list(dict.fromkeys([*RELATIONS, *self.events.relations]))

    def retrieval_model(self, model: str | Path | None) -> RetrievalModel:
        """Return the compact model in a folder or file, by default the one that ships."""
        from .retrieval_model import open_retrieval_model

        if model not in self._models:
            self._models[model] = open_retrieval_model(model)
        return self._models[model]

    def comet(self, comet: Any = None) -> Any:
        """Return a COMET by its folder or id, by default the published one; an open COMET is returned unchanged."""
        from ..tails.comet import DEFAULT_COMET, open_comet

        return comet if hasattr(comet, "generate") else open_comet(comet or DEFAULT_COMET, device=self.device)

    def _nearest(self, graph: GraphTails, limit: int, threshold: float) -> TailSource:
        return NearestTails(graph, self.vectors, limit=limit, threshold=threshold, progress=self._counter("embedding the heads"))

    def _counter(self, what: str) -> Callable[[int], None] | None:
        progress = self._progress
        return None if progress is None else lambda number: progress(what, number)
