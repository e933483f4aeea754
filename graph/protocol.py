"""What every backend answers, in one place: the :class:`KnowledgeGraph` protocol.

Concept queries (``resolve`` to ``paths``) see the concept graph, undirected, without self-loops; ``tails`` and ``heads`` see
events. Wherever a concept is asked for, a URI (``/c/en/dog``) or a text (``dog``, ``the dogs``) will do: a text stands for the
concept that ``resolve`` gives for it in ``language``. A URI that the graph does not know has an empty answer; a text that names
nothing there raises :class:`~tacit.graph.errors.UnknownName`. An event may be any phrase; unknown ones have no tails.

Answers come in a fixed order (weight descending, then URI), the same from every backend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .model import Assertion, GraphCounts, LoadCounts, LoadEntry, Manifest, Neighbour, Path, QueryResult, TripleCounts

MAX_HOPS = 6


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
        (:func:`tacit.graph.lemma.forms`). A concept URI resolves to itself.
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
        """

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        """Return the numbers of connected pairs and of distinct triples (``hops=2``: pairs of triples) between two sets.

        As :meth:`triples_between`, counted by (head, relation, tail) whatever the provenance, without building the chains.
        """

    def paths(self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return shortest paths, best first: strongest (weakest assertion's weight), then nodes in URI order.

        One path a sequence of nodes; between two nodes the strongest assertion stands for all. Same node: one path of no hop.
        """

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return assertions about the event ``head`` (text or URI, normalised), weight descending then tail URI then relation.

        Raises:
            InputError: nothing is left of the text after normalisation, ``relation`` is malformed, or ``limit`` is negative.
        """

    def heads(self, text: str, limit: int = 10) -> list[str]:
        """Return URIs of events that have tails and whose text holds the normalised ``text``: exact, shorter, then by URI."""

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
class LimitsQueries(Protocol):
    """An engine that runs several queries of :meth:`KnowledgeGraph.run` at once, up to a limit."""

    def limit_queries(self, at_once: int) -> None:
        """Let at most ``at_once`` queries run at once from now on, for this object's calls; others wait, within their time limit.

        On a server, a query counts until the server has ended it, however long after its time limit that is.

        Raises:
            InputError: ``at_once`` is less than 1.
        """


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
