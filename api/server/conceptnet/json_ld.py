"""The answers of the ConceptNet API as JSON-LD: nodes, edges, pages of edges, edges by feature, errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import orjson
from starlette.responses import Response

from ....graph.model import Assertion
from ....graph.names import dataset_uri, text_of
from ..problems import Problem
from .uris import assertion_uri, relation_uri, term_uri

CONTEXT = ("http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json",)
VERSION = "5.8.1"
"""Version of the public API whose answers these are."""

_KINDS = {"rule": "process", "process": "process", "activity": "activity", "site": "activity"}
_DISTINGUISHED = ("wn", "wp")  # senses of WordNet and Wikipedia have a name of their own

_ENCODED = {code: quote(chr(code)) for code in (*range(33), *map(ord, '"#%&+<>?'), 127)}

Object = dict[str, Any]


def respond(content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return ``content`` as a response, with the context and the version, keys sorted."""
    body = {"@context": CONTEXT, "version": VERSION, **content}
    return Response(orjson.dumps(body, option=orjson.OPT_SORT_KEYS), status, headers, "application/json")


def failed(status: int, details: str, content: Mapping[str, Any] | None = None) -> Object:
    """Return ``content`` with an error."""
    return {**(content or {}), "error": {"status": status, "details": details}}


def respond_problem(problem: Problem) -> Response:
    """Return an error of the service, such as a missing key or a full queue, as the API writes errors."""
    return respond(failed(problem.status, problem.detail), problem.status, problem.headers)


def node(uri: str, sense: str = "") -> Object:
    """Return the node of a concept, in a sense where one is given."""
    label = text_of(uri)
    if not uri.startswith("/c/"):
        return {"@id": uri, "@type": "Node", "label": label, "site": urlsplit(uri).netloc, "term": uri}
    result: Object = {
        "@id": term_uri(uri, sense), "@type": "Node", "label": label, "language": uri.split("/", 3)[2], "term": uri,
    }  # fmt: skip
    if sense:
        first, *rest = sense.split("/")
        result["sense_label"] = f"{first}, {rest[-1]}" if rest and rest[0] in _DISTINGUISHED else first
    return result


def edge(assertion: Assertion) -> Object:
    """Return an assertion as an edge; ``surfaceText`` is null because the graph does not keep it."""
    relation = relation_uri(assertion.relation)
    return {
        "@id": assertion_uri(assertion),
        "@type": "Edge",
        "dataset": dataset_uri(assertion.dataset, assertion.source),
        "end": node(assertion.tail, assertion.tail_sense),
        "license": assertion.license,
        "rel": {"@id": relation, "@type": "Relation", "label": relation.rpartition("/")[2]},
        "sources": [_source(name) for name in assertion.contributors.split(" | ") if name],
        "start": node(assertion.head, assertion.head_sense),
        "surfaceText": None,
        "weight": assertion.weight,
    }


def _source(uri: str) -> Object:
    """Return a source: a contributor, an activity or a process, as its URI says."""
    kind = uri.split("/", 3)[2] if uri.count("/") > 1 else ""
    return {"@id": uri, "@type": "Source", _KINDS.get(kind, "contributor"): uri}


# pages

Pairs = Sequence[tuple[str, Any]]


def address(path: str, parameters: Pairs) -> str:
    """Return a path with parameters; like the public API it encodes only characters that would end a path or a value."""
    pairs = "&".join(f"{name}={str(value).translate(_ENCODED)}" for name, value in parameters)
    return path.translate(_ENCODED) + (f"?{pairs}" if pairs else "")


def page(path: str, parameters: Pairs, assertions: Sequence[Assertion], offset: int, limit: int) -> Object:
    """Return at most ``limit`` of the edges that were found, and a view when there are other pages.

    ``assertions`` has the edges from ``offset`` on, one more than ``limit`` when there are more pages.
    """
    answer: Object = {"edges": [edge(assertion) for assertion in assertions[:limit]]}
    more = len(assertions) > limit > 0
    if more or offset:
        answer["view"] = view(path, parameters, offset, limit, more=more)
    return answer


def view(path: str, parameters: Pairs, offset: int, limit: int, *, more: bool) -> Object:
    """Return the links to this page, the first one, and those before and after it."""

    def at(start: int) -> str:
        return address(path, [*parameters, ("offset", start), ("limit", limit)])

    links: Object = {
        "@id": at(offset), "@type": "PartialCollectionView", "firstPage": at(0), "paginatedProperty": "edges",
    }  # fmt: skip
    if offset:
        links["previousPage"] = at(max(0, offset - limit))
    if more:
        links["nextPage"] = at(offset + limit)
        links["comment"] = "There are more results. Follow the 'nextPage' link for more."
    return links


# edges by feature

SYMMETRIC = frozenset(("RelatedTo", "SimilarTo", "EtymologicallyRelatedTo", "Synonym", "Antonym", "DistinctFrom"))
"""Relations without a direction."""


def features(term: str, groups: Iterable[tuple[str, str, Sequence[Assertion]]], limit: int) -> list[Object]:
    """Return the edges of a concept by relation and side, those with the heaviest edges first.

    A group is the concept's side (``start``, ``end``, or ``node`` for either), the relation, and at most ``limit + 1`` edges.
    """
    weighted_groups = []
    for side, relation, assertions in groups:
        parameters = [("rel", relation_uri(relation)), (side, term)]
        group: Object = {
            "@id": address("/query", parameters),
            "feature": dict(parameters),
            "edges": [_of(term, assertion) for assertion in assertions[:limit]],
            "symmetric": side == "node",
        }
        if len(assertions) > limit:
            group["view"] = view("/query", parameters, 0, limit, more=True)
        weighted_groups.append((-sum(assertion.weight for assertion in assertions), group["@id"], group))
    return [group for _, _, group in sorted(weighted_groups, key=lambda row: row[:2])]


def _of(term: str, assertion: Assertion) -> Object:
    """Return an edge with its other end than ``term``."""
    result = edge(assertion)
    result["other"] = result["end" if result["start"]["@id"].startswith(term) else "start"]
    return result
