"""The tables of an embedded graph: one a node label, one a relation, made before rows come so that every query finds them."""

from __future__ import annotations

from ...cypher import query
from ..names import check_relation
from ..relations import RELATIONS
from .engine import Engine

NODE_TABLES = ("Concept", "Event", "Manifest")


def create(engine: Engine) -> None:
    """Make the tables of an empty graph: nodes, the manifest, every relation of the official datasets.

    Tables of relations that a graph does not hold cost nothing, and let a query about them give no row instead of an error.
    """
    engine.command("BEGIN TRANSACTION")
    for name in ("create_concepts", "create_events", "create_manifest", "create_type"):
        engine.rows(query(name, "embedded"))
    for table in {key_of(name): table_of(name) for name in reversed(list(RELATIONS))}.values():
        engine.rows(query("create_relation", "embedded").naming(RELATION=table))
    engine.command("COMMIT")


def relation_tables(engine: Engine) -> dict[str, str]:
    """Return the names of the relation tables by their keys."""
    return {name.lower(): name for _, name, kind in engine.rows(query("tables", "embedded")) if kind == "REL"}


def node_table_numbers(engine: Engine) -> dict[str, int]:
    """Return the engine's number of each node table."""
    return {name: number for number, name, kind in engine.rows(query("tables", "embedded")) if kind == "NODE"}


def table_of(relation: str) -> str:
    """Return the name for a relation's table, unless there is one by the same :func:`key_of` already.

    A relation called like a node table gets a longer name; each row's ``relation`` property keeps the exact one.
    """
    return f"{check_relation(relation)}_relation" if relation.lower() in _RESERVED else relation


def key_of(relation: str) -> str:
    """Return what a relation shares with all that are in its table: the engine names tables without regard to case."""
    return table_of(relation).lower()


_RESERVED = {name.lower() for name in NODE_TABLES}
