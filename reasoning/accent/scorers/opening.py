"""Tuple scorers by name, over one graph: what each of them needs (table, encoder, models) is opened when it is asked for,
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....graph.errors import InputError, ModelError
from ....graph.protocol import KnowledgeGraph
from ..tails.chain import Chain
from ..tails.lookup import GraphTails
from ..tails.source import TailSource
from ..tails.table import EventTable, events_home, open_table
from ..tuples import RELATIONS
from .tuplescore import TupleScorer

if TYPE_CHECKING:
    from .compact import Compact

SCORERS = (
    "compatibility", "retriever", "support", "blend", "cosine", "comet-loss", "comet-lift", "kg-bert", "llm-judge", "llm-probe",
)  # fmt: skip

Progress = Callable[[str, int], None]


class Opener:
    """Opens tuple scorers and tail sources over one graph, with one encoder."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        encoder: Any = None,
        device: str | None = None,
        dtype: str = "float32",
        cache_size: int = 100_000,
        progress: Progress | None = None,
    ) -> None:
        """Open over ``graph``.

        Args:
            encoder: a sentence encoder's folder or id, or one that is open; see :func:`tacit.reasoning.encoder.open_encoder`.
            device: where models run; dtype: of the weights of language models that judge.
            cache_size: texts whose embeddings are remembered.
            progress: told the name of what is made for this graph, once a graph, and how much of it was done since last time.
        """
        self.graph = graph
        self._encoder = encoder
        self._device = device
        self._dtype = dtype
        self._cache_size = cache_size
        self._progress = progress
        self._models: dict[str | Path | None, Compact] = {}

    @cached_property
    def encoder(self) -> Any:
        """The sentence encoder."""
        if hasattr(self._encoder, "pooled"):
            return self._encoder
        from ...encoder import open_encoder

        return open_encoder(self._encoder, device=self._device, cache_size=self._cache_size)

    @cached_property
    def table(self) -> EventTable:
        """The graph's events."""
        return open_table(self.graph, progress=self._told("reading the events"))

    @cached_property
    def vectors(self) -> Any:
        """Embeddings that are kept beside the graph."""
        from ..tails.vectors import KeptVectors

        return KeptVectors(events_home(self.graph), self.encoder)

    @cached_property
    def memory(self) -> Any:
        """What COMETs said of old."""
        from ..tails.memory import Memory

        return Memory(self.graph, self.table)

    def embed(self, texts: Sequence[str]) -> Any:
        """Return the vectors of ``texts``, shape (texts, d)."""
        return self.vectors[texts]

    def tails(
        self, *, nearest: int = 0, threshold: float = 0.0, comet: str | Path | Any | None = None, remember: bool = True
    ) -> TailSource:
        """Return the graph as a tail source, then ``nearest`` heads from a cosine of ``threshold`` (0 heads: none), then a COMET.

        A COMET that cannot be opened is left out, and the notes of what it would have been asked say so.
        """
        graph = GraphTails(self.table, learnt=comet is None)
        sources: list[TailSource] = [graph]
        if nearest:
            sources.append(self._nearest(graph, nearest, threshold))
        if comet is not None:
            sources.append(self._comet(comet, remember))
        else:
            from ..tails.generated import LearntTails

            sources.append(LearntTails(self.memory))
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
        """Return the scorer ``name``.

        Args:
            tails: what ``compatibility`` and ``blend`` compare with; comet: the model of ``comet-loss`` and ``comet-lift``.
            model: the folder or file of a retriever (by default the one that ships with tacit), of a ``kg-bert``, or of the
                language model of ``llm-judge`` and ``llm-probe``; probe: the folder or file of ``llm-probe``'s probe, by default
                the one that ships.

        Raises:
            InputError: there is no such scorer, or it needs a model and none is named.
            ModelError: a model cannot be opened.
        """
        if name == "compatibility":
            return self._compatibility(tails or self.tails(), model)
        if name == "retriever":
            judge: TupleScorer = self._retriever(model)
            return judge
        if name == "support":
            return self._support(model)
        if name == "blend":
            return self._blend(tails or self.tails(), model)
        if name == "cosine":
            from .plain import PlainCosine

            return PlainCosine(self.embed, encoder=self.encoder.signature)
        if name in ("comet-loss", "comet-lift"):
            from .likelihood import CometLift, CometLoss

            return (CometLoss if name == "comet-loss" else CometLift)(self._open_comet(comet))
        if name == "kg-bert":
            from .kgbert import open_kgbert

            if model is None:
                raise InputError("the scorer kg-bert needs a model; name the folder that tacit train kg-bert wrote")
            return open_kgbert(model, device=self._device)
        if name in ("llm-judge", "llm-probe"):
            if model is None:
                raise InputError(f"the scorer {name} needs a model; name a language model: a folder, a GGUF file or an id")
            return self._asked(name, model, probe)
        raise InputError(f"there is no tuple scorer {name!r}; choose from {', '.join(SCORERS)}")

    def relations(self) -> list[str]:
        """Return the relations that tuples may have: ACCENT's twelve, and what else this graph says of events."""
        return list(dict.fromkeys([*RELATIONS, *self.table.relations]))

    def _compatibility(self, tails: TailSource, model: str | Path | None) -> TupleScorer:
        from .compatibility import Compatibility

        fallback = self._retriever(model)
        return Compatibility(tails, self.embed, self.relations(), encoder=self.encoder.signature, fallback=fallback)

    def _retriever(self, model: str | Path | None) -> Any:
        from .retriever import Retriever

        return Retriever(self._compact(model), self.embed, encoder=self.encoder.signature)

    def _support(self, model: str | Path | None) -> TupleScorer:
        from .support import Support

        return Support(self._compact(model), self.embed, encoder=self.encoder.signature)

    def _compact(self, model: str | Path | None) -> Compact:
        from .compact import open_compact

        if model not in self._models:
            self._models[model] = open_compact(model)
        return self._models[model]

    def _blend(self, tails: TailSource, model: str | Path | None) -> TupleScorer:
        from .blend import Blend, Part
        from .compatibility import Compatibility
        from .retriever import Match

        retriever = self._retriever(model)
        known = Compatibility(tails, self.embed, self.relations(), encoder=self.encoder.signature, unknown=nan)
        parts: dict[str, TupleScorer] = {
            "known": known, "support": self._support(model), "closeness": retriever, "match": Match(retriever),
        }  # fmt: skip
        return Blend({name: Part(scorer, retriever.model.scales[name]) for name, scorer in parts.items()})

    def _asked(self, name: str, model: str | Path, probe: str | Path | None) -> TupleScorer:
        from .llmjudge import open_llm_judge
        from .llmprobe import open_llm_probe

        if name == "llm-judge":
            return open_llm_judge(model, device=self._device, dtype=self._dtype)
        return open_llm_probe(model, probe, device=self._device, dtype=self._dtype)

    def _nearest(self, graph: GraphTails, limit: int, threshold: float) -> TailSource:
        from ..tails.lookup import NearestTails

        return NearestTails(graph, self.vectors, limit=limit, threshold=threshold, progress=self._told("embedding the heads"))

    def _comet(self, comet: Any, remember: bool) -> TailSource:
        from ..tails.generated import AbsentComet, CometTails

        try:
            return CometTails(self._open_comet(comet), self.memory, remember=remember)
        except ModelError as error:
            return AbsentComet(str(error))

    def _open_comet(self, comet: Any) -> Any:
        from ..tails.comet import DEFAULT_COMET, open_comet

        return comet if hasattr(comet, "generate") else open_comet(comet or DEFAULT_COMET, device=self._device)

    def _told(self, what: str) -> Callable[[int], None] | None:
        progress = self._progress
        return None if progress is None else lambda number: progress(what, number)
