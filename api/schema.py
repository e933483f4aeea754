"""Answers as rows: the keys that ``--json`` prints, one function a kind of answer, so that scripts can rely on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.names import text_of

if TYPE_CHECKING:
    from ..graph.model import Assertion, GraphCounts, LoadEntry, Neighbour, Path


def assertion_row(assertion: Assertion) -> dict[str, Any]:
    """One assertion: texts and URIs of its ends, the relation, weight and provenance; what is empty is left out."""
    row: dict[str, Any] = {
        "head": text_of(assertion.head),
        "relation": assertion.relation,
        "tail": text_of(assertion.tail),
        "weight": assertion.weight,
        "head_uri": assertion.head,
        "tail_uri": assertion.tail,
    }
    for name in ("source", "dataset", "license", "contributors", "head_sense", "tail_sense", "rank", "score"):
        value = getattr(assertion, name)
        if value not in ("", None):
            row[name] = value
    return row


def neighbour_row(neighbour: Neighbour) -> dict[str, Any]:
    """One neighbour: ``{"text", "uri", "hop", "weight"}``."""
    return {"text": neighbour.text, "uri": neighbour.uri, "hop": neighbour.hop, "weight": neighbour.weight}


def path_row(path: Path) -> dict[str, Any]:
    """One chain: its ends, length and strength (None for no hop), a line of text, nodes as texts and URIs, assertions."""
    return {
        "source": text_of(path.nodes[0]),
        "target": text_of(path.nodes[-1]),
        "hops": path.hops,
        "strength": path.strength if path.assertions else None,
        "text": path.text(),
        "nodes": [text_of(uri) for uri in path.nodes],
        "node_uris": list(path.nodes),
        "assertions": [assertion_row(assertion) for assertion in path.assertions],
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
