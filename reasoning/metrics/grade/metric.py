"""The metric ``grade``: how coherent a response is with its history, in (0, 1), by a network over texts and their dialogue
graph.

The context is the history's last turns, as many as the checkpoint was trained with (two); older turns do not count. A dialogue
without keywords is scored by its texts alone; the context of an empty history is empty. An explanation lists the keywords, the
effect of each on the score, and the paths and the attention between them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....graph.errors import InputError, ModelError
from ....graph.item import Item
from ....graph.protocol import KnowledgeGraph
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.encoder import TextEncoder, open_encoder
from ...models.hub import find_model, open_tokenizer
from ...text.language import Analyser, is_english, open_analyser
from ...text.linking import concept_linker
from .checkpoint import ENCODER, SHIPPED, Checkpoint, load_checkpoint
from .concepts import ConceptVectors, EncodedVectors, Neighbourhood, TableVectors, VectorTable
from .dialogue_graph import DialogueGraph, Floats, Keyword, KeywordFinder, Keywords, build, edge_weights
from .network import TUNED_READING, GradeModel, Graphs, context_of, frozen_texts, graph_tensors, tuned_texts

VERSION = 2
Starts = Callable[[Sequence[str]], Floats]

TOGETHER = 1024  # items whose texts are analysed and encoded together
BATCH = 128  # items in a batch of the network
_CACHE_SIZE = 50_000  # utterances kept in memory
NO_GRAPH = "the model has no graph branch; the score is based on the texts alone"


class Grade(BatchScoring):
    """The metric over one checkpoint; usually made by :func:`make`. Thread-safe."""

    name = "grade"

    def __init__(
        self,
        checkpoint: Checkpoint,
        graph: KnowledgeGraph,
        analyser: Analyser,
        encoder: TextEncoder,
        vectors: ConceptVectors,
        *,
        profile: str | None = None,
    ) -> None:
        """Score with ``checkpoint`` over ``graph``; ``profile`` is by default that of the training."""
        config = checkpoint.model.config
        self.profile = profile or config.profile
        self.weights = edge_weights(self.profile)
        _check_same("sentence encoder", checkpoint.encoder, encoder.signature)
        if config.graph:
            _check_same("set of concept vectors", checkpoint.vectors, vectors.signature)
        self.reads_english = is_english(analyser)
        self.checkpoint = checkpoint
        self.config = config
        self.graph = graph
        self.encoder = encoder
        linker = concept_linker(graph, analyser, _CACHE_SIZE)
        self.finder = KeywordFinder(
            linker, checkpoint.idf, threshold=config.threshold, limit=config.max_keywords, cache_size=_CACHE_SIZE
        )
        self.around = Neighbourhood(graph, vectors, limits=config.limits)
        self._tokenizer = _own_tokenizer(checkpoint) if config.utterance == "tuned" else None
        self._lock = threading.Lock()

    def own_signature(self) -> Signature:
        parts = (
            ("graph", self.graph.manifest().digest), ("pipeline", self.finder.linker.analyser.signature),
            ("checkpoint", self.checkpoint.digest), ("encoder", self.encoder.signature),
            ("vectors", self.around.vectors.signature if self.config.graph else "none"), ("profile", self.profile),
            ("k", ",".join(map(str, self.config.limits)) or "0"),
            *((("reading", TUNED_READING),) if self.config.utterance == "tuned" else ()),
        )  # fmt: skip
        return Signature(self.name, parts, VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        scores: list[Score] = []
        for start in range(0, len(items), TOGETHER):
            scores += self._score_chunk(items[start : start + TOGETHER], explain)
        return scores

    def graphs(self, items: Sequence[Item]) -> list[tuple[Keywords, DialogueGraph]]:
        """Return the keywords and the dialogue graph of each item."""
        contexts = [context_of(item.history, self.config.turns) for item in items]
        texts = list(dict.fromkeys(text for item, turns in zip(items, contexts, strict=True) for text in (*turns, item.response)))
        keywords_of = dict(zip(texts, self.finder.of_texts(texts), strict=True))
        result = []
        for item, turns in zip(items, contexts, strict=True):
            first = len(item.history) - len(turns)
            keywords = self.finder.of_dialogue([keywords_of[turn] for turn in turns], keywords_of[item.response], first)
            sides = (
                [keyword.mention.concept for keyword in keywords_of_side]
                for keywords_of_side in (keywords.context, keywords.response)
            )
            result.append((keywords, build(self.graph, *sides)))
        return result

    def _score_chunk(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score items whose texts are encoded together; the network's batches are sorted by size, to pad little."""
        known = self.graphs(items) if self.config.graph else []
        texts_of = self._texts(items)
        if self._tokenizer is None and known:
            sizes = [len(graph.concepts) for _, graph in known]
        else:
            sizes = [len(item.response) + sum(map(len, item.history[-self.config.turns :])) for item in items]
        order = sorted(range(len(items)), key=sizes.__getitem__)
        scores: dict[int, Score] = {}
        with torch.inference_mode(), self._lock:
            starts = self._starts([graph for _, graph in known])
            for start in range(0, len(order), BATCH):
                indices = order[start : start + BATCH]
                graphs = [known[index] for index in indices] if known else []
                batch_scores = self._batch(texts_of(indices), graphs, starts, explain)
                scores.update(zip(indices, batch_scores, strict=True))
        return [scores[index] for index in range(len(items))]

    def _batch(
        self, texts: tuple[Tensor, ...], known: Sequence[tuple[Keywords, DialogueGraph]], starts: Starts, explain: bool
    ) -> list[Score]:
        """Run the network on one batch; ``known`` is empty without a graph branch."""
        model, signature = self.checkpoint.model, self.signature
        utterance = model.reading(*texts)
        if not known:
            return [Score(value, Evidence(note=NO_GRAPH), signature) for value in model.head_scores(utterance, None).tolist()]
        graphs = graph_tensors([graph for _, graph in known], self.weights, starts)
        values = model.head_scores(utterance, model.encode_graphs(graphs)[0]).tolist()
        scores = []
        for index, ((keywords, graph), value) in enumerate(zip(known, values, strict=True)):
            evidence: tuple[Piece, ...] = ()
            if explain:
                evidence = pieces(self.graph, keywords, graph.hops, value, ablate(model, utterance, graphs, index))
            scores.append(Score(value, Evidence(evidence, note_of(keywords, graph.hops)), signature))
        return scores

    def _starts(self, graphs: Sequence[DialogueGraph]) -> Starts:
        """Return a function from concepts to initial node vectors, which are computed once for all graphs."""
        concepts = list(dict.fromkeys(concept for graph in graphs for concept in graph.concepts))
        if not concepts:
            return self.around.rows
        index = {concept: number for number, concept in enumerate(concepts)}
        vectors: Floats = self.checkpoint.model.start(torch.from_numpy(self.around.rows(concepts))).numpy()
        return lambda chosen: vectors[[index[concept] for concept in chosen]]

    def _texts(self, items: Sequence[Item]) -> Callable[[Sequence[int]], tuple[Tensor, ...]]:
        """Return a function from indices of items to the arguments of the utterance branch; each distinct turn is encoded
        once."""
        contexts = [context_of(item.history, self.config.turns) for item in items]
        responses = [item.response for item in items]
        tokenizer = self._tokenizer
        if tokenizer is not None:
            length = self.checkpoint.model.encoder_length
            return lambda indices: tuned_texts(
                tokenizer, [contexts[index] for index in indices], [responses[index] for index in indices], length
            )
        texts = list(
            dict.fromkeys(text for turns, response in zip(contexts, responses, strict=True) for text in (*turns, response))
        )
        row = {text: number for number, text in enumerate(texts)}
        vectors = self.encoder.pooled(texts)
        return lambda indices: frozen_texts(
            vectors,
            [row[contexts[index][-1]] if contexts[index] else -1 for index in indices],
            [[row[turn] for turn in contexts[index][:-1]] for index in indices],
            [row[responses[index]] for index in indices],
        )


def _check_same(what: str, trained: str, used: str) -> None:
    """Raise :class:`ModelError` when a signature differs from that of the training, apart from the precision."""
    if trained.split(";")[0] != used.split(";")[0]:
        raise ModelError(f"the GRADE checkpoint was trained with another {what} ({trained}, not {used}); give the same one")


def _own_tokenizer(checkpoint: Checkpoint) -> Any:
    assert checkpoint.folder is not None
    return open_tokenizer(find_model(checkpoint.folder / ENCODER))


def make(
    graph: KnowledgeGraph,
    *,
    model: Checkpoint | str | Path | None = None,
    profile: str | None = None,
    encoder: TextEncoder | str | Path | None = None,
    vectors: VectorTable | None = None,
    pipeline: Analyser | str | Path | None = None,
    device: str | None = None,
) -> Grade:
    """Return the metric over ``graph``.

    Args:
        model: a checkpoint, or the folder that ``tacit train grade`` wrote; by default the one that ships, trained on
            Topical-Chat over ConceptNet with all-MiniLM-L6-v2.
        profile: ``paper`` (edges weigh 1/hops) or ``released`` (1/(hops + 1), 1/20 without a path); by default as trained.
        encoder: the sentence encoder, its folder or an id of the hub; by default the one that the checkpoint names.
        vectors: concept vectors, for a checkpoint trained with them, as ``tacit.loaders.open_vectors`` returns them; their
            file's folder on the command line.
        pipeline: an analyser, or the name or folder of a spaCy pipeline; the shipped one by default.
        device: device of the sentence encoder, when it is not open yet.
    """
    if profile is not None:
        edge_weights(profile)
    if isinstance(vectors, str):
        raise InputError("vectors must be open; open the folder with tacit.loaders.open_vectors")
    checkpoint = model if isinstance(model, Checkpoint) else load_checkpoint(SHIPPED if model is None else model)
    opened = (
        encoder if isinstance(encoder, TextEncoder) else open_encoder(encoder or checkpoint.encoder_id or None, device=device)
    )
    if vectors is None and checkpoint.vectors.startswith("table:"):
        raise ModelError("the GRADE checkpoint was trained with a table of concept vectors; give the same table as vectors")
    of_concepts: ConceptVectors = EncodedVectors(opened, graph) if vectors is None else TableVectors(vectors, graph)
    return Grade(
        replace(checkpoint, model=checkpoint.model.eval()), graph, open_analyser(pipeline), opened, of_concepts, profile=profile
    )


# Explanation of a score: the effect of each keyword, and the edges with their paths and attention.
#
# The pieces add up to the score: the score of the texts without any keyword, the loss when each keyword alone is removed, and
# the rest, which is the interaction of keywords.

Doubles = NDArray[np.float64]


class Ablation(NamedTuple):
    """The network's output for one dialogue with keywords removed, and its attention."""

    without_any: float  # the score without any keyword
    without: Doubles  # the score without each node, the context's first
    attention: Doubles  # shape (n, n), the mean over layers and heads


def ablate(model: GradeModel, utterance: Tensor, graphs: Graphs, index: int) -> Ablation:
    """Score the dialogue at index ``index`` of a batch, with the batch's v_c, without each keyword, and without any."""
    n = int(graphs.mask[index].sum())
    nodes, adjacency = graphs.nodes[index, :n], graphs.adjacency[index, :n, :n]
    masks = torch.ones(n + 2, n, dtype=torch.bool)
    masks[torch.arange(n), torch.arange(n)] = False
    masks[n] = False  # no keyword; the last row keeps all
    variants = Graphs(graphs.concepts, nodes.expand(n + 2, n), masks, adjacency * (masks[:, :, None] & masks[:, None, :]))
    v_g, attention = model.encode_graphs(variants)
    scores = model.head_scores(utterance[index].expand(n + 2, -1), v_g).numpy().astype(np.float64)
    edge_attention = torch.stack([layer[n + 1].mean(0) for layer in attention]).mean(0).numpy().astype(np.float64)
    return Ablation(float(scores[n]), scores[:n], edge_attention)


def pieces(
    graph: KnowledgeGraph, keywords: Keywords, hops: NDArray[np.int8], value: float, ablation: Ablation
) -> tuple[Piece, ...]:
    """Return the evidence for a score; each keyword of the response has its edges below it, by attention."""
    nodes = (*keywords.context, *keywords.response)
    changes = value - ablation.without
    together = value - ablation.without_any - float(changes.sum())
    result = [Piece("base", ablation.without_any, ablation.without_any, name="the texts without any keyword")]
    for index, (keyword, change) in enumerate(zip(nodes, changes.tolist(), strict=True)):
        result.append(_keyword(graph, keywords, hops, index, keyword, change, ablation.attention))
    result.append(Piece("keyword", together, together, name="keywords together"))
    return tuple(result)


def _keyword(
    graph: KnowledgeGraph,
    keywords: Keywords,
    hops: NDArray[np.int8],
    index: int,
    keyword: Keyword,
    change: float,
    attention: Doubles,
) -> Piece:
    """Return the piece of one keyword; edges belong to the response's keywords, so that none is listed twice."""
    split = len(keywords.context)
    if keyword.turn is not None:
        name = f'keyword "{keyword.mention.text}" (turn {keyword.turn + 1})'
        return Piece("keyword", change, change, turn=keyword.turn, history=keyword.mention, name=name)
    column = index - split
    edges = [
        _edge(graph, keyword, keywords.context[row], int(hops[row, column]), float(attention[index, row]))
        for row in range(split)
        if attention[index, row] > 0
    ]
    edges.sort(key=lambda piece: (-round(piece.value, 6), piece.turn or 0, piece.history.start if piece.history else 0))
    name = f'keyword "{keyword.mention.text}" (response)'
    return Piece("keyword", change, change, keyword.mention, name=name, rests_on=tuple(edges))


def _edge(graph: KnowledgeGraph, keyword: Keyword, context_keyword: Keyword, hops: int, attention: float) -> Piece:
    """Return the piece of one edge, from the response's keyword to the context's, with its strongest shortest path."""
    path = None
    if hops >= 0:
        paths = graph.paths(context_keyword.mention.concept, keyword.mention.concept, max_hops=max(hops, 1), limit=1)
        path = next(iter(paths), None)
    known = hops if hops >= 0 else None
    return Piece(
        "edge", attention, 0.0, keyword.mention, context_keyword.turn, context_keyword.mention, known, path, name="attention"
    )


def note_of(keywords: Keywords, hops: NDArray[np.int8]) -> str:
    """Return a note when the dialogue graph has no keywords or no edges."""
    if not keywords.context and not keywords.response:
        return "neither side has a keyword that is a concept of the graph; the score is based on the texts alone"
    if not keywords.response:
        return "the response has no keyword that is a concept of the graph"
    if not keywords.context:
        return "the context has no keyword that is a concept of the graph"
    return "" if (hops >= 0).any() else "no path of six hops or fewer joins the two sides"
