"""What the service tells and the library has no type for: what it serves, a concept and its surroundings, completions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...graph.model import GraphCounts, Neighbour


class Completion(NamedTuple):
    """A concept whose text begins as asked: its URI and its text."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class ConceptDetails:
    """A concept and its surroundings: ``text`` and ``uri``, and its strongest ``neighbours`` at one hop, at most 10."""

    text: str
    uri: str
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricDetails:
    """A metric that is served: what it measures in a few words, and the signature that its scores bear."""

    summary: str
    signature: str


@dataclass(frozen=True, slots=True)
class GraphDetails:
    """The graph of a service.

    Attributes:
        url: where it is, without a password. digest: of its content. counts: its sizes.
        changed: a sentence where its folder was loaded again or deleted since the service opened it, else None.
    """

    url: str
    digest: str
    counts: GraphCounts
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceDetails:
    """What a service is made of.

    Attributes:
        version: of tacit. graph: what it asks, None where its metrics need none.
        metrics: what can be asked for, by name, in the order in which scores come.
        limits: what it takes at most, by name, as it says it.
    """

    version: str
    graph: GraphDetails | None
    metrics: dict[str, MetricDetails]
    limits: dict[str, Any] = field(default_factory=dict)
