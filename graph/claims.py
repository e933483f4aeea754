"""The query that shows whether a statement stands in a graph: one text, for the embedded engine and Neo4j alike."""

from __future__ import annotations

from ..cypher import Query, query


def claim_query() -> Query:
    """Return the query; its parameters are the URIs ``head`` and ``tail`` and the name ``relation``.

    Its rows, one a source that says so, hold ``head_text``, ``relation``, ``tail_text``, ``weight``, ``source``, ``dataset``.
    """
    return query("explore/claim")
