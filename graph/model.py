"""The data model: assertions, and the answers that every backend gives.

Nodes are URIs (see :mod:`tacit.graph.names`); an :class:`Assertion` is one edge with its provenance. Rows are named tuples
because millions of them stream through a load.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .names import text_of


class Assertion(NamedTuple):
    """One statement of a knowledge source: ``head --relation--> tail``, with its provenance.

    Attributes:
        head, tail: node URIs, both concepts or both events.
        relation: the dataset's own relation name (``UsedFor``, ``xIntent`` …).
        weight: strength as the dataset gives it, >= 0; 1.0 where it gives none.
        source: which loader or model wrote it: ``conceptnet``, ``atomic2020``, ``rdf``, ``comet:<model>``.
        dataset: the dataset within the source, e.g. ``/d/conceptnet/4/en``, ``train.tsv``.
        license: licence as the dataset names it, e.g. ``cc:by-sa/4.0``.
        contributors: who said it, as the source names them, joined by `` | ``; empty when unknown.
        head_sense, tail_sense: what ConceptNet writes after the term, e.g. ``n/wn/animal``; empty when none.
        rank, score: place in the beam (from 0) and log-probability of a generated tail; None for people's assertions.
    """

    head: str
    relation: str
    tail: str
    weight: float = 1.0
    source: str = ""
    dataset: str = ""
    license: str = ""
    contributors: str = ""
    head_sense: str = ""
    tail_sense: str = ""
    rank: int | None = None
    score: float | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key of the protocol's fixed order: weight descending, then names."""
        return (-self.weight, self.head, self.relation, self.tail, self.source, self.dataset, self.head_sense, self.tail_sense)

    def fingerprint(self) -> tuple[int, int]:
        """Return ``(identity, content)``: a signed 64-bit hash of what makes it the same assertion, a 128-bit hash of all of it.

        Two assertions are the same when head, relation, tail, source, dataset and senses are; loading one twice keeps the first.
        The sum of all contents modulo 2**128 is a graph's checksum, whatever the order in which it was loaded.
        """
        key = (self.head, self.relation, self.tail, self.source, self.dataset, self.head_sense, self.tail_sense)
        hasher = hashlib.blake2b("\t".join(key).encode(), digest_size=16)
        identity = int.from_bytes(hasher.digest()[:8], "little", signed=True)
        hasher.update(repr((self.weight, self.license, self.contributors, self.rank, self.score)).encode())
        return identity, int.from_bytes(hasher.digest(), "little")


class Neighbour(NamedTuple):
    """A node at a given distance.

    Attributes:
        uri: the node.
        hop: its shortest distance, >= 1.
        weight: strength of the strongest shortest chain to it; a chain is as strong as its weakest assertion.
    """

    uri: str
    hop: int
    weight: float

    @property
    def text(self) -> str:
        """The node's text."""
        return text_of(self.uri)


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of assertions, walked in either direction.

    Attributes:
        nodes: the URIs along it, source first; one more than assertions.
        assertions: ``assertions[i]`` joins ``nodes[i]`` and ``nodes[i + 1]``, in one direction or the other.
    """

    nodes: tuple[str, ...]
    assertions: tuple[Assertion, ...]

    @property
    def hops(self) -> int:
        """Number of assertions."""
        return len(self.assertions)

    @property
    def strength(self) -> float:
        """Weight of the weakest assertion; infinity for a path of no hop."""
        return min((a.weight for a in self.assertions), default=float("inf"))

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key, best first: fewer hops, stronger, then nodes, then assertions."""
        return (self.hops, -self.strength, self.nodes, tuple(a.order for a in self.assertions))

    def text(self) -> str:
        """One line for people, e.g. ``dog -Desires-> bone <-UsedFor- teeth``; the arrow shows each assertion's direction."""
        parts = [text_of(self.nodes[0])]
        for start, assertion, end in zip(self.nodes, self.assertions, self.nodes[1:], strict=False):
            arrow = f"-{assertion.relation}->" if assertion.head == start else f"<-{assertion.relation}-"
            parts += [arrow, text_of(end)]
        return " ".join(parts)


class TripleCounts(NamedTuple):
    """How two sets of concepts are connected.

    Attributes:
        pairs: (source, target) pairs, source unlike target, with at least one connection.
        triples: distinct connections: (head, relation, tail) for one hop; pairs of them sharing a middle for two.
    """

    pairs: int
    triples: int


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of an exploratory query.

    Attributes:
        columns: names in the order of the query's RETURN.
        rows: one tuple a row, values as plain Python (nodes and relationships as dicts of their properties).
        truncated: more rows existed than the limit let through.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False

    def records(self) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class LoadEntry:
    """What one load read, as the manifest keeps it.

    Attributes:
        loader: ``conceptnet``, ``atomic2020``, ``rdf``; version: of the loader's rules.
        file: base name; sha256: of the file's bytes as they are on disk, hex.
        options: the filters it ran under.
        read, kept: rows in the file, rows handed to the graph; dropped: rows left out, by reason.
    """

    loader: str
    version: int
    file: str
    sha256: str
    options: dict[str, Any] = field(default_factory=dict)
    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a graph holds and where it came from; kept in the graph itself as one node.

    Attributes:
        loads: one entry a file and set of options, in the order of loading; the same load again replaces its entry.
        assertions: number of assertions in the graph.
        checksum: sum modulo 2**128 of the content fingerprints of all of them.
    """

    loads: tuple[LoadEntry, ...] = ()
    assertions: int = 0
    checksum: int = 0

    @property
    def digest(self) -> str:
        """16 hex digits that stand for the content, the same on every backend and for every order of loading."""
        return hashlib.sha256(f"tacit-graph:1:{self.assertions}:{self.checksum:032x}".encode()).hexdigest()[:16]


class LoadCounts(NamedTuple):
    """What a load changed: assertions that are new, and those that the graph (or the same load) had already."""

    new: int
    duplicate: int


class GraphCounts(NamedTuple):
    """Sizes of a graph; ``relations`` maps each relation name to its number of assertions, largest first."""

    concepts: int
    events: int
    assertions: int
    relations: dict[str, int]


class Contents:
    """The checksum of many assertions, added up as they stream by; faster than :meth:`Assertion.fingerprint` of each."""

    def __init__(self) -> None:
        self.checksum = 0
        self._rests: dict[tuple[Any, ...], bytes] = {}

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add assertions, or tuples with the fields of one."""
        total, rests, hasher = self.checksum, self._rests, hashlib.blake2b
        for head, relation, tail, weight, source, dataset, license_, contributors, head_sense, tail_sense, rank, score in rows:
            rest = weight, license_, contributors, rank, score
            plain = (
                type(weight) is float and weight > 0 and score is None
            )  # equal numbers may be written differently: 0.0 and -0.0
            written = rests.get(rest) if plain else None
            if written is None:
                written = repr(rest).encode()
                if plain and len(rests) < _KEPT_RESTS:
                    rests[rest] = written
            key = f"{head}\t{relation}\t{tail}\t{source}\t{dataset}\t{head_sense}\t{tail_sense}"
            total += int.from_bytes(hasher(key.encode() + written, digest_size=16).digest(), "little")
        self.checksum = total % 2**128


_KEPT_RESTS = 100_000


def checksum(assertions: Iterable[Assertion]) -> int:
    """Return the order-free checksum of ``assertions``, as :class:`Manifest` keeps it."""
    return sum(assertion.fingerprint()[1] for assertion in assertions) % 2**128
