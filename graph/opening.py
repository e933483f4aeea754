"""One way to open a graph, whatever holds it: a folder, a Neo4j server by its URL, or a py2neo ``Graph``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from .errors import InputError

if TYPE_CHECKING:
    from .protocol import WritableGraph

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")


def open_graph(
    url: str | os.PathLike[str] | Any,
    *,
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    create: bool = False,
) -> WritableGraph:
    """Open the graph at ``url``.

    Args:
        url: a folder's path (the embedded engine); ``neo4j://…``, ``neo4j+s://…``, ``bolt://…`` and their kin, as
            ``scheme://user:password@host:port/database`` with as much of it as wanted; or a py2neo ``Graph``.
        user, password, database: for a server; the environment's NEO4J_USERNAME (or NEO4J_USER), NEO4J_PASSWORD and
            NEO4J_DATABASE where neither they nor the URL say.
        create: make an empty embedded graph where there is none.

    Raises:
        GraphNotFound: there is no graph at the path.
        GraphUnavailable: the server does not answer or refuses the credentials.
        GraphError: what is there cannot be opened.
        InputError: ``url`` is of no known kind.
        MissingExtra: it needs a package that is not installed.
    """
    if not isinstance(url, (str, os.PathLike)):
        from .bridge import open_py2neo

        return open_py2neo(url)
    text = os.fspath(url)
    scheme, separator, _ = text.partition("://")
    if not separator:
        from .embedded import open_embedded

        if not text:
            raise InputError("an empty path names no graph; give a folder or a URL such as neo4j://localhost")
        return open_embedded(Path(text), create=create)
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
    host = parts.hostname or "localhost"
    address = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port or 7687}"
    environment = os.environ.get
    user = unquote(parts.username) if parts.username else environment("NEO4J_USERNAME") or environment("NEO4J_USER")
    password = unquote(parts.password) if parts.password else environment("NEO4J_PASSWORD")
    database = unquote(parts.path.strip("/")) or environment("NEO4J_DATABASE")
    return address, user or None, password or None, database or None
