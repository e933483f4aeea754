"""Distance labels: exact with any number of hubs and labels, against networkx."""

from __future__ import annotations

from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tacit.graph.index.distances import pair_distances
from tacit.graph.index.labels import Labels, _compact, build_labels, choose_hubs
from tacit.graph.index.primitives import new_scratch
from tacit.graph.protocol import MAX_HOPS

Ints = NDArray[np.int32]


def labelled(edges: list[tuple[int, int]], nodes: int, groups: int, budget: int) -> tuple[Labels, Ints, Ints, Ints]:
    """Return labels of a graph, its arcs by new number, and the new number of each node, as the builder numbers them."""
    head, tail = (np.array(column, dtype=np.int32) for column in zip(*edges, strict=True))
    degree = np.bincount(head, minlength=nodes) + np.bincount(tail, minlength=nodes)
    hubs = choose_hubs(head, tail, degree, groups)
    first = np.concatenate([np.zeros(0, np.int32), *hubs])
    others = np.setdiff1d(np.arange(nodes, dtype=np.int32), first)
    rank = np.concatenate([first, others[np.argsort(-degree[others], kind="stable")]])
    number = np.empty(nodes, dtype=np.int32)
    number[rank] = np.arange(nodes, dtype=np.int32)
    arcs = sorted(
        {
            pair
            for head_number, two in zip(number[head], number[tail], strict=True)
            for pair in ((head_number, two), (two, head_number))
        }
    )
    indptr = np.zeros(nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount([head_number for head_number, _ in arcs], minlength=nodes), out=indptr[1:])
    neighbour = np.array([two for _, two in arcs], dtype=np.int32)
    return build_labels(indptr, neighbour, [len(group) for group in hubs], budget), indptr, neighbour, number


def asserted_exact(edges: list[tuple[int, int]], nodes: int, groups: int, budget: int, max_hops: int = MAX_HOPS) -> Labels:
    """Assert that the distances of all pairs are those of networkx."""
    labels, indptr, neighbour, number = labelled(edges, nodes, groups, budget)
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(nodes))
    want = np.full((nodes, nodes), -1, dtype=np.int8)
    for source, reached in nx.all_pairs_shortest_path_length(graph, cutoff=max_hops):
        for two, hops in reached.items():
            want[source, two] = hops
    ones, twos = (number[part.reshape(-1)] for part in np.indices((nodes, nodes)))
    distances = np.empty(nodes * nodes, dtype=np.int8)
    pair_distances(indptr, neighbour, labels, ones, twos, max_hops, new_scratch(nodes), distances)
    np.testing.assert_array_equal(distances.reshape(nodes, nodes), want)
    return labels


@given(
    seed=st.integers(0, 10**6), nodes=st.integers(2, 40), density=st.floats(0.5, 3),
    groups=st.integers(0, 4), per_node=st.sampled_from([0, 1, 2, 64]), max_hops=st.integers(1, MAX_HOPS),
)  # fmt: skip
def test_distances_are_exact(seed: int, nodes: int, density: float, groups: int, per_node: int, max_hops: int) -> None:
    """Whatever the labels cover; the rest is searched."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes, (max(1, int(density * nodes)), 2))
    edges = [(int(source), int(two)) for source, two in ends if source != two] or [(0, 1)]
    asserted_exact(edges, nodes, groups, per_node * nodes, max_hops)


@pytest.mark.parametrize(("budget", "whole"), [(0, False), (300, False), (100 * 200, True)])
def test_labels_cover_a_graph_without_hubs_only_with_room(budget: int, whole: bool) -> None:
    """A ring has no hub through which paths run: a small budget leaves most of it to searches."""
    nodes = 200
    labels = asserted_exact([(node, (node + 1) % nodes) for node in range(nodes)], nodes, 2, budget)
    assert (labels.covered == nodes) is whole
    assert len(labels.pruned) <= budget + 2 * nodes


@given(st.lists(st.lists(st.integers(0, 7), max_size=12), max_size=20), st.randoms(use_true_random=False))
def test_labels_are_in_sequence_by_node_distance_and_hub(distances: list[list[int]], random: Random) -> None:
    """The same as sorting them all; the pool holds the nodes' labels in any order, with unused room between."""
    size = np.array([len(row) for row in distances], dtype=np.int32)
    begin = np.zeros(len(size), dtype=np.int64)
    pool: list[int] = []
    for node in random.sample(range(len(size)), len(size)):
        pool += [2**32 - 1] * random.randint(0, 3)
        begin[node] = len(pool)
        pool += [hub << 3 | distance for hub, distance in enumerate(distances[node])]
    start, labels = _compact(begin, size, np.array(pool, dtype=np.uint32))
    places = sorted(
        (3 * node + min(distance, 3) - 1, hub << 3 | distance)
        for node, row in enumerate(distances)
        for hub, distance in enumerate(row)
        if distance
    )
    assert labels.tolist() == [label for _, label in places]
    assert start.shape == (len(size) + 1, 3)
    assert start.ravel().tolist() == [
        sum(start_of_label < before for start_of_label, _ in places) for before in range(3 * len(size) + 3)
    ]
