"""The data model: assertions, and the results of queries.

Nodes are URIs (see :mod:`tacit.graph.names`); an :class:`Assertion` is one edge with its provenance. Rows are named tuples
because millions of them are streamed during a load.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .names import text_of
from .relations import AddedRelation
from .schema import Json, Nullable, shape

_CACHED_PROPERTIES = 100_000


_PROVENANCE = ("license", "contributors", "head_sense", "tail_sense", "rank", "score")  # left out of JSON where they are empty


@shape(
    "head", "relation", "tail", "head_text", "tail_text", "weight", "source", "dataset", *_PROVENANCE,
    optional=("source", "dataset", *_PROVENANCE),
)  # fmt: skip
class Assertion(NamedTuple):
    """One edge of the graph, ``head --relation--> tail``, with its provenance.

    Attributes:
        head, tail: node URIs, both concepts or both events.
        relation: the dataset's own relation name (``UsedFor``, ``xIntent`` …).
        weight: strength as given by the dataset, >= 0; 1.0 where it gives none.
        source: the loader or model that wrote it: ``conceptnet``, ``atomic2020``, ``rdf``, ``comet:<model>``.
        dataset: the dataset within the source, e.g. ``/d/conceptnet/4/en``, ``train.tsv``.
        license: the licence as the dataset names it, e.g. ``cc:by-sa/4.0``.
        contributors: the contributors as the source names them, joined by `` | ``; empty when unknown.
        head_sense, tail_sense: what ConceptNet writes after the term, e.g. ``n/wn/animal``; empty when there is none.
        rank, score: rank in the beam (from 0) and log-probability of a generated tail; None for human assertions.
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
    def head_text(self) -> str:
        """The text of the head."""
        return text_of(self.head)

    @property
    def tail_text(self) -> str:
        """The text of the tail."""
        return text_of(self.tail)

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key of the protocol's fixed order: weight descending, then names."""
        return (-self.weight, self.head, self.relation, self.tail, self.source, self.dataset, self.head_sense, self.tail_sense)

    def fingerprint(self) -> tuple[int, int]:
        """Return ``(identity, content)``: a signed 64-bit hash of the identifying fields, and a 128-bit hash of all fields.

        Two assertions are equal when head, relation, tail, source, dataset and senses are; of equal ones the first is kept. The
        sum of all contents modulo 2**128 is a graph's checksum, which does not depend on the order of loading.
        """
        key = (self.head, self.relation, self.tail, self.source, self.dataset, self.head_sense, self.tail_sense)
        hasher = hashlib.blake2b("\t".join(key).encode(), digest_size=16)
        identity = int.from_bytes(hasher.digest()[:8], "little", signed=True)
        hasher.update(repr((self.weight, self.license, self.contributors, self.rank, self.score)).encode())
        return identity, int.from_bytes(hasher.digest(), "little")


@shape("text", "uri", "hop", "weight")
class Neighbour(NamedTuple):
    """A node at a given distance.

    Attributes:
        uri: the node.
        hop: its distance, >= 1.
        weight: strength of the strongest shortest path to it; a path is as strong as its weakest assertion.
    """

    uri: str
    hop: int
    weight: float

    @property
    def text(self) -> str:
        """The node's text."""
        return text_of(self.uri)


@shape(optional=_PROVENANCE)
class Step(NamedTuple):
    """An assertion of a path in JSON; ``direction`` is forward if the path goes from its head to its tail."""

    head: str
    relation: str
    tail: str
    direction: Literal["forward", "backward"]
    weight: float = 1.0
    source: str = ""
    dataset: str = ""
    license: str = ""
    contributors: str = ""
    head_sense: str = ""
    tail_sense: str = ""
    rank: int | None = None
    score: float | None = None


@shape("nodes", "text", "steps")
@dataclass(frozen=True, slots=True)
class Path(Json):
    """A chain of assertions between two nodes, whatever their directions.

    Attributes:
        nodes: the URIs along it, source first; one more than assertions.
        assertions: ``assertions[i]`` joins ``nodes[i]`` and ``nodes[i + 1]``, in either direction.
    """

    nodes: tuple[str, ...]
    assertions: tuple[Assertion, ...]

    @classmethod
    def json_fields(cls, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a path in JSON."""
        return {"nodes": row["nodes"], "assertions": row["steps"]}

    @property
    def hops(self) -> int:
        """Number of assertions."""
        return len(self.assertions)

    @property
    def strength(self) -> Nullable:
        """Weight of the weakest assertion; infinity for a path of no hops."""
        return min((a.weight for a in self.assertions), default=float("inf"))

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key, best first: fewer hops, stronger, then nodes, then assertions."""
        return (self.hops, -self.strength, self.nodes, tuple(a.order for a in self.assertions))

    def text(self) -> str:
        """Return the path as one line, e.g. ``dog -Desires-> bone <-UsedFor- teeth``; arrows show the assertions' directions."""
        parts = [text_of(self.nodes[0])]
        for start, assertion, end in zip(self.nodes, self.assertions, self.nodes[1:], strict=False):
            arrow = f"-{assertion.relation}->" if assertion.head == start else f"<-{assertion.relation}-"
            parts += [arrow, text_of(end)]
        return " ".join(parts)

    def _repr_html_(self) -> str:
        """Return the path on one line, for notebooks."""
        from .display import path_html

        return path_html(self)

    def node_texts(self) -> tuple[str, ...]:
        """Return the texts of the nodes."""
        return tuple(map(text_of, self.nodes))

    def steps(self) -> tuple[Step, ...]:
        """Return the assertions with the direction in which the path uses each."""
        return tuple(
            Step._make((*assertion[:3], "forward" if assertion.head == start else "backward", *assertion[3:]))
            for start, assertion in zip(self.nodes, self.assertions, strict=False)
        )


@shape("hops", "strength", "node_texts", "nodes", "text", "steps")
class FoundPath(Path):
    """The JSON of a path in the answer to a query: with its length, strength and the texts of its nodes."""


class TripleCounts(NamedTuple):
    """Number of connections between two sets of concepts.

    Attributes:
        pairs: (source, target) pairs of different concepts with at least one connection.
        triples: distinct connections: (head, relation, tail) for one hop; pairs of them with a common middle concept for two.
    """

    pairs: int
    triples: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which assertions between concepts to select; None accepts everything.

    A URI matches itself and all URIs below it: ``/c/en/dog`` for the concept in all senses, ``/c/en/dog/n`` for it as a
    noun, ``/c/en`` for every English concept.

    Attributes:
        start, end: URI of the head; of the tail.
        node, other: URIs of the two ends, in either direction.
        relations: names of relations.
        dataset: URI of the dataset, e.g. ``/d/conceptnet/4`` (:func:`tacit.graph.names.dataset_uri`).
        contributor: one of the contributors, e.g. ``/s/contributor/omcs``.
    """

    start: str | None = None
    end: str | None = None
    node: str | None = None
    other: str | None = None
    relations: frozenset[str] | None = None
    dataset: str | None = None
    contributor: str | None = None

    def ends(self) -> dict[str, str]:
        """Return the URIs of concepts that are given, by attribute."""
        uris = {"start": self.start, "end": self.end, "node": self.node, "other": self.other}
        return {name: uri for name, uri in uris.items() if uri is not None}


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of a Cypher query.

    Attributes:
        columns: names in the order of the query's RETURN.
        rows: one tuple per row, with plain Python values (nodes and relationships as dictionaries of their properties).
        truncated: whether there were more rows than the limit.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def _repr_html_(self) -> str:
        """Return the first rows as a table, for notebooks."""
        from .display import result_html

        return result_html(self)


@dataclass(frozen=True, slots=True)
class LoadEntry:
    """One load in the manifest.

    Attributes:
        loader: ``conceptnet``, ``atomic2020``, ``rdf``, ``triples``.
        version: of the loader's rules.
        file: base name of the file.
        sha256: of the file's bytes on disk, hexadecimal.
        options: the load's filters.
        read, kept: number of rows in the file, and of rows passed to the graph.
        dropped: number of rows left out, by reason.
        relations: those that its mapping added to the table of relations.
    """

    loader: str
    version: int
    file: str
    sha256: str
    options: dict[str, Any] = field(default_factory=dict)
    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    relations: tuple[AddedRelation, ...] = ()

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> LoadEntry:
        """Return the entry with the fields in ``row``, as ``dataclasses.asdict`` gave them; later fields may be missing.

        Raises:
            TypeError: they are not those of an entry.
        """
        added = tuple(AddedRelation(**relation) for relation in row.get("relations", ()))
        return cls(**{**row, "relations": added})


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a graph contains and where it came from; kept in the graph itself as one node.

    Attributes:
        loads: one entry per file and set of options, in the order of loading; repeating a load replaces its entry.
        assertions: number of assertions in the graph.
        checksum: sum modulo 2**128 of the content fingerprints of all assertions.
    """

    loads: tuple[LoadEntry, ...] = ()
    assertions: int = 0
    checksum: int = 0

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that identify the content, the same in every store and for every order of loading."""
        return hashlib.sha256(f"tacit-graph:1:{self.assertions}:{self.checksum:032x}".encode()).hexdigest()[:16]

    @property
    def relations(self) -> dict[str, AddedRelation]:
        """The relations that mappings added, by name; of several definitions of one name, that of the last load."""
        return {relation.name: relation for load in self.loads for relation in load.relations}


class LoadCounts(NamedTuple):
    """Result of a load: the numbers of new assertions, and of duplicates of others in the graph or in the same load."""

    new: int
    duplicate: int


@shape()
class GraphCounts(NamedTuple):
    """Sizes of a graph; ``relations`` maps each relation name to its number of assertions, in descending order."""

    concepts: int
    events: int
    assertions: int
    relations: dict[str, int]


class Contents:
    """The checksum of a stream of assertions; faster than :meth:`Assertion.fingerprint` of each."""

    def __init__(self) -> None:
        self.checksum = 0
        self._encoded: dict[tuple[Any, ...], bytes] = {}

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add assertions, or tuples with the fields of one."""
        total, cache, hasher = self.checksum, self._encoded, hashlib.blake2b
        for head, relation, tail, weight, source, dataset, license_, contributors, head_sense, tail_sense, rank, score in rows:
            properties = weight, license_, contributors, rank, score
            cacheable = type(weight) is float and weight > 0 and score is None  # equal keys may differ in text: 0.0 and -0.0
            encoded = cache.get(properties) if cacheable else None
            if encoded is None:
                encoded = repr(properties).encode()
                if cacheable and len(cache) < _CACHED_PROPERTIES:
                    cache[properties] = encoded
            key = f"{head}\t{relation}\t{tail}\t{source}\t{dataset}\t{head_sense}\t{tail_sense}"
            total += int.from_bytes(hasher(key.encode() + encoded, digest_size=16).digest(), "little")
        self.checksum = total % 2**128


def checksum(assertions: Iterable[Assertion]) -> int:
    """Return the order-independent checksum of ``assertions``, as in :class:`Manifest`."""
    return sum(assertion.fingerprint()[1] for assertion in assertions) % 2**128
