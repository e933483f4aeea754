"""Paths, for every implementation of the protocol: the best shortest ones, and one for each counted connection.

A store finds shortest paths by a search from both ends, with one query a level.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count, islice, pairwise
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .model import Assertion, Path
from .protocol import Count, CountsInBulk, KnowledgeGraph, Sets

# The nodes of the strongest shortest paths, in order. A path is as strong as its weakest step. Two nodes six hops
# apart may have millions of shortest paths; a best-first search expands only beginnings of paths that end up among the best.


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...

    def __hash__(self) -> int: ...


Node = TypeVar("Node", bound=_Ordered)

Successors = Callable[[Node, int, float], Iterable[tuple[float, Node]]]


def best_chains(source: Node, hops: int, strongest: float, successors: Successors[Node], limit: int) -> list[tuple[Node, ...]]:
    """Return the first ``limit`` paths of ``hops`` steps from ``source``: strongest first, then by nodes.

    Args:
        source: the first node.
        hops: steps from source to target, >= 0.
        strongest: an upper bound of the strength of all paths.
        successors: ``successors(node, remaining, bound)`` gives ``(strength, next)`` for each node after ``node`` on a shortest
            path with ``remaining`` steps to go; ``strength`` is that of the strongest completion through ``next``, at most
            ``bound``. It may return only the best ``limit``, by strength and then ``next``.
        limit: number of paths, >= 0.
    """
    if limit < 1:
        return []
    chains: list[tuple[Node, ...]] = []
    order = count()
    heap: list[tuple[float, tuple[Node, ...], int]] = [(-strongest, (source,), next(order))]
    while heap:
        negative_strength, chain, _ = heapq.heappop(heap)
        remaining = hops + 1 - len(chain)
        if not remaining:
            chains.append(chain)
            if len(chains) == limit:
                break
            continue
        for strength, node in successors(chain[-1], remaining, -negative_strength):
            heapq.heappush(heap, (-strength, (*chain, node), next(order)))
    return chains


def chains_of_links(
    links: Mapping[Node, Mapping[Node, float]], source: Node, target: Node, hops: int, limit: int
) -> list[tuple[Node, ...]]:
    """Return the first ``limit`` paths from ``source`` to ``target``, as :func:`best_chains`, from steps in memory.

    ``links[a][b]`` is the strength of the step from ``a`` to ``b``, for every step of every shortest path between the two; other
    steps are ignored.
    """

    @cache
    def best_strength(node: Node, remaining: int) -> float:
        """Return the strength of the strongest path of ``remaining`` steps from ``node`` to the target, -1 if there is none."""
        if not remaining:
            return float("inf") if node == target else -1.0
        return max((strength for strength, _ in continued(node, remaining)), default=-1.0)

    def continued(node: Node, remaining: int) -> Iterator[tuple[float, Node]]:
        for following, strength in links.get(node, {}).items():
            yield min(strength, best_strength(following, remaining - 1)), following

    def successors(node: Node, remaining: int, bound: float) -> list[tuple[float, Node]]:
        steps = ((min(bound, strength), following) for strength, following in continued(node, remaining) if strength >= 0)
        return heapq.nsmallest(limit, steps, key=lambda step: (-step[0], step[1]))

    return best_chains(source, hops, float("inf"), successors, limit) if best_strength(source, hops) >= 0 else []


# the search in a store

Steps = dict[str, dict[str, float]]

Expand = Callable[[list[str]], Iterable[Sequence[Any]]]
"""Returns ``(node, neighbour, largest weight)`` rows for the neighbours of nodes, in either direction."""

Between = Callable[[list[str], list[str]], Iterable[Assertion]]
"""Returns every assertion from one of the first nodes to one of the second."""


def best_paths(source: str, target: str, max_hops: int, limit: int, expand: Expand, between: Between) -> list[Path]:
    """Return the first ``limit`` shortest paths between two nodes, as :meth:`.protocol.KnowledgeGraph.paths`."""
    if not limit:
        return []
    if source == target:
        return [Path((source,), ())]
    steps, hops = _shortest_steps(source, target, max_hops, expand)
    chains = chains_of_links(steps, source, target, hops, limit) if hops else []
    best = _strongest_assertions(sorted({(a, b) for chain in chains for a, b in pairwise(chain)}), between)
    return [Path(chain, tuple(best[a, b] for a, b in pairwise(chain))) for chain in chains]


def _shortest_steps(source: str, target: str, max_hops: int, expand: Expand) -> tuple[Steps, int]:
    """Return the steps of all shortest paths (and of some other paths) and their number of hops, 0 when there is none."""
    steps: Steps = defaultdict(dict)
    from_source, from_target = {source}, {target}
    levels = ({source}, {target})
    for hops in range(1, max_hops + 1):
        forward = len(levels[0]) <= len(levels[1])
        visited, opposite, level = (from_source, from_target, levels[0]) if forward else (from_target, from_source, levels[1])
        reached: set[str] = set()
        for a, b, weight in expand(sorted(level)):
            if b not in visited:
                reached.add(b)
                start, end = (a, b) if forward else (b, a)
                steps[start][end] = weight
        if reached & opposite:
            return steps, hops
        if not reached:
            break
        visited |= reached
        levels = (reached, levels[1]) if forward else (levels[0], reached)
    return {}, 0


def _strongest_assertions(steps: list[tuple[str, str]], between: Between) -> dict[tuple[str, str], Assertion]:
    """Return the first assertion in ``Assertion.order`` between each two nodes, in either direction."""
    best: dict[tuple[str, str], Assertion] = {}
    starts, ends = sorted({a for a, _ in steps}), sorted({b for _, b in steps})
    for heads, tails in ((starts, ends), (ends, starts)) if steps else ():
        for assertion in between(heads, tails):
            for pair in ((assertion.head, assertion.tail), (assertion.tail, assertion.head)):
                if pair not in best or assertion.order < best[pair].order:
                    best[pair] = assertion
    return best


# counts in bulk


def count_triples_many(graph: KnowledgeGraph, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
    """Return the pairs and triples of :meth:`~tacit.graph.protocol.KnowledgeGraph.count_triples` for each ``(sources, targets)``.

    Shape ``(len(sets), 2)``.
    """
    if isinstance(graph, CountsInBulk):
        return graph.count_triples_many(sets, hops)
    rows = [graph.count_triples(sources, targets, hops) for sources, targets in sets]
    return np.array(rows, dtype=np.int64).reshape(len(sets), 2)


def counted_chains(
    graph: KnowledgeGraph,
    sources: Sequence[str],
    targets: Sequence[str],
    hops: Literal[1, 2] = 1,
    count: Count = "pairs",
    limit: int | None = None,
) -> list[Path]:
    """Return the connections that :meth:`~tacit.graph.protocol.KnowledgeGraph.count_triples` counts, one path for each.

    Args:
        graph, sources, targets, hops: as for ``count_triples``, with URIs.
        count: ``pairs``: the best path of each connected pair; ``triples``: the best of the paths that differ only in provenance
            or direction.
        limit: most paths, in ``Path.order``; None for all.
    """
    if isinstance(graph, CountsInBulk):
        return list(islice(graph.counted_chains(sources, targets, hops, count), limit))
    return list(islice(distinct_chains(graph.triples_between(sources, targets, hops), count), limit))


def distinct_chains(chains: Sequence[Path], count: Count) -> Iterator[Path]:
    """Yield the first of the paths that connect the same pair, or that differ only in provenance or direction."""
    seen: set[object] = set()
    for path in chains:
        triples = frozenset(assertion[:3] for assertion in path.assertions)
        key = (path.nodes[0], path.nodes[-1]) if count == "pairs" else triples
        if key not in seen:
            seen.add(key)
            yield path
