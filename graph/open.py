"""Opening a graph: a folder, a Neo4j server by its URL, or a py2neo ``Graph``.

:func:`open_graph` returns a :class:`Graph`, which sends concept queries to the index, built when it is missing or out of date,
and Cypher, events and loads to the store.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar, overload
from urllib.parse import unquote, urlsplit

from .arguments import check_hops, linked_uris
from .cypher_store import refuse_closed
from .errors import GraphError, InputError, MissingExtra
from .links import Link, LinkCounts, LinkEntry
from .model import Assertion, LoadCounts, LoadEntry, Path
from .protocol import MAX_HOPS, ConceptIndex, CountsInBulk, KnowledgeGraph, LimitsQueries, LinksEvents, WritableGraph

if TYPE_CHECKING:
    from .index import IndexGraph
    from .neo4j import Neo4jGraph

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
"""URL schemes of Neo4j servers."""

Engine = Literal["auto", "index", "store"]
Progress = Callable[[int], None]
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

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

    Concept queries are answered from the graph's index. The first such query builds it where it is missing or out of date, in the
    graph's folder, or in the user's cache folder when that is not possible.

    Args:
        url: a folder's path (the embedded engine); a server's URL with one of :data:`SCHEMES`, as
            ``scheme://user:password@host:port/database`` with optional parts; or a py2neo ``Graph``.
        engine: ``auto``: the index, or the store with a warning where no index can be written; ``index``: the index or an error;
            ``store``: the store only, which is much slower and builds nothing.
        user, password, database: for a server; by default from the URL, then from the environment's NEO4J_USERNAME (or
            NEO4J_USER), NEO4J_PASSWORD and NEO4J_DATABASE.
        create: create an empty embedded graph where there is none.
        progress: while the index is built: True shows a progress bar on stderr when that takes more than two seconds and stderr
            is a terminal; False shows nothing; a function is called with the number of assertions read since its last call.

    Raises:
        GraphNotFound: there is no graph at the path.
        GraphUnavailable: the server does not answer or refuses the credentials.
        GraphError: the graph cannot be opened.
        InputError: the scheme of ``url`` is not supported, or ``engine`` is unknown.
        MissingExtra: a package that is needed is not installed.
    """
    if engine not in ENGINES:
        raise InputError(f"unknown engine {engine!r}; choose from {', '.join(ENGINES)}")
    store = _open_store(url, user, password, database, create)
    return store if engine == "store" else Graph(store, engine=engine, progress=progress)


def index_of(graph: KnowledgeGraph | None) -> ConceptIndex | None:
    """Return the index that answers for ``graph``, opened or built when it is a :class:`Graph`; None when there is no index."""
    if isinstance(graph, Graph):
        return graph.index
    return graph if isinstance(graph, ConceptIndex) else None


def linked_index_of(graph: KnowledgeGraph) -> IndexGraph:
    """Return the index of the concepts, events and links of ``graph``, opened or built; a :class:`Graph` keeps and closes it.

    Raises:
        NoPlaceForIndex: it has to be built and no folder is writable.
        GraphError: ``graph`` has no links, or cannot hold any.
    """
    from .index.open import open_linked_index

    return graph.linked_index if isinstance(graph, Graph) else open_linked_index(graph)


def store_of(graph: KnowledgeGraph) -> KnowledgeGraph:
    """Return the store behind ``graph``, which loads, streams and runs Cypher; ``graph`` itself when it is a store.

    Raises:
        GraphError: ``graph`` is an index that was opened without its store.
    """
    from .index import IndexGraph

    return graph.store if isinstance(graph, (Graph, IndexGraph)) else graph


def linking_store(graph: KnowledgeGraph) -> LinksEvents:
    """Return ``graph`` if it can hold links, else the store behind it.

    Raises:
        GraphError: neither can, or ``graph`` is an index that was opened without its store.
    """
    store = graph if isinstance(graph, LinksEvents) else store_of(graph)
    if not isinstance(store, LinksEvents):
        raise GraphError(f"{store.url} cannot hold links; open a folder or a Neo4j server")
    return store


def _delegating(
    method: Callable[Concatenate[Any, Arguments], Answer], delegate: Callable[[Graph], KnowledgeGraph]
) -> Callable[Concatenate[Graph, Arguments], Answer]:
    """Return ``method`` of the protocol as a method of :class:`Graph` that calls it on the graph returned by ``delegate``."""

    @wraps(method)
    def call(self: Graph, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        answer: Answer = getattr(delegate(self), method.__name__)(*args, **kwargs)
        return answer

    return call


class Graph(WritableGraph, LimitsQueries, CountsInBulk, LinksEvents):
    """A graph opened by :func:`open_graph`; thread-safe, a context manager.

    Concept queries are answered from the index, everything else by the store. The index has the graph's content as of when it
    was opened, or of the last :meth:`load` on this object; loads of other processes are visible once the graph is opened again.

    Attributes:
        store: the embedded engine or the server.
    """

    def __init__(
        self, store: WritableGraph, *, engine: Literal["auto", "index"] = "auto", progress: Progress | bool = True
    ) -> None:
        """Use ``store``, which is closed with this object; the arguments are those of :func:`open_graph`."""
        self.store = store
        self._engine = engine
        self._progress = progress
        self._lock = threading.Lock()
        self._index: IndexGraph | None = None
        self._linked: IndexGraph | None = None
        self._concept_graph: KnowledgeGraph | None = None  # the index or the store; None before the first concept query
        self._closed = False

    @property
    def url(self) -> str:
        return self.store.url

    @property
    def index(self) -> IndexGraph | None:
        """The index, opened or built on first use; None when the store answers concept queries.

        Raises:
            GraphError: the store is damaged, or no index can be written and the engine is ``index``.
        """
        self._graph_of_concepts()
        return self._index

    def open_index(self, progress: Progress | bool | None = None) -> IndexGraph:
        """Open the index now, and build it first when it is missing or out of date.

        Args:
            progress: as for :func:`open_graph`; None for the value given there.

        Raises:
            NoPlaceForIndex: it has to be built and no folder is writable.
            GraphError: the store is damaged, or changed while it was read.
        """
        from .index import open_index

        refuse_closed(self._closed, self.url)
        with self._lock:
            if self._index is None:
                self._index = open_index(self.store, progress=self._progress if progress is None else progress)
                self._concept_graph = self._index
            return self._index

    def _graph_of_concepts(self) -> KnowledgeGraph:
        graph = self._concept_graph
        if graph is not None:
            return graph
        from .index import NoPlaceForIndex

        try:
            return self.open_index()
        except NoPlaceForIndex as error:
            self._warn(error, 4)
            self._concept_graph = self.store
            return self.store

    def _warn(self, error: GraphError, stacklevel: int) -> None:
        """Warn that the store answers in place of an index, or raise ``error`` when only the index may."""
        if self._engine == "index":
            raise error
        warnings.warn(f"{error}, so the store answers, which is much slower", RuntimeWarning, stacklevel=stacklevel)

    # answered from the index

    resolve = _delegating(KnowledgeGraph.resolve, _graph_of_concepts)
    neighbours = _delegating(KnowledgeGraph.neighbours, _graph_of_concepts)
    hop_distances = _delegating(KnowledgeGraph.hop_distances, _graph_of_concepts)
    triples_between = _delegating(KnowledgeGraph.triples_between, _graph_of_concepts)
    count_triples = _delegating(KnowledgeGraph.count_triples, _graph_of_concepts)
    paths = _delegating(KnowledgeGraph.paths, _graph_of_concepts)
    count_triples_many = _delegating(CountsInBulk.count_triples_many, _graph_of_concepts)
    counted_chains = _delegating(CountsInBulk.counted_chains, _graph_of_concepts)

    # methods answered by the index when it is open, otherwise by the store

    manifest = _delegating(KnowledgeGraph.manifest, lambda self: self._index or self.store)
    counts = _delegating(KnowledgeGraph.counts, lambda self: self._index or self.store)

    # answered by the store

    tails = _delegating(KnowledgeGraph.tails, lambda self: self.store)
    heads = _delegating(KnowledgeGraph.heads, lambda self: self.store)
    assertions = _delegating(KnowledgeGraph.assertions, lambda self: self.store)
    run = _delegating(KnowledgeGraph.run, lambda self: self.store)
    unfinished = _delegating(WritableGraph.unfinished, lambda self: self.store)
    events = _delegating(LinksEvents.events, lambda self: self.store)
    links = _delegating(LinksEvents.links, lambda self: self.store)
    link_manifest = _delegating(LinksEvents.link_manifest, lambda self: self.store)
    concept_tails = _delegating(LinksEvents.concept_tails, lambda self: self.store)

    def replace_links(self, links: Iterable[Link], entry: Callable[[], LinkEntry] | None = None) -> LinkCounts:
        """Replace the links of the store, as :meth:`LinksEvents.replace_links`; later linked paths use a new index."""
        refuse_closed(self._closed, self.url)
        try:
            return linking_store(self.store).replace_links(links, entry)
        finally:
            self._drop_linked()

    # answered from the linked index

    def linked_paths(
        self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en"
    ) -> list[Path]:
        from .index import NoPlaceForIndex

        try:
            index = self.linked_index
        except NoPlaceForIndex as error:
            self._warn(error, 3)
            return linking_store(self.store).linked_paths(source, target, max_hops, limit, language=language)
        check_hops(max_hops, minimum=0)
        start, end = linked_uris([source, target], language, index.known, self.url)
        return index.paths(start, end, max_hops, limit)

    @property
    def linked_index(self) -> IndexGraph:
        """The index of the concepts, events and links, opened or built on first use; new links close it.

        Raises:
            NoPlaceForIndex: it has to be built and no folder is writable.
            GraphError: there are no links, or the store cannot hold any.
        """
        from .index.open import open_linked_index

        refuse_closed(self._closed, self.url)
        with self._lock:
            if self._linked is None:
                self._linked = open_linked_index(self.store, progress=self._progress)
            return self._linked

    def _drop_linked(self) -> None:
        with self._lock:
            linked, self._linked = self._linked, None
        if linked is not None:
            linked.close()

    def limit_queries(self, max_concurrent: int) -> None:
        if isinstance(self.store, LimitsQueries):
            self.store.limit_queries(max_concurrent)

    def load(
        self,
        rows: Iterable[Assertion],
        entry: Callable[[], LoadEntry] | None = None,
        progress: Progress | None = None,
        name: str = "",
    ) -> LoadCounts:
        """Add ``rows`` to the store, as :meth:`WritableGraph.load`; later concept queries use a new index."""
        refuse_closed(self._closed, self.url)
        try:
            return self.store.load(rows, entry, progress, name)
        finally:
            self._drop_index()

    def _drop_index(self) -> None:
        with self._lock:
            index, self._index, self._concept_graph = self._index, None, None
        if index is not None:
            index.close()
        self._drop_linked()

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

    def _repr_html_(self) -> str:
        """Return the graph's sizes, relations and sources as a table, for notebooks."""
        from .display import graph_html

        return graph_html(self)


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
            raise InputError("the path of the graph is empty; give a folder or a URL such as neo4j://localhost")
        return open_embedded(FilePath(text), create=create)
    if scheme.lower() not in SCHEMES:
        raise InputError(f"the scheme {scheme}:// is not supported; give a folder's path or one of {', '.join(SCHEMES)}")
    from .neo4j import Neo4jGraph

    address, url_user, url_password, url_database = _parts(text)
    return Neo4jGraph(
        address,
        url_user if user is None else user,
        url_password if password is None else password,
        url_database if database is None else database,
    )


def _parts(url: str) -> tuple[str, str | None, str | None, str | None]:
    """Return the address without credentials or database, and user, password, database from the URL or the environment."""
    try:
        split_url = urlsplit(url)
        port = split_url.port
    except ValueError:
        raise InputError("the server's URL is not valid; write it as neo4j://user:password@host:7687/database") from None
    if split_url.query or split_url.fragment:
        raise InputError("a server's URL cannot have a part after ? or #; in a password write them as %3F and %23")
    host = split_url.hostname or "localhost"
    address = f"{split_url.scheme}://{f'[{host}]' if ':' in host else host}:{port or 7687}"
    getenv = os.environ.get
    user = unquote(split_url.username) if split_url.username else getenv("NEO4J_USERNAME") or getenv("NEO4J_USER")
    password = unquote(split_url.password) if split_url.password else getenv("NEO4J_PASSWORD")
    database = unquote(split_url.path.strip("/")) or getenv("NEO4J_DATABASE")
    return address, user or None, password or None, database or None


def open_py2neo(graph: Any) -> Neo4jGraph:
    """Open the database that ``graph``, a py2neo ``Graph``, is connected to.

    py2neo is no longer maintained, so it runs no queries: its connection's address, credentials and database are passed to the
    official driver, with the same retries and read-only transactions as for any server.

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
        raise InputError(f"a {type(graph).__name__} is not a graph; give a folder's path, a server's URL or a py2neo Graph")
    profile = graph.service.profile
    if profile.protocol != "bolt":
        raise InputError("this py2neo Graph is connected by HTTP; connect it with a bolt:// or neo4j:// URL")
    from .neo4j import Neo4jGraph

    host = f"[{profile.host}]" if ":" in profile.host else profile.host
    return Neo4jGraph(f"{_scheme(profile)}://{host}:{profile.port_number}", profile.user, profile.password, graph.name or None)


def _scheme(profile: Any) -> str:
    """Return the URL scheme of the connection: with or without routing, encryption and verification of certificates."""
    scheme = "neo4j" if profile.routing else "bolt"
    return scheme + ("" if not profile.secure else "+s" if profile.verify else "+ssc")
