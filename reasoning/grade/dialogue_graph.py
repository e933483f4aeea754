"""The dialogue graph: keywords of the context against keywords of the response, joined by how few hops lie between them.

Huang et al. (EMNLP 2020, section 3.2): every keyword is a node of its own, a concept that both sides mention is two; edges run
between the sides alone and weigh 1 / #hops. The released code writes 1 / (#hops + 1), and 1/20 where it finds no path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.protocol import MAX_HOPS, KnowledgeGraph

Floats = NDArray[np.float32]
Hops = NDArray[np.int8]

PROFILES = ("paper", "released")
UNREACHABLE = 1 / 20  # of the released code


def edge_weights(profile: str, max_hops: int = MAX_HOPS) -> Floats:
    """Return the weight of an edge by ``hops + 1``, shape ``(max_hops + 2,)``: the first is for pairs that no path joins.

    ``paper``: 1 / hops, and 0, that is no edge, without a path; a concept that both sides mention (0 hops) weighs 1.
    ``released``: 1 / (hops + 1), and 1/20 without a path.

    Raises:
        InputError: there is no such profile.
    """
    hops = np.arange(max_hops + 1)
    if profile == "paper":
        return np.concatenate([[0.0], 1 / np.maximum(hops, 1)]).astype(np.float32)
    if profile == "released":
        return np.concatenate([[UNREACHABLE], 1 / (hops + 1)]).astype(np.float32)
    raise InputError(f"GRADE has no profile {profile!r}; choose from {', '.join(PROFILES)}")


class DialogueGraph(NamedTuple):
    """One dialogue's keywords as concepts.

    Attributes:
        context, response: concept URIs, without repeats on one side.
        hops: int8, shape ``(len(context), len(response))``; -1 where no path is short enough.
    """

    context: tuple[str, ...]
    response: tuple[str, ...]
    hops: Hops

    @property
    def concepts(self) -> tuple[str, ...]:
        """The nodes, those of the context first."""
        return (*self.context, *self.response)


def build(graph: KnowledgeGraph, context: Sequence[str], response: Sequence[str]) -> DialogueGraph:
    """Return the dialogue graph of two sets of concepts, with distances up to 6."""
    hops = graph.hop_distances(context, response) if context and response else np.zeros((len(context), len(response)), np.int8)
    return DialogueGraph(tuple(context), tuple(response), hops)


class GraphBatch(NamedTuple):
    """Dialogue graphs of one batch, filled up to the largest, n nodes.

    Attributes:
        concepts: the distinct concepts in them, u of them.
        nodes: int64, shape (batch, n): the place in ``concepts`` of each node; 0 where there is none.
        mask: bool, shape (batch, n): where there is one.
        adjacency: float32, shape (batch, n, n): A, symmetric, zero on the diagonal and beyond the mask.
    """

    concepts: tuple[str, ...]
    nodes: NDArray[np.int64]
    mask: NDArray[np.bool_]
    adjacency: Floats


def batch(graphs: Sequence[DialogueGraph], weights: Floats) -> GraphBatch:
    """Put dialogue graphs side by side; ``weights`` as :func:`edge_weights` gives them."""
    sizes = [len(one.context) + len(one.response) for one in graphs]
    most = max(max(sizes, default=0), 1)
    places: dict[str, int] = {}
    nodes = np.zeros((len(graphs), most), np.int64)
    adjacency = np.zeros((len(graphs), most, most), np.float32)
    for row, one in enumerate(graphs):
        for column, concept in enumerate(one.concepts):
            nodes[row, column] = places.setdefault(concept, len(places))
        split, end = len(one.context), sizes[row]
        if one.hops.size:
            between = weights[one.hops.astype(np.int64) + 1]
            adjacency[row, :split, split:end] = between
            adjacency[row, split:end, :split] = between.T
    mask = np.arange(most) < np.array(sizes, np.int64).reshape(-1, 1)
    return GraphBatch(tuple(places), nodes, mask, adjacency)


def describe(profile: str) -> Mapping[str, float]:
    """Return a profile's weights by what they are for, e.g. ``{"no path": 0.0, "0 hops": 1.0, …}``, for documents."""
    values = edge_weights(profile)
    return {"no path": float(values[0])} | {f"{hops} hops": float(value) for hops, value in enumerate(values[1:])}
