"""The best chains of a shortest-path graph, in order, at a cost bounded by how many are wanted.

A chain is as strong as its weakest step. Two nodes six hops apart may have millions of shortest chains; this module opens only
beginnings of chains that end up among the best. It knows nothing of stores: a store says which nodes come next, with the
strength of the strongest completion through each.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, Protocol, TypeVar


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


Node = TypeVar("Node", bound=_Ordered)

Successors = Callable[[Node, int, float], Iterable[tuple[float, Node]]]


def best_chains(source: Node, hops: int, strongest: float, successors: Successors[Node], limit: int) -> list[tuple[Node, ...]]:
    """Return the first ``limit`` chains of ``hops`` steps from ``source``: strongest first, then nodes in their own order.

    Args:
        hops: steps from source to target, >= 0.
        strongest: a strength that no chain passes.
        successors: ``successors(node, remaining, bound)`` gives ``(strength, next)`` for each node that comes after ``node``
            on a shortest path with ``remaining`` steps to go; ``strength`` is that of the strongest completion through ``next``,
            ``bound`` at most. It may keep to the best ``limit``, by strength and then ``next``.
        limit: how many chains, >= 0.
    """
    if limit < 1:
        return []
    found: list[tuple[Node, ...]] = []
    order = count()
    open_: list[tuple[float, tuple[Node, ...], int]] = [(-strongest, (source,), next(order))]
    while open_:
        strength, chain, _ = heapq.heappop(open_)
        remaining = hops + 1 - len(chain)
        if not remaining:
            found.append(chain)
            if len(found) == limit:
                break
            continue
        for reached, node in successors(chain[-1], remaining, -strength):
            heapq.heappush(open_, (-reached, (*chain, node), next(order)))
    return found


def chains_of_links(
    links: Mapping[Node, Mapping[Node, float]], source: Node, target: Node, hops: int, limit: int
) -> list[tuple[Node, ...]]:
    """Return the first ``limit`` chains from ``source`` to ``target``, as :func:`best_chains`, over links held in memory.

    ``links[a][b]`` is the strength of the step from ``a`` to ``b``, for every step of every shortest path between the two
    (steps that lead elsewhere do no harm).
    """
    reach: dict[tuple[Node, int], float] = {(target, 0): float("inf")}

    def settle(node: Node, remaining: int) -> float:
        known = reach.get((node, remaining))
        if known is None:
            after = links.get(node, {}) if remaining else {}
            best = max((min(strength, settle(other, remaining - 1)) for other, strength in after.items()), default=-1.0)
            known = reach[node, remaining] = best
        return known

    def successors(node: Node, remaining: int, bound: float) -> list[tuple[float, Node]]:
        steps = ((min(bound, strength, settle(other, remaining - 1)), other) for other, strength in links.get(node, {}).items())
        return heapq.nsmallest(limit, (step for step in steps if step[0] >= 0), key=lambda step: (-step[0], step[1]))

    return best_chains(source, hops, float("inf"), successors, limit) if settle(source, hops) >= 0 else []
