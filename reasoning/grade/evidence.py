"""Why GRADE gave a score: its keywords with what each changes, and its edges with their paths and the attention on them.

The parts add up: what the texts say with no keyword at all, what the score loses when each keyword alone is left out, and the
rest, which is due to keywords acting together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...graph.protocol import KnowledgeGraph
from ..score import Piece
from .keywords import Keyword, Keywords
from .model import GradeModel, Graphs

Doubles = NDArray[np.float64]


class Findings(NamedTuple):
    """What the network says of one dialogue beyond its score.

    Attributes:
        without_any: the score without any keyword. without: the score without each node, the context's first.
        attention: shape (n, n), the mean over layers and heads.
    """

    without_any: float
    without: Doubles
    attention: Doubles


def examine(model: GradeModel, utterance: Tensor, graphs: Graphs, place: int) -> Findings:
    """Ask the network about the dialogue at ``place`` of a batch: without each keyword, and without all.

    Args:
        utterance: v_c of the whole batch.
    """
    n = int(graphs.mask[place].sum())
    nodes, adjacency = graphs.nodes[place, :n], graphs.adjacency[place, :n, :n]
    kept = torch.ones(n + 2, n, dtype=torch.bool)
    kept[torch.arange(n), torch.arange(n)] = False
    kept[n] = False  # none at all; the last row keeps every one
    variants = Graphs(graphs.concepts, nodes.expand(n + 2, n), kept, adjacency * (kept[:, :, None] & kept[:, None, :]))
    v_g, attention = model.reason(variants)
    scores = model.judge(utterance[place].expand(n + 2, -1), v_g).numpy().astype(np.float64)
    seen = torch.stack([layer[n + 1].mean(0) for layer in attention]).mean(0).numpy().astype(np.float64)
    return Findings(float(scores[n]), scores[:n], seen)


def pieces(
    graph: KnowledgeGraph, keywords: Keywords, hops: NDArray[np.int8], value: float, findings: Findings
) -> tuple[Piece, ...]:
    """Return the evidence for a score: its parts, and under each keyword of the response its edges, most attended first."""
    nodes = (*keywords.context, *keywords.response)
    changes = value - findings.without
    together = value - findings.without_any - float(changes.sum())
    found = [Piece("base", findings.without_any, findings.without_any, name="the texts without any keyword")]
    for place, (keyword, change) in enumerate(zip(nodes, changes.tolist(), strict=True)):
        found.append(_keyword(graph, keywords, hops, place, keyword, change, findings.attention))
    found.append(Piece("keyword", together, together, name="keywords together"))
    return tuple(found)


def _keyword(
    graph: KnowledgeGraph,
    keywords: Keywords,
    hops: NDArray[np.int8],
    place: int,
    keyword: Keyword,
    change: float,
    attention: Doubles,
) -> Piece:
    """The piece for one keyword; its edges stand with the response's, so that none stands twice."""
    split = len(keywords.context)
    if keyword.turn is not None:
        name = f'keyword "{keyword.mention.text}" (turn {keyword.turn + 1})'
        return Piece("keyword", change, change, turn=keyword.turn, history=keyword.mention, name=name)
    column = place - split
    edges = [
        _edge(graph, keyword, keywords.context[row], int(hops[row, column]), float(attention[place, row]))
        for row in range(split)
        if attention[place, row] > 0
    ]
    edges.sort(key=lambda piece: (-round(piece.value, 6), piece.turn or 0, piece.history.start if piece.history else 0))
    name = f'keyword "{keyword.mention.text}" (response)'
    return Piece("keyword", change, change, keyword.mention, name=name, rests_on=tuple(edges))


def _edge(graph: KnowledgeGraph, keyword: Keyword, other: Keyword, hops: int, attention: float) -> Piece:
    """One edge, from the response's keyword to the context's, with its strongest shortest path."""
    path = None
    if hops >= 0:
        found = graph.paths(other.mention.concept, keyword.mention.concept, max_hops=max(hops, 1), limit=1)
        path = next(iter(found), None)
    known = hops if hops >= 0 else None
    return Piece("edge", attention, 0.0, keyword.mention, other.turn, other.mention, known, path, name="attention")


def note_of(keywords: Keywords, hops: NDArray[np.int8]) -> str:
    """Say where the graph has nothing to say."""
    if not keywords.context and not keywords.response:
        return "neither side has a keyword that is a concept of the graph; the score rests on the texts alone"
    if not keywords.response:
        return "the response has no keyword that is a concept of the graph"
    if not keywords.context:
        return "the context has no keyword that is a concept of the graph"
    return "" if (hops >= 0).any() else "no path of six hops or fewer joins the two sides"
