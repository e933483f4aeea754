"""Opening a graph, whatever holds it: a folder, a Neo4j server by its URL, or a py2neo ``Graph``.

:func:`open_graph` returns one object for everything: :class:`Graph` sends concept queries to the index, which it builds when it
is missing or out of date, and sends Cypher, events and loading to the store.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, Self, overload
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from .answers import count_triples_many, counted_chains
from .cypher_store import refuse_closed
from .errors import InputError, MissingExtra
from .model import Assertion, GraphCounts, LoadCounts, LoadEntry, Manifest, Neighbour, Path, QueryResult, TripleCounts
from .protocol import MAX_HOPS, ConceptIndex, Count, KnowledgeGraph, LimitsQueries, Sets, WritableGraph

if TYPE_CHECKING:
    from .index import IndexGraph
    from .neo4j import Neo4jGraph

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")

Engine = Literal["auto", "index", "store"]
Progress = Callable[[int], None]

ENGINES: tuple[Engine, ...] = ("auto", "index", "store")

GraphLike = KnowledgeGraph | str | os.PathLike[str]
"""An open graph, or the path or URL of one."""


@overload
def open_graph(
    url: str | os.PathLike[str] | Any,
    *,
    engine: Literal["store"],
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    create: bool = False,
    progress: Progress | bool = True,
) -> WritableGraph: ...


@overload
def open_graph(
    url: str | os.PathLike[str] | Any,
    *,
    engine: Literal["auto", "index"] = "auto",
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    create: bool = False,
    progress: Progress | bool = True,
) -> Graph: ...


def open_graph(
    url: str | os.PathLike[str] | Any,
    *,
    engine: Engine = "auto",
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    create: bool = False,
    progress: Progress | bool = True,
) -> WritableGraph:
    """Open the graph at ``url``.

    Concept queries are answered from the graph's index. It is built by the first such query where it is missing or out of date,
    and kept for next time: in the graph's folder, else in the user's cache folder.

    Args:
        url: a folder's path (the embedded engine); ``neo4j://…``, ``neo4j+s://…``, ``bolt://…`` and their kin, as
            ``scheme://user:password@host:port/database`` with as much of it as wanted; or a py2neo ``Graph``.
        engine: ``auto``: the index, or the store with a warning where no index can be kept; ``index``: the index or an error;
            ``store``: the store alone, which is much slower and builds nothing.
        user, password, database: for a server; the environment's NEO4J_USERNAME (or NEO4J_USER), NEO4J_PASSWORD and
            NEO4J_DATABASE where neither they nor the URL say.
        create: make an empty embedded graph where there is none.
        progress: while the index is built: True shows a bar on stderr when that takes more than two seconds and stderr is a
            terminal; False shows nothing; a function is called with the number of assertions read since its last call.

    Raises:
        GraphNotFound: there is no graph at the path.
        GraphUnavailable: the server does not answer or refuses the credentials.
        GraphError: what is there cannot be opened.
        InputError: ``url`` is of no known kind, or ``engine`` is none of the three.
        MissingExtra: it needs a package that is not installed.
    """
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; choose from {', '.join(ENGINES)}")
    store = _open_store(url, user, password, database, create)
    return store if engine == "store" else Graph(store, engine=engine, progress=progress)


def index_of(graph: KnowledgeGraph | None) -> ConceptIndex | None:
    """Return the index that answers for ``graph``, opened or built when it is a :class:`Graph`; None when a store answers."""
    if isinstance(graph, Graph):
        return graph.index
    return graph if isinstance(graph, ConceptIndex) else None


def store_of(graph: KnowledgeGraph) -> KnowledgeGraph:
    """Return the store behind ``graph``: what loads, streams and runs Cypher; ``graph`` itself when it is one.

    Raises:
        GraphError: ``graph`` is an index that was opened without its store.
    """
    from .index import IndexGraph

    return graph.store if isinstance(graph, (Graph, IndexGraph)) else graph


class Graph:
    """A graph opened by :func:`open_graph`; safe to share between threads, a context manager that closes itself.

    Answers as :class:`tacit.graph.KnowledgeGraph`: concept queries from the index, everything else from the store. The index
    shows the graph as it was when the index was opened, or when :meth:`load` was last called on this object; what other
    processes load is seen after the graph is opened again.

    Attributes:
        store: the embedded engine or the server.
    """

    def __init__(
        self, store: WritableGraph, *, engine: Literal["auto", "index"] = "auto", progress: Progress | bool = True
    ) -> None:
        """Answer for ``store``, which is closed with this object; the arguments are those of :func:`open_graph`."""
        self.store = store
        self._engine = engine
        self._progress = progress
        self._lock = threading.Lock()
        self._index: IndexGraph | None = None
        self._answering: KnowledgeGraph | None = None  # who answers concept queries; None until one is asked
        self._closed = False

    @property
    def url(self) -> str:
        """Where it is: a path, or a URL without its password."""
        return self.store.url

    @property
    def index(self) -> IndexGraph | None:
        """The index, opened or built when first asked for; None when the store answers in its place.

        Raises:
            GraphError: the store is damaged, or the index cannot be kept and the engine is ``index``.
        """
        self._concepts()
        return self._index

    def open_index(self, progress: Progress | bool | None = None) -> IndexGraph:
        """Open the index now, built first when it is missing or out of date; ``progress`` as :func:`open_graph` has it.

        Raises:
            NoPlaceForIndex: it can be kept nowhere.
            GraphError: the store is damaged, or changed while it was read.
        """
        from .index import open_index

        refuse_closed(self._closed, self.url)
        with self._lock:
            if self._index is None:
                self._index = open_index(self.store, progress=self._progress if progress is None else progress)
                self._answering = self._index
            return self._index

    def _concepts(self) -> KnowledgeGraph:
        answering = self._answering
        if answering is not None:
            return answering
        from .index import NoPlaceForIndex

        try:
            return self.open_index()
        except NoPlaceForIndex as error:
            if self._engine == "index":
                raise
            warnings.warn(f"{error}, so the store answers, which is much slower", RuntimeWarning, stacklevel=3)
            self._answering = self.store
            return self.store

    # concept queries

    def resolve(self, texts: Sequence[str], language: str = "en") -> list[str | None]:
        """See :meth:`tacit.graph.KnowledgeGraph.resolve`."""
        return self._concepts().resolve(texts, language)

    def neighbours(
        self,
        concept: str,
        hop: int = 1,
        limit: int | None = 10,
        relations: Collection[str] | None = None,
        *,
        language: str = "en",
    ) -> list[Neighbour]:
        """See :meth:`tacit.graph.KnowledgeGraph.neighbours`."""
        return self._concepts().neighbours(concept, hop, limit, relations, language=language)

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS, *, language: str = "en"
    ) -> NDArray[np.int8]:
        """See :meth:`tacit.graph.KnowledgeGraph.hop_distances`."""
        return self._concepts().hop_distances(sources, targets, max_hops, language=language)

    def triples_between(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> list[Path]:
        """See :meth:`tacit.graph.KnowledgeGraph.triples_between`."""
        return self._concepts().triples_between(sources, targets, hops, language=language)

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        """See :meth:`tacit.graph.KnowledgeGraph.count_triples`."""
        return self._concepts().count_triples(sources, targets, hops, language=language)

    def count_triples_many(self, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
        """See :meth:`tacit.graph.protocol.CountsInBulk.count_triples_many`."""
        return count_triples_many(self._concepts(), sets, hops)

    def counted_chains(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, count: Count = "pairs"
    ) -> Iterator[Path]:
        """See :meth:`tacit.graph.protocol.CountsInBulk.counted_chains`."""
        yield from counted_chains(self._concepts(), sources, targets, hops, count)

    def paths(self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en") -> list[Path]:
        """See :meth:`tacit.graph.KnowledgeGraph.paths`."""
        return self._concepts().paths(source, target, max_hops, limit, language=language)

    # what the store answers

    def manifest(self) -> Manifest:
        """See :meth:`tacit.graph.KnowledgeGraph.manifest`; of what the index holds, once it is open."""
        return self.store.manifest() if self._index is None else self._index.manifest()

    def counts(self) -> GraphCounts:
        """See :meth:`tacit.graph.KnowledgeGraph.counts`; of what the index holds, once it is open."""
        return self.store.counts() if self._index is None else self._index.counts()

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """See :meth:`tacit.graph.KnowledgeGraph.tails`."""
        return self.store.tails(head, relation, limit)

    def heads(self, text: str, limit: int = 10) -> list[str]:
        """See :meth:`tacit.graph.KnowledgeGraph.heads`."""
        return self.store.heads(text, limit)

    def assertions(self) -> Iterator[Assertion]:
        """See :meth:`tacit.graph.KnowledgeGraph.assertions`."""
        return self.store.assertions()

    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        """See :meth:`tacit.graph.KnowledgeGraph.run`."""
        return self.store.run(cypher, parameters, limit=limit, timeout=timeout)

    def limit_queries(self, at_once: int) -> None:
        """See :meth:`tacit.graph.protocol.LimitsQueries.limit_queries`."""
        if isinstance(self.store, LimitsQueries):
            self.store.limit_queries(at_once)

    def load(
        self,
        rows: Iterable[Assertion],
        entry: Callable[[], LoadEntry] | None = None,
        progress: Progress | None = None,
        name: str = "",
    ) -> LoadCounts:
        """Add ``rows`` to the store, as :meth:`tacit.graph.WritableGraph.load`; the next concept query sees them."""
        refuse_closed(self._closed, self.url)
        try:
            return self.store.load(rows, entry, progress, name)
        finally:
            self._drop_index()

    def unfinished(self) -> list[str]:
        """See :meth:`tacit.graph.WritableGraph.unfinished`."""
        return self.store.unfinished()

    def _drop_index(self) -> None:
        with self._lock:
            index, self._index, self._answering = self._index, None, None
        if index is not None:
            index.close()

    def close(self) -> None:
        """Close the index and the store; closing twice is harmless."""
        self.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed = True
        self._drop_index()
        self.store.__exit__(*exc)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


def _open_store(
    url: str | os.PathLike[str] | Any, user: str | None, password: str | None, database: str | None, create: bool
) -> WritableGraph:
    if not isinstance(url, (str, os.PathLike)):
        return open_py2neo(url)
    text = os.fspath(url)
    scheme, separator, _ = text.partition("://")
    if not separator:
        from .embedded import open_embedded

        if not text:
            raise InputError("an empty path names no graph; give a folder or a URL such as neo4j://localhost")
        return open_embedded(FilePath(text), create=create)
    if scheme.lower() not in SCHEMES:
        raise InputError(f"{scheme}:// is not how a graph is reached; give a folder's path or one of {', '.join(SCHEMES)}")
    from .neo4j import open_neo4j

    address, url_user, url_password, url_database = _parts(text)
    return open_neo4j(
        address,
        url_user if user is None else user,
        url_password if password is None else password,
        url_database if database is None else database,
    )


def _parts(url: str) -> tuple[str, str | None, str | None, str | None]:
    """Return the address without credentials or database, and user, password, database from the URL or the environment."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InputError("the server's URL cannot be read; write it as neo4j://user:password@host:7687/database") from None
    if parts.query or parts.fragment:
        raise InputError("a server's URL has no part after ? or #; in a password write them as %3F and %23")
    host = parts.hostname or "localhost"
    address = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port or 7687}"
    environment = os.environ.get
    user = unquote(parts.username) if parts.username else environment("NEO4J_USERNAME") or environment("NEO4J_USER")
    password = unquote(parts.password) if parts.password else environment("NEO4J_PASSWORD")
    database = unquote(parts.path.strip("/")) or environment("NEO4J_DATABASE")
    return address, user or None, password or None, database or None


# The bridge from py2neo: a ``py2neo.Graph`` that a program holds becomes a graph of tacit.
#
# py2neo is no longer maintained, so nothing runs through it: its connection's address, credentials and database are taken over
# by the official driver, with the retries and read-only transactions that the rest of tacit relies on.


def open_py2neo(graph: Any) -> Neo4jGraph:
    """Open what ``graph``, a py2neo ``Graph``, is connected to.

    Raises:
        MissingExtra: py2neo is not installed.
        InputError: ``graph`` is not a py2neo ``Graph``, or is connected by HTTP.
        GraphUnavailable: the server does not answer.
    """
    try:
        from py2neo import Graph
    except ImportError as error:
        raise MissingExtra("py2neo", "py2neo") from error
    if not isinstance(graph, Graph):
        raise InputError(f"a {type(graph).__name__} is no graph; give a folder's path, a server's URL or a py2neo Graph")
    profile = graph.service.profile
    if profile.protocol != "bolt":
        raise InputError("this py2neo Graph is connected by HTTP; connect it by a bolt:// or neo4j:// URL")
    from .neo4j import open_neo4j

    host = f"[{profile.host}]" if ":" in profile.host else profile.host
    return open_neo4j(f"{_scheme(profile)}://{host}:{profile.port_number}", profile.user, profile.password, graph.name or None)


def _scheme(profile: Any) -> str:
    """The URL scheme that reaches the same server the same way: routed or not, encrypted or not, verified or not."""
    scheme = "neo4j" if profile.routing else "bolt"
    return scheme + ("" if not profile.secure else "+s" if profile.verify else "+ssc")
