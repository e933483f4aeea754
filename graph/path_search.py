"""The search for shortest paths in a store: breadth first from both ends, one query a level, whatever nodes the queries reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from .answers import chains_of_links
from .model import Assertion, Path

Steps = dict[str, dict[str, float]]

Expand = Callable[[list[str]], Iterable[Sequence[Any]]]
"""Returns ``(node, neighbour, largest weight)`` rows for the neighbours of nodes, in either direction."""

Between = Callable[[list[str], list[str]], Iterable[Assertion]]
"""Returns every assertion from one of the first nodes to one of the second."""


def best_paths(source: str, target: str, max_hops: int, limit: int, expand: Expand, between: Between) -> list[Path]:
    """Return the first ``limit`` shortest paths between two different nodes, as :meth:`.protocol.KnowledgeGraph.paths`."""
    steps, hops = _shortest(source, target, max_hops, expand)
    chains = chains_of_links(steps, source, target, hops, limit) if hops else []
    best = _strongest(sorted({(a, b) for chain in chains for a, b in pairwise(chain)}), between)
    return [Path(chain, tuple(best[a, b] for a, b in pairwise(chain))) for chain in chains]


def _shortest(source: str, target: str, max_hops: int, expand: Expand) -> tuple[Steps, int]:
    """Return the steps of all shortest paths (and of some other paths) and their number of hops, 0 when there is none."""
    steps: Steps = defaultdict(dict)
    near, far = {source}, {target}
    levels = ({source}, {target})
    for hops in range(1, max_hops + 1):
        forward = len(levels[0]) <= len(levels[1])
        seen, other, level = (near, far, levels[0]) if forward else (far, near, levels[1])
        reached: set[str] = set()
        for a, b, weight in expand(sorted(level)):
            if b not in seen:
                reached.add(b)
                start, end = (a, b) if forward else (b, a)
                steps[start][end] = weight
        if reached & other:
            return steps, hops
        if not reached:
            break
        seen |= reached
        levels = (reached, levels[1]) if forward else (levels[0], reached)
    return {}, 0


def _strongest(steps: list[tuple[str, str]], between: Between) -> dict[tuple[str, str], Assertion]:
    """Return the first assertion in ``Assertion.order`` between each two nodes, in either direction."""
    best: dict[tuple[str, str], Assertion] = {}
    ones, others = sorted({a for a, _ in steps}), sorted({b for _, b in steps})
    for heads, tails in ((ones, others), (others, ones)) if steps else ():
        for assertion in between(heads, tails):
            for pair in ((assertion.head, assertion.tail), (assertion.tail, assertion.head)):
                if pair not in best or assertion.order < best[pair].order:
                    best[pair] = assertion
    return best
