"""The bridge from py2neo: a ``py2neo.Graph`` that a program holds becomes a graph of tacit.

py2neo is no longer maintained, so nothing runs through it: its connection's address, credentials and database are taken over
by the official driver, with the retries and read-only transactions that the rest of tacit relies on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import InputError, MissingExtra

if TYPE_CHECKING:
    from .neo4j import Neo4jGraph


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
