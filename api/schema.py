"""Answers about the graph as JSON, the same from ``--json``, the service and the evidence of scores; the client reads them back.

``head``, ``tail`` and ``nodes`` are URIs, as in the library; ``head_text``, ``tail_text`` and ``node_texts`` are texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..graph.model import Assertion, GraphCounts, LoadEntry, Neighbour, Path
from ..graph.names import text_of
from ..reasoning.base import path_to_dict


def assertion_row(assertion: Assertion) -> dict[str, Any]:
    """One assertion: URIs and texts of its ends, the relation, weight and provenance; what is empty is left out."""
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
    """Take back what :func:`assertion_row` gave."""
    return Assertion(**{name: row[name] for name in Assertion._fields if name in row})


def neighbour_row(neighbour: Neighbour) -> dict[str, Any]:
    """One neighbour: ``{"text", "uri", "hop", "weight"}``."""
    return {"text": neighbour.text, "uri": neighbour.uri, "hop": neighbour.hop, "weight": neighbour.weight}


def read_neighbour(row: Mapping[str, Any]) -> Neighbour:
    """Take back what :func:`neighbour_row` gave."""
    return Neighbour(row["uri"], row["hop"], row["weight"])


def path_row(path: Path) -> dict[str, Any]:
    """One path as the evidence of a score has it, with its length, its strength (None for no hop) and the texts of its nodes."""
    return {
        "hops": path.hops,
        "strength": path.strength if path.assertions else None,
        "node_texts": [text_of(uri) for uri in path.nodes],
        **path_to_dict(path),
    }


def load_row(entry: LoadEntry) -> dict[str, Any]:
    """One entry of a manifest."""
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
    """Sizes of a graph; ``relations`` maps names to numbers, largest first."""
    return {
        "concepts": counts.concepts,
        "events": counts.events,
        "assertions": counts.assertions,
        "relations": dict(counts.relations),
    }
