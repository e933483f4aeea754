"""What every implementation of the protocol shares: checks of arguments, name resolution, best paths, counts in bulk."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import Any, Literal, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, UnknownName
from .model import Path
from .names import check_relation, event_uri, forms, normalise_event, surface
from .protocol import MAX_HOPS, Count, CountsInBulk, KnowledgeGraph, Sets


def check_hops(hops: int, least: int = 1, most: int = MAX_HOPS) -> int:
    """Return ``hops`` when it is in ``least..most``, else raise :class:`InputError`."""
    if not least <= hops <= most:
        raise InputError(f"{hops} hops is out of range; give a number from {least} to {most}")
    return hops


def check_limit(limit: int | None) -> int | None:
    """Return ``limit`` when it is None or not negative, else raise :class:`InputError`."""
    if limit is not None and limit < 0:
        raise InputError(f"the limit must be >= 0, not {limit}")
    return limit


def check_relations(relations: Collection[str] | None) -> list[str] | None:
    """Return the well-formed relation names, distinct and sorted; None for all relations."""
    return None if relations is None else sorted({check_relation(name) for name in relations})


def resolve(texts: Sequence[str], language: str, known: Callable[[Collection[str]], Collection[str]]) -> list[str | None]:
    """Return the first known form of each text (:func:`tacit.graph.names.forms`).

    ``known`` is called with the texts as written, then with all other forms of those that are not known.
    """
    found: list[str | None] = [surface(text, language) for text in texts]
    vocabulary = set(known({uri for uri in found if uri is not None}))
    others = {
        place: forms(texts[place], language) for place, uri in enumerate(found) if uri is not None and uri not in vocabulary
    }
    if others:
        vocabulary = set(known(set(chain.from_iterable(others.values()))))
        for place, uris in others.items():
            found[place] = next((uri for uri in uris if uri in vocabulary), None)
    return found


def is_uri(text: str) -> bool:
    """Return whether ``text`` is a URI, such as ``/c/en/dog``, and not a word or phrase."""
    return text.startswith("/") or "://" in text


def linked_uris(texts: Sequence[str], language: str, known: Callable[[Collection[str]], Collection[str]], url: str) -> list[str]:
    """Return ``texts`` as URIs: URIs unchanged, texts as the concept that they resolve to, or else the event with these words.

    Args:
        texts: texts or URIs.
        language: of the texts.
        known: returns those of many URIs that are concepts or events.
        url: the graph's, for the error.

    Raises:
        UnknownName: a text is neither.
    """
    candidates = []
    for text in texts:
        event = normalise_event(text)
        candidates.append([text] if is_uri(text) else [*forms(text, language), *([event_uri(text)] if event else [])])
    vocabulary = set(known(set(chain.from_iterable(candidates))))
    found = [
        next((uri for uri in uris if uri in vocabulary or is_uri(text)), None)
        for text, uris in zip(texts, candidates, strict=True)
    ]
    for text, uri in zip(texts, found, strict=True):
        if uri is None:
            raise UnknownName(f"{text!r} is neither a concept nor an event of {url}; tacit heads finds events by their words")
    return [uri for uri in found if uri is not None]


def concept_uris(
    texts: Sequence[str],
    language: str,
    known: Callable[[Collection[str]], Collection[str]],
    refuse: Callable[[list[str]], NoReturn],
) -> list[str]:
    """Return ``texts`` as concept URIs: URIs unchanged, even unknown ones, and texts resolved to concepts.

    Args:
        texts: texts or URIs.
        language: of the texts.
        known: returns those of the given URIs that are concepts.
        refuse: called with the texts that are not concepts; raises :class:`UnknownName`.

    Raises:
        InputError: ``texts`` is a string instead of a list.
        UnknownName: a text is not a concept.
    """
    if isinstance(texts, str):
        raise InputError(f"give a list of texts or URIs, e.g. [{texts!r}], not one text")
    words = [text for text in dict.fromkeys(texts) if not is_uri(text)]
    if not words:
        return list(texts)
    found = dict(zip(words, resolve(words, language, known), strict=True))
    unknown = [word for word, uri in found.items() if uri is None]
    if unknown:
        refuse(unknown)
    return [found.get(text) or text for text in texts]


def refuse_unknown(texts: Sequence[str], url: str, near: Sequence[str] = (), other: str = "another language") -> NoReturn:
    """Raise :class:`UnknownName` for ``texts``, which are not concepts of the graph at ``url``.

    Args:
        texts: at least one text.
        url: the graph's URL.
        near: concepts with a similar spelling to the first text.
        other: how to give another language.
    """
    names = ", ".join(repr(text) for text in texts)
    advice = f"did you mean {' or '.join(near)}?" if near else f"try another word, {other}, or a concept URI such as /c/en/dog"
    verb = "is not a concept" if len(texts) == 1 else "are not concepts"
    raise UnknownName(f"{names} {verb} of {url}; {advice}")


# Best paths: the nodes of the strongest shortest paths, in order. A path is as strong as its weakest step. Two nodes six hops
# apart may have millions of shortest paths; a best-first search expands only beginnings of paths that end up among the best.


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


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
    """Return the first ``limit`` paths from ``source`` to ``target``, as :func:`best_chains`, from steps in memory.

    ``links[a][b]`` is the strength of the step from ``a`` to ``b``, for every step of every shortest path between the two; other
    steps are ignored.
    """
    reach: dict[tuple[Node, int], float] = {(target, 0): float("inf")}

    def reachable(node: Node, remaining: int) -> float:
        known = reach.get((node, remaining))
        if known is None:
            after = links.get(node, {}) if remaining else {}
            best = max((min(strength, reachable(other, remaining - 1)) for other, strength in after.items()), default=-1.0)
            known = reach[node, remaining] = best
        return known

    def successors(node: Node, remaining: int, bound: float) -> list[tuple[float, Node]]:
        steps = (
            (min(bound, strength, reachable(other, remaining - 1)), other) for other, strength in links.get(node, {}).items()
        )
        return heapq.nsmallest(limit, (step for step in steps if step[0] >= 0), key=lambda step: (-step[0], step[1]))

    return best_chains(source, hops, float("inf"), successors, limit) if reachable(source, hops) >= 0 else []


# Counts in bulk.


def count_triples_many(graph: KnowledgeGraph, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
    """Return ``(pairs, triples)`` for each ``(sources, targets)``, shape ``(len(sets), 2)``.

    Each row is the result of :meth:`tacit.graph.protocol.KnowledgeGraph.count_triples`.

    Raises:
        InputError: ``hops`` is neither 1 nor 2.
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
        graph: any graph.
        sources, targets: URIs of the concepts of the two sets.
        hops: 1 or 2.
        count: ``pairs``: the best path of each connected pair; ``triples``: the best of the paths that differ only in provenance
            or direction.
        limit: most paths; None for all.

    Returns:
        The paths in ``Path.order``.

    Raises:
        InputError: ``hops`` is neither 1 nor 2.
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
