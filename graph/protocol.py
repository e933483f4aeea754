"""What graphs answer, in one place: the :class:`KnowledgeGraph` protocol, and what some of them can do beyond it.

==========================  =====================================================  ===================================
protocol                    what                                                   who
==========================  =====================================================  ===================================
:class:`KnowledgeGraph`     every query                                            every graph
:class:`WritableGraph`      load assertions                                        the embedded engine, Neo4j, ``Graph``
:class:`LimitsQueries`      limit how many Cypher queries run at once              the embedded engine, Neo4j, ``Graph``
:class:`StreamsRecords`     stream all assertions as Arrow record batches          the embedded engine, Neo4j
:class:`CountsInBulk`       count triples between many pairs of sets in one call   the index, ``Graph``
:class:`ConceptIndex`       queries on the numbers of concepts, names spelt alike  the index
==========================  =====================================================  ===================================

``Graph``, which :func:`tacit.graph.open_graph` returns, has the embedded engine or Neo4j as its ``store`` and the index as its
``index``; :func:`tacit.graph.open.index_of` and :func:`~tacit.graph.open.store_of` give them for any graph. Code that works
better with one of these asks ``isinstance(graph, CountsInBulk)`` and the like, and never for an attribute by its name.

Concept queries (``resolve`` to ``paths``) see the concept graph, undirected, without self-loops; ``tails`` and ``heads`` see
events. Wherever a concept is asked for, a URI (``/c/en/dog``) or a text (``dog``, ``the dogs``) will do: a text stands for the
concept that ``resolve`` gives for it in ``language``. A URI that the graph does not know has an empty answer; a text that names
nothing there raises :class:`~tacit.graph.errors.UnknownName`. An event may be any phrase; unknown ones have no tails.

Answers come in a fixed order (weight descending, then URI), the same from every backend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .model import Assertion, GraphCounts, LoadCounts, LoadEntry, Manifest, Neighbour, Path, QueryResult, TripleCounts

if TYPE_CHECKING:
    import pyarrow as pa

MAX_HOPS = 6

Count = Literal["pairs", "triples"]
"""What is counted between two sets of concepts: the pairs that are connected, or the distinct triples that connect them."""

COUNTS: tuple[Count, ...] = get_args(Count)

Sets = tuple[Sequence[str], Sequence[str]]
"""Sources and targets."""

NodeIds = NDArray[np.int32]
"""An index's numbers of concepts, -1 for none."""


@runtime_checkable
class KnowledgeGraph(Protocol):
    """A graph of commonsense assertions that can be asked; a context manager that closes itself."""

    @property
    def url(self) -> str:
        """Where it is: a path, or a URL without its password."""

    def manifest(self) -> Manifest:
        """What was loaded; ``manifest().digest`` is the graph's digest in signatures."""

    def counts(self) -> GraphCounts:
        """Numbers of concepts, events, assertions, and assertions by relation."""

    def resolve(self, texts: Sequence[str], language: str = "en") -> list[str | None]:
        """Return, for each text, the URI of the first of its forms that is a concept here, or None.

        Forms, in order: as written (lower case), without a leading article, and those again lemmatised
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
        """Return concepts whose *shortest* distance from ``concept`` is exactly ``hop``, best ``limit`` first.

        Walks only ``relations`` when given, ignoring direction.

        Raises:
            UnknownName: the text names no concept.
            InputError: ``hop`` is not in 1..6, ``limit`` is negative, or a relation's name is malformed.
        """

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS, *, language: str = "en"
    ) -> NDArray[np.int8]:
        """Return shortest-path lengths, shape ``(len(sources), len(targets))``: 0 same concept, -1 none within ``max_hops``.

        A URI that the graph does not know is at -1 from everything, itself included.

        Raises:
            UnknownName: a text names no concept.
            InputError: ``max_hops`` is not in 0..6, or ``sources`` or ``targets`` is one text instead of a list.
        """

    def triples_between(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> list[Path]:
        """Return every chain of exactly ``hops`` assertions from a source to a target, in either direction, in ``Path.order``.

        Source, middle and target differ; parallel assertions give a chain each; a pair at distance 1 also has its two-hop chains.

        Raises:
            UnknownName: a text names no concept.
            InputError: ``hops`` is neither 1 nor 2.
        """

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        """Return the numbers of connected pairs and of distinct triples (``hops=2``: pairs of triples) between two sets.

        As :meth:`triples_between`, counted by (head, relation, tail) whatever the provenance, without building the chains.

        Raises:
            UnknownName: a text names no concept.
            InputError: ``hops`` is neither 1 nor 2.
        """

    def paths(self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return shortest paths, best first: strongest (weakest assertion's weight), then nodes in URI order.

        One path a sequence of nodes; between two nodes the strongest assertion stands for all. Same node: one path of no hop.

        Raises:
            UnknownName: a text names no concept.
            InputError: ``max_hops`` is not in 0..6, or ``limit`` is negative.
        """

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return assertions about the event ``head`` (text or URI, normalised), weight descending then tail URI then relation.

        Raises:
            InputError: nothing is left of the text after normalisation, ``relation`` is malformed, or ``limit`` is negative.
        """

    def heads(self, text: str, limit: int = 10) -> list[str]:
        """Return URIs of events that have tails and whose text holds the normalised ``text``: exact, shorter, then by URI.

        Raises:
            InputError: ``limit`` is negative.
        """

    def assertions(self) -> Iterator[Assertion]:
        """Stream every assertion, in no particular order."""

    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        """Run one read-only Cypher query within ``timeout`` seconds, keeping at most ``limit`` rows.

        Raises:
            QueryRefused: it would do more than read the graph.
            QueryInvalid: the engine cannot understand it.
            QueryTimeout: it passed its time limit.
        """

    def close(self) -> None:
        """Let go of files and connections; closing twice is harmless."""

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
        """Add ``rows``; what is there already stays as it is, so a load that died can be run again.

        ``entry`` is called after the last row and joins the manifest (an entry of the same loader, sha256 and options replaces
        its former self); an error that it raises ends the load. ``progress`` is called with the number of rows since its last
        call. ``name`` is what :meth:`unfinished` calls the load if it dies; without one a server keeps no trace of it.
        """

    def unfinished(self) -> list[str]:
        """Return the names of loads that were begun and not finished: on a server, those that run at the moment among them.

        A load that died left nothing in an embedded graph and may have left a part of its rows on a server. The name is ``a
        load`` where none was given.
        """


@runtime_checkable
class LimitsQueries(Protocol):
    """A graph that runs several queries of :meth:`KnowledgeGraph.run` at once, up to a limit."""

    def limit_queries(self, at_once: int) -> None:
        """Let at most ``at_once`` queries run at once from now on; further ones wait, within their time limits.

        On a server, a query counts until the server has ended it, however long after its time limit that is.

        Raises:
            InputError: ``at_once`` is less than 1.
        """


@runtime_checkable
class StreamsRecords(Protocol):
    """A graph that streams its assertions as Arrow record batches, which is faster than one object an assertion."""

    def scan(self, batch_size: int = ...) -> Iterator[pa.RecordBatch]:
        """Stream every assertion in batches whose columns are the fields of :class:`Assertion`, in no fixed order.

        Texts are never null; about ``batch_size`` rows a batch, constant memory.
        """


@runtime_checkable
class CountsInBulk(Protocol):
    """A graph that counts triples faster than one pair of sets after the other, and without building every chain."""

    def count_triples_many(self, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
        """Return :meth:`KnowledgeGraph.count_triples` of each ``(sources, targets)``, shape ``(len(sets), 2)``: pairs, triples.

        Raises:
            InputError: ``hops`` is neither 1 nor 2.
        """

    def counted_chains(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, count: Count = "pairs"
    ) -> Iterator[Path]:
        """Yield what is counted, one chain each, in ``Path.order``; see :func:`tacit.graph.answers.counted_chains`."""


@runtime_checkable
class ConceptIndex(KnowledgeGraph, CountsInBulk, Protocol):
    """A graph whose concepts have numbers, 0 and up, without gaps; arrays of vectors are aligned with them."""

    directory: FilePath
    """The folder that the index lies in."""

    def ids(self, concepts: Sequence[str], *, language: str = "en") -> NodeIds:
        """Return the number of each concept, shape ``(len(concepts),)``, -1 where a URI is unknown.

        Raises:
            UnknownName: a text names no concept.
            InputError: ``concepts`` is one text instead of a list.
        """

    def uri(self, node: int) -> str:
        """Return the URI of the concept with this number."""

    def uris(self) -> list[str]:
        """Return the URI of every concept, in the order of their numbers."""

    def complete(self, prefix: str, limit: int = 10, language: str = "en") -> list[str]:
        """Return the first ``limit`` concepts, in URI order, whose text (or URI, for a ``/c/…``) begins with ``prefix``."""

    def near(self, text: str, limit: int = 3, language: str = "en") -> list[str]:
        """Return at most ``limit`` texts of concepts that are spelt like ``text`` and begin with the same letters."""

    def hop_distances_of_ids(self, sources: NodeIds, targets: NodeIds, max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        """Return :meth:`KnowledgeGraph.hop_distances` of numbers."""

    def hop_pairs(self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        """Return the distance from each source to the target at the same place, shape ``(len(sources),)``.

        Raises:
            InputError: the two lengths differ, or ``max_hops`` is not in 0..6.
        """

    def hop_pairs_of_ids(self, sources: NodeIds, targets: NodeIds, max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        """Return :meth:`hop_pairs` of numbers."""

    def neighbours_of_ids(self, nodes: NodeIds, hop: int = 1, limit: int = 10) -> NodeIds:
        """Return the numbers of :meth:`KnowledgeGraph.neighbours` of each node, shape ``(len(nodes), limit)``, padded with -1.

        Raises:
            InputError: ``hop`` is not in 1..6, or ``limit`` is negative.
        """
