"""JSON of graph objects, the same in ``--json``, the HTTP service and the client.

``head``, ``tail`` and ``nodes`` are URIs, as in the library; ``head_text``, ``tail_text`` and ``node_texts`` are texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..graph.model import Assertion, GraphCounts, LoadEntry, Neighbour, Path
from ..graph.names import text_of
from ..reasoning.base import path_to_dict


def assertion_row(assertion: Assertion) -> dict[str, Any]:
    """Return an assertion as JSON: URIs and texts of its ends, relation, weight and provenance, without empty fields."""
    row: dict[str, Any] = {
        "head": assertion.head,
        "relation": assertion.relation,
        "tail": assertion.tail,
        "head_text": text_of(assertion.head),
        "tail_text": text_of(assertion.tail),
        "weight": assertion.weight,
    }
    for name in ("source", "dataset", "license", "contributors", "head_sense", "tail_sense", "rank", "score"):
        value = getattr(assertion, name)
        if value not in ("", None):
            row[name] = value
    return row


def read_assertion(row: Mapping[str, Any]) -> Assertion:
    """Return the assertion of a row of :func:`assertion_row`."""
    return Assertion(**{name: row[name] for name in Assertion._fields if name in row})


def neighbour_row(neighbour: Neighbour) -> dict[str, Any]:
    """Return a neighbour as JSON: ``{"text", "uri", "hop", "weight"}``."""
    return {"text": neighbour.text, "uri": neighbour.uri, "hop": neighbour.hop, "weight": neighbour.weight}


def read_neighbour(row: Mapping[str, Any]) -> Neighbour:
    """Return the neighbour of a row of :func:`neighbour_row`."""
    return Neighbour(row["uri"], row["hop"], row["weight"])


def path_row(path: Path) -> dict[str, Any]:
    """Return a path as in the evidence of a score, with its length, strength (None for 0 hops) and the texts of its nodes."""
    return {
        "hops": path.hops,
        "strength": path.strength if path.assertions else None,
        "node_texts": [text_of(uri) for uri in path.nodes],
        **path_to_dict(path),
    }


def load_row(entry: LoadEntry) -> dict[str, Any]:
    """Return one entry of a manifest as JSON."""
    return {
        "loader": entry.loader,
        "version": entry.version,
        "file": entry.file,
        "sha256": entry.sha256,
        "options": entry.options,
        "read": entry.read,
        "kept": entry.kept,
        "dropped": entry.dropped,
    }


def counts_row(counts: GraphCounts) -> dict[str, Any]:
    """Return the sizes of a graph as JSON; ``relations`` maps names to numbers of assertions, largest first."""
    return {
        "concepts": counts.concepts,
        "events": counts.events,
        "assertions": counts.assertions,
        "relations": dict(counts.relations),
    }
