"""The routes of the ConceptNet API: look-ups by URI, queries, related terms, and the URI of a text.

As in the public API, a number that cannot be read counts as the default, one that is too large as the largest, and unknown
parameters are ignored; and what is not in the graph is answered with status 200 and an ``error`` in the body. Other errors, such
as a missing key or a full queue, have their own status.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ....graph.errors import InputError
from ....graph.index.patterns import is_below
from ....graph.model import Assertion, Pattern
from ....graph.open import index_of
from ....graph.protocol import ConceptIndex
from ..problems import Problem
from ..service import Service
from .json_ld import SYMMETRIC, Object, address, edge, failed, features, node, page, respond, respond_problem
from .related import Relatedness, open_related
from .uris import assertion_uri, ends_of, relation_uri, text_uri

_MAX_EDGES_OF_FEATURE, _MAX_RELATED, _MAX_TERMS = 100, 100, 100
_MAX_PARALLEL = 1_000
_NO_VECTORS = (
    "this service has no word vectors; add those of Numberbatch with tacit index GRAPH --vectors FILE and start the service again"
)

_CRITERIA = {
    "start": "start", "end": "end", "node": "node", "other": "other", "dataset": "dataset", "source": "contributor",
    "sources": "contributor",
}  # fmt: skip
"""Parameters of queries, by the attribute of a pattern; ``rel`` is the other one."""

_LOOKUPS = {
    "c": ("concept", "node"), "r": ("relation", "rel"), "d": ("dataset", "dataset"), "s": ("source", "source"),
    "a": ("assertion", ""),
}  # fmt: skip
"""What the first part of a URI stands for, and the parameter of the query for its edges."""

SEGMENTS = (*_LOOKUPS, "query", "search", "related", "relatedness", "uri", "normalize", "standardize")
"""First segments of the paths of the API."""


def conceptnet_routes(service: Service) -> APIRouter:
    """Return the routes of the ConceptNet API, and let errors on their paths be written as the API writes them."""
    index = index_of(service.graph)
    if index is None:
        raise InputError("the ConceptNet API is answered from the graph's index; serve a graph with --engine auto or index")
    related = open_related(index)
    edges = Edges(index, service.settings.lookup_limit)
    router = APIRouter(include_in_schema=False)  # the wiki of ConceptNet 5 describes them
    service.error_forms.update(dict.fromkeys(SEGMENTS, respond_problem))

    async def run_lookup(answer: Callable[[], Response]) -> Response:
        with service.problems():
            return await service.lookups.run(answer)

    def lookup_of(kind: str) -> Callable[..., Any]:
        async def lookup(request: Request, uri: str) -> Response:
            path = f"/{kind}/{uri.strip('/')}"
            if path.endswith("/"):
                raise Problem(404, "not-found", f"{path!r} isn't a URL that we understand.")
            parameters = _parameters(request)
            return await run_lookup(lambda: edges.lookup(path, parameters))

        return lookup

    for kind, (what, _) in _LOOKUPS.items():
        router.get(f"/{kind}/{{uri:path}}", name=what)(lookup_of(kind))

    @router.get("/search")
    @router.get("/query")
    async def query(request: Request) -> Response:
        """Heaviest first. `node` and `other` are the two ends in either direction; a URI also matches those below it."""
        parameters = _parameters(request)
        return await run_lookup(lambda: edges.query(parameters))

    def require_related() -> Relatedness:
        if related is None:
            raise Problem(501, "no-vectors", _NO_VECTORS)
        return related

    @router.get("/related/{uri:path}")
    async def nearest(request: Request, uri: str) -> Response:
        """By the cosine of their Numberbatch vectors. `/related/list/en/cat,dog@0.5` has two terms with weights."""
        vectors = require_related()
        path, below = f"/{uri.strip('/ ')}", request.query_params.get("filter")
        limit = _number(request.query_params, "limit", 50, _MAX_RELATED)
        try:
            terms = _terms(path)
        except Problem as error:
            return respond(failed(error.status, error.detail, {"@id": path}))

        def answer() -> Response:
            similar = vectors.nearest(terms, limit, below.removesuffix("/.").rstrip("/") if below else None)
            return respond({"@id": path, "related": [{"@id": uri, "weight": round(weight, 3)} for uri, weight in similar]})

        return await run_lookup(answer)

    @router.get("/relatedness")
    async def relatedness(request: Request) -> Response:
        """The cosine of their Numberbatch vectors, -1 to 1."""
        vectors = require_related()
        first, second = request.query_params.get("node1"), request.query_params.get("node2")
        if first is None or second is None:
            return respond(failed(400, "Arguments should be called node1 and node2."))

        def answer() -> Response:
            identity = {"@id": address("/relatedness", [("node1", first), ("node2", second)])}
            value = vectors.similarity(first, second) if _is_term(first) and _is_term(second) else None
            if value is None:
                return respond(failed(400, f"Couldn't look up {first!r} or {second!r} (or both).", identity))
            return respond({**identity, "value": round(value, 3)})

        return await run_lookup(answer)

    @router.get("/normalize")
    @router.get("/standardize")
    @router.get("/uri")
    async def uri(request: Request) -> Response:
        """In normal form; the concept need not be in the graph."""
        parameters = request.query_params
        language, text = parameters.get("language"), parameters.get("text") or parameters.get("term")
        for name, value in (("language", language), ("text", text)):
            if not value:
                raise Problem(400, "missing-parameter", f"Please specify a '{name}' parameter.")
        try:
            return respond({"@id": text_uri(str(language), str(text))})
        except InputError as error:
            raise Problem(400, "invalid-parameter", str(error)) from None

    return router


class Edges:
    """Answers look-ups and queries from an index, with at most ``largest`` edges at once."""

    def __init__(self, index: ConceptIndex, largest: int) -> None:
        self._index = index
        self._largest = largest
        self._relations = {name: relation_uri(name) for name in index.counts().relations}

    def lookup(self, uri: str, parameters: Mapping[str, str]) -> Response:
        """Answer for a URI: its edges, its edges by feature, or the assertion with this URI."""
        kind, criterion = _LOOKUPS[uri[1]]
        if parameters.get("grouped", "").lower() == "true":
            return self._by_feature(uri, _number(parameters, "limit", 20, min(self._largest, _MAX_EDGES_OF_FEATURE)))
        if kind == "assertion":
            return self._assertion(uri)
        limit, offset = _number(parameters, "limit", 20, self._largest), _number(parameters, "offset", 0)
        edges = self._select({criterion: uri}, offset, limit)
        answer: Object = {"@id": uri, **page(uri, [], edges, offset, limit)}
        unknown = not edges and not (offset and self._select({criterion: uri}, 0, 0))
        return respond(failed(404, f"{uri!r} is not a node in ConceptNet.", answer) if unknown else answer)

    def query(self, parameters: Mapping[str, str]) -> Response:
        """Answer a query: the edges that match all criteria."""
        limit, offset = _number(parameters, "limit", 50, self._largest), _number(parameters, "offset", 0)
        criteria = {name: value for name, value in parameters.items() if name in _CRITERIA or name == "rel"}
        edges = self._select(criteria, offset, limit)
        query_path = address("/query", list(criteria.items()))
        return respond({"@id": query_path, **page("/query", sorted(criteria.items()), edges, offset, limit)})

    def _select(self, criteria: Mapping[str, str], offset: int, limit: int) -> list[Assertion]:
        """Return the edges of a page and the one after it."""
        pattern: dict[str, Any] = {}
        for name, value in criteria.items():
            uri = value.rstrip("/")
            if name == "rel":
                pattern["relations"] = frozenset(relation for relation, path in self._relations.items() if is_below(path, uri))
            else:
                pattern[_CRITERIA[name]] = uri
        return self._index.select(Pattern(**pattern), offset, limit + 1)

    def _assertion(self, uri: str) -> Response:
        ends = ends_of(uri)
        if ends is not None and all(map(_is_term, ends)):
            for assertion in self._index.select(Pattern(*ends), 0, _MAX_PARALLEL):
                if assertion_uri(assertion) == uri:
                    return respond(edge(assertion))
        return respond(failed(404, f"{uri!r} is not an assertion in ConceptNet.", {"@id": uri}))

    def _by_feature(self, uri: str, limit: int) -> Response:
        if not uri.startswith("/c/"):
            return respond(failed(400, "Only concept nodes (starting with /c/) can be grouped by feature."))
        if not _is_term(uri):
            return respond(failed(404, f"{uri!r} is not a node in ConceptNet.", {"@id": uri}))
        patterns = {"end": Pattern(end=uri), "start": Pattern(start=uri)}
        sides = {(side, name) for side, pattern in patterns.items() for name in self._index.relations_in(pattern)}
        sides = {("node" if relation in SYMMETRIC else side, relation) for side, relation in sides}
        groups = [
            (side, relation, self._select({"rel": self._relations[relation], side: uri}, 0, limit))
            for side, relation in sorted(sides)
        ]
        *concept, sense = (f"{uri}/").split("/", 4)
        concept_node = node("/".join(concept), sense.removesuffix("/"))
        if not groups:
            return respond(failed(404, f"{concept_node['label']!r} is not a node in ConceptNet.", concept_node))
        return respond({**concept_node, "features": features(uri, groups, limit)})


def _parameters(request: Request) -> dict[str, str]:
    """Return the query parameters; of one that is given several times, the first value."""
    parameters: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        parameters.setdefault(name, value)
    return parameters


def _is_term(uri: str) -> bool:
    """Return whether a URI is that of a concept, of ConceptNet or of another site, and not that of a language."""
    return (uri.startswith("/c/") and uri.count("/") > 2) or "://" in uri


def _number(parameters: Mapping[str, str], name: str, default: int, largest: int | None = None) -> int:
    """Return a parameter as a number from 0 to ``largest``, the default when it is not a number."""
    try:
        value = int(parameters.get(name, default))
    except ValueError:
        value = default
    return max(0, value if largest is None else min(value, largest))


def _terms(uri: str) -> list[tuple[str, float]]:
    """Return the terms of ``/c/en/cat`` or ``/list/en/cat,dog@0.5`` with their weights."""
    if uri.startswith("/c/"):
        return [(uri, 1.0)]
    if not uri.startswith("/list/") or uri.count("/") < 3:
        raise Problem(404, "not-a-term", f"{uri!r} is not something that I can find related terms to.")
    _, _, language, listed = uri.split("/", 3)
    terms = []
    for piece in listed.split(","):
        term, at, weight = piece.partition("@")
        try:
            terms.append((f"/c/{language}/{term}", float(weight) if at else 1.0))
        except ValueError:
            terms.append((term, math.nan))
    if len(terms) > _MAX_TERMS or not all(math.isfinite(weight) for _, weight in terms):
        raise Problem(400, "invalid-list", f"Couldn't parse this term list: {uri!r}")
    return terms
