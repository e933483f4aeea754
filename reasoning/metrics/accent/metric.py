"""The metric ``accent`` (ACCENT, Ghazarian et al., ACL 2023): event commonsense of a response.

Event tuples are extracted from the response and the turn before it, each is scored by a tuple scorer (:mod:`.scorers`), and the
metric's score is their mean, in 0..1. Profiles:

* ``tacit``, the default: the models that ship; a response without tuples has no score (NaN), since the absence of a
  tuple says nothing about plausibility;
* ``paper``: extraction by the T5 of the paper, equation 1 over ten tails of COMET-BART alone, paraphrase-MiniLM, and 0.5 for a
  response without tuples. The models come from the hub, or from folders that the options name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....graph.errors import InputError
from ....graph.item import Item
from ....graph.model import Path as GraphPath
from ....graph.names import event_uri, normalise_event
from ....graph.protocol import KnowledgeGraph
from ...base import BatchScoring, Evidence, Piece, Score, Signature, no_score
from ...registry import EXTRACTOR_REGISTRY, SCORER_REGISTRY, default_scorer, open_extractor
from ...text.linking import Mention
from .events import EventTuple, Extractor, Kind, Where
from .scorers.base import CloseTail, Triple, TupleScore, TupleScorer
from .tails.sources import Provenance

if TYPE_CHECKING:
    from .scorers.resources import ScorerResources

VERSION = 3

PROFILES = ("tacit", "paper")
PAPER_PRIOR = 0.5
PAPER_ENCODER = "sentence-transformers/paraphrase-MiniLM-L6-v2"
TUPLES = ("all", *Kind)
NO_TUPLES = "no event tuple was found in the response"
IN_THE_PAPER = "no event tuple was found; the paper assigns 0.5"


class Accent(BatchScoring):
    """The metric, over one extractor and one tuple scorer; :func:`make` opens both by name."""

    name = "accent"
    batch_size = 256

    def __init__(
        self, graph: KnowledgeGraph, extractor: Extractor, scorer: TupleScorer, *, profile: str = "tacit", tuples: str = "all"
    ) -> None:
        """Score the tuples that ``extractor`` finds with ``scorer``; ``tuples`` is ``all`` or the one kind that counts."""
        _check("profile", profile, PROFILES)
        _check("kind of tuples", tuples, TUPLES)
        self.provenance = Provenance(graph)
        self.extractor = extractor
        self.scorer = scorer
        self.profile = profile
        self.tuples = tuples
        self.reads_english = profile == "tacit"
        self.signature = Signature(
            self.name,
            (
                ("graph", graph.manifest().digest),
                ("extractor", extractor.signature),
                ("scorer", scorer.signature),
                ("profile", profile),
                *((("tuples", tuples),) if tuples != "all" else ()),
            ),
            VERSION,
        )

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score a batch, each distinct tuple once; with ``explain`` the closest known tails are looked up in the graph."""
        rows = [
            [event_tuple for event_tuple in row if self.tuples in ("all", event_tuple.kind)]
            for row in self.extractor.extract_batch(items)
        ]
        triples: dict[Triple, TupleScore | None] = {
            (event_tuple.head, event_tuple.relation, event_tuple.tail): None for row in rows for event_tuple in row
        }
        triples.update(zip(triples, self.scorer.score(list(triples)), strict=True))
        return [self._score(item, row, triples, explain) for item, row in zip(items, rows, strict=True)]

    def _score(self, item: Item, tuples: Sequence[EventTuple], scores: dict[Triple, Any], explain: bool) -> Score:
        if not tuples:
            if self.profile == "tacit":
                return no_score(NO_TUPLES, self.signature)
            base = Piece("base", PAPER_PRIOR, PAPER_PRIOR, name="no event tuple")
            return Score(PAPER_PRIOR, Evidence((base,), IN_THE_PAPER), self.signature)
        judged = [scores[event_tuple.head, event_tuple.relation, event_tuple.tail] for event_tuple in tuples]
        provenance = self.provenance if explain else None
        pieces = tuple(
            _piece(item, event_tuple, score, len(tuples), provenance) for event_tuple, score in zip(tuples, judged, strict=True)
        )
        notes = "; ".join(dict.fromkeys(score.note for score in judged if score.note))
        return Score(sum(piece.share for piece in pieces), Evidence(pieces, notes), self.signature)


def _piece(item: Item, event_tuple: EventTuple, score: TupleScore, parts: int, provenance: Provenance | None) -> Piece:
    """The evidence for one of ``parts`` tuples, with the known tails that are closest to its tail."""
    share = score.value / parts
    rests_on = tuple(
        _known_tail_piece(close, event_tuple.relation, share if not index else 0.0, provenance)
        for index, close in enumerate(score.closest)
    )
    made_of = tuple(Piece("part", value, 0.0, name=name) for name, value in score.parts)
    turn = event_tuple.head_at.turn if event_tuple.head_at else None
    return Piece(
        "tuple",
        score.value,
        share,
        response=_mention(item, event_tuple.tail_at, event_tuple.tail),
        turn=turn,
        history=_mention(item, event_tuple.head_at, event_tuple.head) if turn is not None else None,
        name=f"{event_tuple.head} -{event_tuple.relation}-> {event_tuple.tail}",
        rests_on=(*rests_on, *made_of),
    )


def _known_tail_piece(close: CloseTail, relation: str, share: float, provenance: Provenance | None) -> Piece:
    """A known tail as evidence: ``graph-tail``, ``nearest-tail``, ``comet-tail`` or ``model-tail``; its path is one edge.

    The edge is the graph's own assertion where it was found there, else it is built from the tail.
    """
    tail = close.tail
    path = provenance.path(tail, relation) if provenance else None
    asserted = path is not None
    if path is None:
        assertion = tail.assertion(relation)
        path = GraphPath((assertion.head, assertion.tail), (assertion,))
    return Piece(f"{tail.origin}-tail", close.similarity, share, name=tail.text, path=path, asserted=asserted)


def _mention(item: Item, where: Where | None, event: str) -> Mention | None:
    """The characters that an event was extracted from; None when they are unknown, or the event has no name."""
    if where is None or not normalise_event(event):
        return None
    text = item.response if where.turn is None else item.history[where.turn]
    return Mention(where.start, where.end, text[where.start : where.end], event_uri(event), "", "")


def make(
    graph: KnowledgeGraph,
    *,
    extractor: Extractor | str | None = None,
    scorer: TupleScorer | str | None = None,
    profile: str = "tacit",
    tuples: str = "all",
    encoder: Any = None,
    nearest: int = 0,
    threshold: float = 0.8,
    comet: str | Path | Any | None = None,
    remember: bool = True,
    model: str | Path | None = None,
    probe: str | Path | None = None,
    dtype: str = "bfloat16",
    extractor_model: str | Path | None = None,
    pipeline: Any = None,
    device: str | None = None,
    progress: Any = None,
) -> Accent:
    """Return the metric over ``graph``.

    Args:
        extractor: finds the event tuples: ``rules`` over a parse, ``t5`` by a sequence-to-sequence model (``extractor_model``),
            ``cskb`` by keywords of the graph, or an extractor object; by default ``rules``, in the profile ``paper`` ``t5``.
        scorer: scores a tuple: the name of a tuple scorer (docs/accent.md lists them) or a scorer object; by default
            ``llm-probe`` where its language model is ready and neither ``nearest``, ``comet`` nor ``model`` is given, else
            ``blend``; in the profile ``paper`` equation 1 over the COMET's tails alone.
        profile: ``tacit`` or ``paper``; see the module.
        tuples: ``all``, or only ``single`` tuples (both events in the response) or ``pair`` ones (table 5 of the paper).
        encoder: a sentence encoder's folder or id; by default all-MiniLM-L6-v2, in ``paper`` paraphrase-MiniLM-L6-v2.
        nearest: when the graph does not hold a head, use the tails of this many nearest heads; 0 uses none. The embeddings of all
            heads are computed once per graph. threshold: lowest cosine, in -1..1, of a head that counts as near.
        comet: a COMET's folder or id, for heads that the graph does not hold; None uses none, and in ``paper`` the published
            COMET-BART.
        remember: store the tails that the COMET generates, so that no query is generated twice.
        model: file of the compact model that scores heads without known tails (by default the one that ships), or the model of
            ``kg-bert`` or ``llm-probe`` (by default the one that ``tacit fetch judge`` downloads); probe: the probe of
            ``llm-probe``, by default the one that ships. dtype: of the weights of ``llm-probe``'s model: ``bfloat16``, or
            ``float32``, which is slower and takes twice the memory.
        extractor_model: model of the extractor ``t5``, a folder or an id of the hub.
        pipeline: a spaCy pipeline for the rules; device: where models run.
        progress: called with the name of what is computed for this graph, and the amount done since the last call.
    """
    from .scorers.resources import ScorerResources

    _check("profile", profile, PROFILES)
    _check("kind of tuples", tuples, TUPLES)
    if profile == "paper":
        extractor, encoder = extractor or "t5", encoder or PAPER_ENCODER
    extractor = extractor or "rules"
    opened_extractor = (
        _extractor(extractor, graph, extractor_model, pipeline, device) if isinstance(extractor, str) else extractor
    )
    resources = ScorerResources(graph, encoder=encoder, device=device, dtype=dtype, progress=progress)
    chosen = scorer or default_scorer(tails_asked=bool(nearest or comet or model))
    if profile == "paper" and scorer is None:
        chosen = _equation_1(resources, comet, remember)
    elif isinstance(chosen, str):
        tails = None
        if "tails" in SCORER_REGISTRY.kind(chosen).options():
            tails = resources.tails(nearest=nearest, threshold=threshold, comet=comet, remember=remember)
        chosen = resources.scorer(chosen, tails=tails, model=model, probe=probe, comet=comet)
    return Accent(graph, opened_extractor, chosen, profile=profile, tuples=tuples)


def _check(what: str, value: str, known: Sequence[str]) -> None:
    """Raise :class:`InputError` when ``value`` is not one of ``known``."""
    if value not in known:
        raise InputError(f"the metric accent has no {what} {value!r}; choose from {', '.join(known)}")


def _equation_1(resources: ScorerResources, comet: Any, remember: bool) -> TupleScorer:
    """Return equation 1 of the paper over a COMET's tails alone."""
    from .scorers.compatibility import Compatibility
    from .tails.sources import CometTails

    tails = CometTails(resources.comet(comet), resources.memory, remember=remember)
    return Compatibility(tails, resources.embed, resources.relations(), encoder=resources.encoder.signature)


def _extractor(name: str, graph: KnowledgeGraph, model: str | Path | None, pipeline: Any, device: str | None) -> Extractor:
    """Open an extractor with those of the metric's options that it accepts."""
    values = {"model": model, "pipeline": pipeline, "device": device}
    known = EXTRACTOR_REGISTRY.kind(name).options()
    options = {option: value for option, value in values.items() if value is not None and option in known}
    if model is not None and "model" not in known:
        raise InputError(f"the extractor {name} has no model; leave out extractor_model, or use the extractor t5")
    return open_extractor(name, graph, **options)
