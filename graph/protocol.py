"""The :class:`KnowledgeGraph` protocol, which every graph implements, and the protocols of optional capabilities.

==========================  =====================================================  ===================================
protocol                    capability                                             implemented by
==========================  =====================================================  ===================================
:class:`KnowledgeGraph`     all queries                                            every graph
:class:`WritableGraph`      load assertions                                        the embedded engine, Neo4j, ``Graph``
:class:`LimitsQueries`      limit how many Cypher queries run at once              the embedded engine, Neo4j, ``Graph``
:class:`Pingable`           check that the server answers                          Neo4j
:class:`StreamsRecords`     stream all assertions as Arrow record batches          the embedded engine, Neo4j
:class:`CountsInBulk`       count triples between many pairs of sets in one call   every graph
:class:`TailsInBulk`        find the tails of many events in one query             the embedded engine, Neo4j
:class:`ConceptIndex`       queries by concept number, patterns, spellings         the index
:class:`LinksEvents`        links of events to concepts and to like events         the embedded engine, Neo4j, ``Graph``
==========================  =====================================================  ===================================

``Graph``, which :func:`tacit.graph.open_graph` returns, has the embedded engine or Neo4j as its ``store`` and the index as its
``index``; :func:`tacit.graph.open.index_of` and :func:`~tacit.graph.open.store_of` return them for any graph. Code that can use
one of these capabilities tests ``isinstance(graph, CountsInBulk)`` and the like, never whether an attribute exists.

Concept queries (``resolve`` to ``paths``) use the graph of concepts, undirected and without self-loops; ``tails`` and ``heads``
use events. A concept is given as a URI (``/c/en/dog``) or as a text (``dog``, ``the dogs``), which means the concept that
``resolve`` returns for it in ``language``. The result for an unknown URI is empty; a text that is not a concept raises
:class:`~tacit.graph.errors.UnknownName`. An event can be any phrase; unknown ones have no tails.

Results are in a fixed order (weight descending, then URI), the same for every implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .links import ConceptTail, Link, LinkCounts, LinkEntry, LinkManifest
from .model import Assertion, GraphCounts, LoadCounts, LoadEntry, Manifest, Neighbour, Path, Pattern, QueryResult, TripleCounts
from .names import Label

if TYPE_CHECKING:
    import pyarrow as pa

MAX_HOPS = 6
"""Largest distance that is computed."""

Count = Literal["pairs", "triples"]
"""What is counted between two sets of concepts: the pairs that are connected, or the distinct triples that connect them."""

COUNTS: tuple[Count, ...] = get_args(Count)

Sets = tuple[Sequence[str], Sequence[str]]
"""Sources and targets, as URIs."""

NodeIds = NDArray[np.int32]
"""Numbers of concepts in an index, -1 for unknown ones."""


@runtime_checkable
class KnowledgeGraph(Protocol):
    """A graph of commonsense assertions; a context manager."""

    @property
    def url(self) -> str:
        """The graph's path, or its URL without a password."""

    def manifest(self) -> Manifest:
        """Return what was loaded; ``manifest().digest`` is the graph's digest in signatures."""

    def counts(self) -> GraphCounts:
        """Return the numbers of concepts, events, assertions, and assertions by relation."""

    def resolve(self, texts: Sequence[str], language: str = "en") -> list[str | None]:
        """Return, for each text, the URI of the first of its forms that is a concept of the graph, or None.

        Forms, in order: as written (in lower case), without a leading article, and each of those lemmatised
        (:func:`tacit.graph.names.forms`). A concept URI resolves to itself.
        """

    def neighbours(
        self,
        concept: str,
        hop: int = 1,
        limit: int | None = 10,
        relations: Collection[str] | None = None,
        *,
        language: str = "en",
    ) -> list[Neighbour]:
        """Return the best ``limit`` concepts at a distance of exactly ``hop`` from ``concept``, best first.

        Only ``relations`` are followed when they are given, in either direction.

        Raises:
            UnknownName: the text is not a concept.
            InputError: ``hop`` is not in 1..6, ``limit`` is negative, or a relation's name is malformed.
        """

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS, *, language: str = "en"
    ) -> NDArray[np.int8]:
        """Return distances, shape ``(len(sources), len(targets))``: 0 for the same concept, -1 for more than ``max_hops``.

        Distances from and to an unknown URI are -1, even to itself.

        Raises:
            UnknownName: a text is not a concept.
            InputError: ``max_hops`` is not in 0..6, or ``sources`` or ``targets`` is a string instead of a list.
        """

    def triples_between(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> list[Path]:
        """Return every path of exactly ``hops`` assertions from a source to a target, in either direction, in ``Path.order``.

        Source, middle and target differ. Parallel assertions give a path each. Pairs at distance 1 have two-hop paths too.

        Raises:
            UnknownName: a text is not a concept.
            InputError: ``hops`` is neither 1 nor 2.
        """

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        """Return the numbers of connected pairs and of distinct triples (``hops=2``: pairs of triples) between two sets.

        Counts the paths of :meth:`triples_between` by (head, relation, tail), whatever their provenance, without building them.

        Raises:
            UnknownName: a text is not a concept.
            InputError: ``hops`` is neither 1 nor 2.
        """

    def paths(self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return shortest paths, best first: by strength (the weakest assertion's weight), then nodes in URI order.

        There is one path per sequence of nodes, with the strongest assertion between each two; one path of no hops when source
        and target are the same node.

        Raises:
            UnknownName: a text is not a concept.
            InputError: ``max_hops`` is not in 0..6, or ``limit`` is negative.
        """

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return assertions whose head is the event ``head`` (text or URI), by weight descending, tail URI and relation.

        Raises:
            InputError: the text is empty after normalisation, ``relation`` is malformed, or ``limit`` is negative.
        """

    def heads(self, text: str, limit: int = 10) -> list[str]:
        """Return URIs of events with tails whose text contains the normalised ``text``: equal, then shorter, then by URI.

        Raises:
            InputError: ``text`` is empty after normalisation, or ``limit`` is negative.
        """

    def assertions(self) -> Iterator[Assertion]:
        """Stream every assertion, in no particular order."""

    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        """Run one read-only Cypher query within ``timeout`` seconds; return at most ``limit`` rows.

        Raises:
            QueryRefused: it does something other than read the graph.
            QueryInvalid: the engine cannot parse or evaluate it.
            QueryTimeout: it exceeded its time limit.
        """

    def close(self) -> None:
        """Close files and connections; closing twice is harmless."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class WritableGraph(KnowledgeGraph, Protocol):
    """A store that assertions can be loaded into."""

    def load(
        self,
        rows: Iterable[Assertion],
        entry: Callable[[], LoadEntry] | None = None,
        progress: Callable[[int], None] | None = None,
        name: str = "",
    ) -> LoadCounts:
        """Add ``rows``; assertions that are in the graph already stay unchanged, so an interrupted load can be run again.

        Args:
            rows: the assertions.
            entry: called after the last row; the result is added to the manifest, in place of an entry with the same loader,
                sha256 and options. An exception ends the load.
            progress: called with the number of rows since its last call.
            name: name of the load in :meth:`unfinished`; a server keeps no record of an interrupted load without a name.
        """

    def unfinished(self) -> list[str]:
        """Return the names of loads that have begun and not finished; on a server these include loads that are running.

        An interrupted load leaves nothing in an embedded graph, and may leave a part of its rows on a server. The name is ``a
        load`` where none was given.
        """


@runtime_checkable
class LinksEvents(KnowledgeGraph, Protocol):
    """A graph whose events can be joined to the concepts that they mention; see :mod:`tacit.graph.links`."""

    def events(self) -> Iterator[str]:
        """Stream the URIs of all events, in no fixed order."""

    def links(self) -> Iterator[Link]:
        """Stream all links, in no fixed order."""

    def link_manifest(self) -> LinkManifest:
        """Return what the links were made from, their number and checksum; an empty manifest before the first ``tacit link``."""

    def replace_links(self, links: Iterable[Link], entry: Callable[[], LinkEntry] | None = None) -> LinkCounts:
        """Replace the links of the graph by ``links``; those that it has already stay.

        Args:
            links: all links, of nodes of the graph; equal ones count once.
            entry: called after the last link; the result replaces the entry of the manifest. An exception ends the run.

        Raises:
            InputError: a link is invalid.
        """

    def concept_tails(
        self, concept: str, relation: str | None = None, limit: int | None = None, *, language: str = "en"
    ) -> list[ConceptTail]:
        """Return the tails of the events that mention ``concept`` (text or URI), best first.

        A tail that more events have comes first, then one of an event that mentions fewer concepts, then by weight and names.

        Raises:
            UnknownName: the text is not a concept.
            GraphError: the graph has no links.
            InputError: ``relation`` is malformed, or ``limit`` is negative.
        """

    def linked_paths(
        self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en"
    ) -> list[Path]:
        """Return shortest paths between two concepts or events through both, by assertions and links, best first.

        The order is that of :meth:`KnowledgeGraph.paths`; a link has the weight 1. A text means the concept that it resolves to,
        or else the event with these words.

        Raises:
            UnknownName: a text is neither a concept nor an event.
            GraphError: the graph has no links.
            InputError: ``max_hops`` is not in 0..6, or ``limit`` is negative.
        """


@runtime_checkable
class LimitsQueries(Protocol):
    """A graph that runs several queries of :meth:`KnowledgeGraph.run` at once, up to a limit."""

    def limit_queries(self, max_concurrent: int) -> None:
        """Let at most ``max_concurrent`` queries run at once from now on; further queries wait, within their time limits.

        On a server, a query counts until the server has ended it, even after its time limit.

        Raises:
            InputError: ``max_concurrent`` is less than 1.
        """


@runtime_checkable
class Pingable(Protocol):
    """A graph on a server."""

    def ping(self, timeout: float) -> None:
        """Check that the server answers a trivial query within ``timeout`` seconds, however many other queries run.

        Raises:
            GraphError: it does not.
        """


@runtime_checkable
class StreamsRecords(Protocol):
    """A graph that streams its assertions as Arrow record batches, which is faster than one object per assertion."""

    def scan(self, batch_size: int = ...) -> Iterator[pa.RecordBatch]:
        """Stream every assertion in batches whose columns are the fields of :class:`Assertion`, in no fixed order.

        Texts are never null. Batches have about ``batch_size`` rows, so memory use is constant.
        """


@runtime_checkable
class StreamsNumbers(Protocol):
    """A store that streams itself with numbers in place of URIs, within a bounded memory whatever its size."""

    def numbered(self) -> Iterator[tuple[str, pa.Table]]:
        """Stream the graph as ``(name, rows)`` in parts of any size, a node's number being unique within its label.

        Rows named ``Concept`` and ``Event`` have the columns number, URI, text, language (of concepts) and label; those named
        ``Concept assertions``, ``Event assertions``, ``Mentions`` and ``SameEvent`` have the head's number, relation, the tail's
        number, relation, properties and identity.

        Raises:
            GraphError: the graph was changed meanwhile.
        """


@runtime_checkable
class CountsInBulk(Protocol):
    """A graph that counts triples of many pairs of sets in one call, without building the paths."""

    def count_triples_many(self, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
        """Return :meth:`KnowledgeGraph.count_triples` of each ``(sources, targets)``, shape ``(len(sets), 2)``: pairs, triples.

        Raises:
            InputError: ``hops`` is neither 1 nor 2.
        """

    def counted_chains(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, count: Count = "pairs"
    ) -> Iterator[Path]:
        """Yield one path for each counted connection, in ``Path.order``; see :func:`tacit.graph.path_search.counted_chains`."""


@runtime_checkable
class TailsInBulk(Protocol):
    """A store that returns the tails of many events and action concepts in one query."""

    def tails_many(self, heads: Sequence[str], relations: Collection[str]) -> list[Assertion]:
        """Return the assertions by any of ``relations`` about the nodes ``heads``, given as URIs, in ``Assertion.order``."""

    def heads_many(self, tails: Sequence[str], relations: Collection[str]) -> list[Assertion]:
        """Return the assertions by any of ``relations`` whose tail is one of the events ``tails``, in ``Assertion.order``."""

    def nodes_by(
        self, label: Label, relations: Collection[str] | None, end: Literal["head", "tail"] = "head"
    ) -> set[tuple[str, str, str]]:
        """Return ``(uri, relation, source)`` of the nodes of a label that are the ``end`` of assertions.

        Only ``relations`` count; None for all.
        """

    def tails_from(self, prefix: str) -> list[Assertion]:
        """Return the assertions about events whose source begins with ``prefix``, in ``Assertion.order``."""


@runtime_checkable
class ConceptIndex(KnowledgeGraph, CountsInBulk, Protocol):
    """A graph whose concepts are numbered from 0 without gaps; arrays of vectors are aligned with the numbers."""

    directory: FilePath
    """The folder of the index."""

    def ids(self, concepts: Sequence[str], *, language: str = "en") -> NodeIds:
        """Return the number of each concept, shape ``(len(concepts),)``, -1 for unknown URIs.

        Raises:
            UnknownName: a text is not a concept.
            InputError: ``concepts`` is a string instead of a list.
        """

    def uri(self, node: int) -> str:
        """Return the URI of the concept with this number."""

    def uris(self) -> list[str]:
        """Return the URI of every concept, by number."""

    def complete(self, prefix: str, limit: int = 10, language: str = "en") -> list[str]:
        """Return the first ``limit`` concepts, in URI order, whose text (or URI, for a ``/c/…``) begins with ``prefix``."""

    def ids_below(self, uri: str) -> NodeIds:
        """Return the numbers of the concept ``uri``, if there is one, and of those whose URIs continue it after a slash.

        ``/c/en`` stands for all English concepts. In URI order, shape ``(concepts,)``.
        """

    def select(self, pattern: Pattern, offset: int = 0, limit: int = 10) -> list[Assertion]:
        """Return the assertions number ``offset`` to ``offset + limit`` that match ``pattern``, in :attr:`Assertion.order`.

        Raises:
            InputError: ``offset`` or ``limit`` is negative.
        """

    def relations_in(self, pattern: Pattern) -> list[str]:
        """Return the relations of the assertions that match ``pattern``, sorted by name."""

    def near(self, text: str, limit: int = 3, language: str = "en") -> list[str]:
        """Return at most ``limit`` texts of concepts with a similar spelling to ``text`` and the same first letters."""

    def hop_distances_of_ids(self, sources: NodeIds, targets: NodeIds, max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        """Return :meth:`KnowledgeGraph.hop_distances` of concepts given by number."""

    def hop_pairs(self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        """Return the distance from ``sources[i]`` to ``targets[i]``, shape ``(len(sources),)``.

        Raises:
            InputError: the lengths differ, or ``max_hops`` is not in 0..6.
        """

    def hop_pairs_of_ids(self, sources: NodeIds, targets: NodeIds, max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        """Return :meth:`hop_pairs` of concepts given by number."""

    def neighbours_of_ids(self, nodes: NodeIds, hop: int = 1, limit: int = 10) -> NodeIds:
        """Return the numbers of :meth:`KnowledgeGraph.neighbours` of each node, shape ``(len(nodes), limit)``, padded with -1.

        Raises:
            InputError: ``hop`` is not in 1..6, or ``limit`` is negative.
        """
