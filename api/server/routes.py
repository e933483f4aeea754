"""The HTTP routes: scores and explanations, graph lookups, Cypher and the cookbook, and the state of the service."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from inspect import Signature, signature
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Query, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from ...cypher import cookbook
from ...graph.arguments import is_uri, refuse_unknown
from ...graph.errors import GraphUnavailable, InputError
from ...graph.item import Item
from ...graph.model import FoundPath
from ...graph.names import text_of
from ...graph.open import index_of, linking_store
from ...graph.protocol import KnowledgeGraph, LinksEvents
from ...graph.relations import check_known, relations_of
from ...graph.schema import dump, json_or_text
from ...reasoning import Explanation, Score
from ...reasoning.registry import METRIC_REGISTRY
from ...reasoning.scorer import ItemScores
from ..details import Completion, ConceptDetails, Distance, GraphDetails, MetricDetails, ServiceDetails
from . import schemas
from .bodies import answer, check_size, post_route, read, size_of
from .problems import Problem, failures, problem_of, refuse_unknown_parameters
from .service import Service

_EXAMPLE_BODY = '{"items": [{"history": ["I am so hungry."], "response": "Let us cook a soup."}]}'


def scoring_routes(service: Service) -> APIRouter:
    """Return ``POST /v1/score``, for many responses, and ``POST /v1/explain``, for one."""
    router = APIRouter(tags=["scores"])
    max_items, max_characters = service.settings.items, service.settings.item_characters

    def check_items(body: Any) -> None:
        """Check for a bare item, for which the model's error would be unclear, and, before validation, for too many items."""
        if not isinstance(body, dict):
            return
        if "items" not in body and body.keys() & {"history", "response"}:
            raise Problem(
                422,
                "invalid-body",
                f"the body has no items; put each item into a list: {_EXAMPLE_BODY}",
                extra={"errors": [{"at": "items", "reason": "the body has no items"}]},
            )
        items = body.get("items")
        if isinstance(items, list):
            check_number(len(items))

    def check_number(items: int) -> None:
        if items > max_items:
            raise Problem(422, "too-many-items", f"there are {items:,} items; send at most {max_items:,} at once")

    async def score_rows(items: list[Item], names: tuple[str, ...], explain: bool, finish: Any) -> Any:
        await service.health.check()
        try:
            return await service.batcher.score(items, names, explain, finish)
        except GraphUnavailable as error:
            service.health.expire()
            raise problem_of(error) from error

    @post_route(router, "/v1/score", "Score responses with the metrics of the service", schemas.ScoreRequest, schemas.ScoreAnswer)
    async def score(request: Request) -> Response:
        """One row per item, in order. An item that cannot be scored gets a row with `error`; the others are scored."""
        refuse_unknown_parameters(request)
        body = await read(request, schemas.ScoreRequest, service.parsing, check_items)
        names = service.names(body.metrics)
        explain = body.explain
        request.scope["tacit.items"] = len(body.items)
        items: list[Item] = []
        refused: dict[int, bytes] = {}
        for index, item in enumerate(body.items):
            identity = index + 1 if item.id is None else item.id
            try:
                size = size_of((*item.history, item.response, *item.references))
                if size > max_characters:
                    raise InputError(f"its texts have {size:,} characters; send at most {max_characters:,} per item")
                items.append(Item(item.history, item.response, item.references, identity))
            except InputError as error:
                refused[index] = orjson.dumps(ItemScores(identity, error=str(error)).to_dict())

        def to_lines(rows: list[ItemScores]) -> list[bytes]:
            return [orjson.dumps(row.to_dict(explain)) for row in rows]

        rows: list[bytes] = await score_rows(items, names, explain, to_lines) if items else []
        for index, row in refused.items():
            rows.insert(index, row)
        return Response(b'{"items":[%b]}' % b",".join(rows), media_type="application/json")

    service.direct["POST", "/v1/score"] = score

    @post_route(
        router,
        "/v1/explain",
        "Explain the scores of one response: in words, as data and as a picture",
        schemas.ExplainRequest,
        schemas.ExplainAnswer,
    )
    async def explain(request: Request) -> Response:
        """For each metric: value, signature, pieces of evidence with their shares, the assertions behind them, text and SVG."""
        body = await read(request, schemas.ExplainRequest, service.parsing)
        names = service.names(body.metrics)
        responses = [body.response] if body.other is None else [body.response, body.other]
        check_number(len(responses))
        for response in responses:
            check_size((*body.history, response, *body.references), max_characters)
        request.scope["tacit.items"] = len(responses)
        try:
            items = [Item(body.history, response, body.references, number) for number, response in enumerate(responses, 1)]
        except InputError as error:
            raise Problem(422, "not-scored", str(error)) from error
        rows = await score_rows(items, names, True, lambda rows: rows)
        for row in rows:
            if row.error is not None:
                raise Problem(422, "not-scored", row.error)

        def explanation(item: Item, score: Score) -> dict[str, Any]:
            result = Explanation(item.history, item.response, score)
            return {**dump(result), "svg": result.svg(body.width)} if body.svg else dump(result)

        def respond() -> Response:
            explained = [
                {name: explanation(item, score) for name, score in row.scores.items()}
                for item, row in zip(items, rows, strict=True)
            ]
            return answer(dict(zip(("explanations", "other"), explained, strict=False)))

        with service.problems():
            return await service.drawings.run(respond)

    return router


# Graph lookups.


def exploring_routes(service: Service) -> APIRouter:
    """Return the routes of graph lookups: concepts, completion, neighbours, hops, paths, tails of events."""
    router = APIRouter(tags=["graph"])

    def lookup(path: str, summary: str, kind: Any, *statuses: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare a GET route that a function answers, given the graph and the parameters; it runs in a thread."""

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            async def route(**parameters: Any) -> Response:
                graph = service.require_graph()
                await service.health.check()
                with service.problems():
                    return await service.lookups.run(lambda: answer(function(graph, **parameters)))

            _, *route_parameters = signature(function, eval_str=True).parameters.values()
            route.__signature__ = Signature(route_parameters)  # type: ignore[attr-defined]
            route.__name__, route.__doc__ = function.__name__, function.__doc__
            return router.get(path, summary=summary, response_model=kind, responses=failures(*statuses))(route)

        return declare

    @lookup("/v1/concepts", "Complete a prefix to concepts", schemas.ConceptsAnswer)
    def concepts(graph: KnowledgeGraph, query: Annotated[schemas.CompletionQuery, Query()]) -> Any:
        """The first concepts, in the order of their texts, that begin with the prefix. Needs an index."""
        index = index_of(graph)
        if index is None:
            raise InputError("completion of prefixes needs an index; serve the graph with --engine index")
        uris = index.complete(query.prefix, query.limit, query.language)
        return {"concepts": [dump(Completion(uri, text_of(uri))) for uri in uris]}

    @lookup("/v1/concepts/{text:path}", "Look a concept up", ConceptDetails, 404)
    def concept(
        graph: KnowledgeGraph,
        text: Annotated[str, Path(max_length=1_000, description="A word or phrase, or a concept URI.", examples=["dog"])],
        query: Annotated[schemas.LanguageQuery, Query()],
    ) -> Any:
        """The concept that a text names, and its ten strongest neighbours."""
        [uri] = _concepts(graph, [text], query.language, known=True)
        return dump(ConceptDetails(text, uri, tuple(graph.neighbours(uri, 1, 10))))

    @lookup("/v1/neighbours", "Neighbours of a concept", schemas.NeighboursAnswer, 404)
    def neighbours(graph: KnowledgeGraph, query: Annotated[schemas.NeighboursQuery, Query()]) -> Any:
        """Concepts whose shortest distance is exactly `hop`, strongest first."""
        [uri] = _concepts(graph, [query.concept], query.language)
        relations = None if query.relation is None else [name for name in query.relation if name]
        check_known(relations or (), relations_of(graph))
        return {"concept": uri, "neighbours": [dump(row) for row in graph.neighbours(uri, query.hop, query.limit, relations)]}

    @lookup("/v1/hops", "Hops from a concept to others", schemas.HopsAnswer, 404)
    def hops(graph: KnowledgeGraph, query: Annotated[schemas.HopsQuery, Query()]) -> Any:
        """Length of a shortest path to each target, in order; -1 if there is none of at most `max_hops`."""
        if len(query.target) > schemas.TARGETS:
            raise Problem(
                422, "invalid-parameter", f"there are {len(query.target):,} targets; give at most {schemas.TARGETS} at once"
            )
        start, *ends = _concepts(graph, [query.source, *query.target], query.language)
        [distances] = graph.hop_distances([start], ends, query.max_hops).tolist()
        rows = zip(query.target, distances, strict=True)
        return {"hops": [dump(Distance(query.source, text, distance)) for text, distance in rows]}

    @lookup("/v1/paths", "Shortest paths between two concepts", schemas.PathsAnswer, 404)
    def paths(graph: KnowledgeGraph, query: Annotated[schemas.PathsQuery, Query()]) -> Any:
        """Shortest paths, strongest first, each with its assertions and their provenance."""
        limits = query.max_hops, query.limit
        if query.events:
            rows = _linked(graph).linked_paths(query.source, query.target, *limits, language=query.language)
        else:
            start, end = _concepts(graph, [query.source, query.target], query.language)
            rows = graph.paths(start, end, *limits)
        return {"paths": [dump(path, FoundPath) for path in rows]}

    @lookup("/v1/tails", "Assertions about an event", schemas.TailsAnswer)
    def tails(graph: KnowledgeGraph, query: Annotated[schemas.TailsQuery, Query()]) -> Any:
        """Assertions about the event, best first; an empty list for an event that is not in the graph."""
        check_known([query.relation] if query.relation else (), relations_of(graph))
        return {"tails": [dump(row) for row in graph.tails(query.head, query.relation, query.limit)]}

    @lookup("/v1/concept-tails", "Tails of the events that mention a concept", schemas.ConceptTailsAnswer, 404)
    def concept_tails(graph: KnowledgeGraph, query: Annotated[schemas.ConceptTailsQuery, Query()]) -> Any:
        """What follows from the events that mention the concept, best first. Needs a graph with links."""
        [uri] = _concepts(graph, [query.concept], query.language)
        check_known([query.relation] if query.relation else (), relations_of(graph))
        rows = _linked(graph).concept_tails(uri, query.relation, query.limit)
        return {"concept": uri, "tails": [dump(row) for row in rows]}

    return router


def _linked(graph: KnowledgeGraph) -> LinksEvents:
    """Return ``graph`` if its events are linked to its concepts."""
    linked = linking_store(graph)
    if linked.link_manifest().links:
        return linked
    raise Problem(422, "not-linked", "the events of this graph are not linked to its concepts; run tacit link on the graph")


def _concepts(graph: KnowledgeGraph, texts: Sequence[str], language: str, *, known: bool = False) -> list[str]:
    """Return the concept that each of ``texts`` names; a URI is returned as it is, with ``known`` only if it is in the graph."""
    uris = graph.resolve(texts, language)
    if not known:
        uris = [text if is_uri(text) else uri for text, uri in zip(texts, uris, strict=True)]
    unknown = list(dict.fromkeys(text for text, uri in zip(texts, uris, strict=True) if uri is None))
    if unknown:
        index = index_of(graph)
        refuse_unknown(unknown, "this graph", index.near(unknown[0], language=language) if index else ())
    return [uri for uri in uris if uri is not None]


# Cypher and the cookbook. The protection against harmful queries is in tacit.graph.query.


def querying_routes(service: Service) -> APIRouter:
    """Return ``POST /v1/cypher`` and ``GET /v1/cookbook``."""
    router = APIRouter(tags=["graph"])
    settings = service.settings

    @post_route(router, "/v1/cypher", "Run a read-only Cypher query", schemas.CypherRequest, schemas.CypherAnswer)
    async def cypher(request: Request) -> Response:
        """Read-only, with limits of rows and time. The query is Cypher text or the name of a query of the cookbook."""
        body = await read(request, schemas.CypherRequest, service.parsing)
        if body.limit > settings.cypher_rows:
            raise Problem(
                422, "too-many-rows", f"limit must be <= {settings.cypher_rows:,} rows on this service, not {body.limit:,}"
            )
        if body.timeout > settings.cypher_seconds:
            raise Problem(
                422, "too-long", f"timeout must be <= {settings.cypher_seconds:g} seconds on this service, not {body.timeout:g}"
            )
        graph = service.require_graph()
        text = _query_text(body)
        await service.health.check_current()

        def run() -> Response:
            result = graph.run(text, body.parameters, limit=body.limit, timeout=body.timeout)
            rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
            return answer({"columns": list(result.columns), "rows": rows, "truncated": result.truncated})

        with service.problems(cypher=True):
            return await service.queries.run(run)

    @router.get("/v1/cookbook", summary="The cookbook of queries", response_model=schemas.CookbookAnswer, responses=failures())
    async def queries() -> Response:
        """Queries that run on every graph: name, summary, text, parameters and example values."""
        return answer({"queries": entries()})

    return router


def _query_text(body: schemas.CypherRequest) -> str:
    """Return the Cypher text of a request, from the cookbook if the query is one of its names."""
    if not body.query.strip():
        raise Problem(422, "query-invalid", "the query is empty; give Cypher, or a name from /v1/cookbook")
    entry = cookbook().get(body.query.strip().removeprefix("explore/"))
    if entry is None:
        return body.query
    if set(entry.parameters) != set(body.parameters):
        names = ", ".join(entry.parameters) or "none"
        raise Problem(
            422, "query-invalid", f"the query {body.query.strip()} takes the parameters {names}; give each of them and no others"
        )
    return entry.text


_EXAMPLE = re.compile(r"^// \$(\w+):.*?, e\.g\. (.+)$", re.MULTILINE)


@cache
def entries() -> list[dict[str, Any]]:
    """Return the cookbook, sorted by name: ``{"name", "summary", "text", "parameters", "example"}`` per query."""
    return [
        {
            "name": name,
            "summary": entry.summary,
            "text": entry.text,
            "parameters": list(entry.parameters),
            "example": _example(name),
        }
        for name, entry in cookbook().items()
    ]


def _example(name: str) -> dict[str, Any]:
    """Example values of a query's parameters, from the comments in its file: JSON if they parse as JSON, else text."""
    source = files("tacit.cypher").joinpath("explore", f"{name}.cypher").read_text(encoding="utf-8")
    return {parameter: json_or_text(text.strip()) for parameter, text in _EXAMPLE.findall(source)}


# State of the service.


def reporting_routes(service: Service) -> APIRouter:
    """Return ``/v1/info``, the health checks ``/healthz`` and ``/readyz``, and ``/metrics`` for Prometheus."""
    router = APIRouter(tags=["service"])

    @router.get("/v1/info", summary="Graph, metrics and limits", response_model=ServiceDetails, responses=failures())
    async def info() -> Response:
        """The version, the graph and its digest, the metrics with their signatures, the limits.

        `graph.changed` is a sentence if the graph's files were loaded again or deleted since they were opened, else null.
        """
        await service.health.check()
        with service.problems():
            return await service.lookups.run(lambda: answer(_info(service)))

    @router.get("/healthz", summary="Whether the process is alive", response_model=schemas.StateAnswer)
    async def alive() -> Response:
        """Always 200."""
        return answer({"status": "alive"})

    @router.get("/readyz", summary="Whether the service is ready", response_model=schemas.StateAnswer, responses=failures())
    async def ready() -> Response:
        """200 if the graph answers, its files are unchanged, and the file of API keys can be read; else 503."""
        if service.keys is not None:
            service.keys.check()
        await service.health.check_current()
        return answer({"status": "ready"})

    @router.get(
        "/metrics",
        summary="Measurements for Prometheus",
        response_class=Response,
        responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}, "description": "Text format"}},
    )
    async def metrics() -> Response:
        """Requests, durations, queue lengths, batch sizes, scored items, Cypher timeouts, and whether the graph is up."""
        return Response(service.instruments.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router


def _info(service: Service) -> Any:
    graph = service.graph
    details = None
    if graph is not None:
        details = GraphDetails(graph.url, graph.manifest().digest, graph.counts(), service.health.changed())
    signatures = service.reasoner.signatures.items()
    metrics = {name: MetricDetails(METRIC_REGISTRY.summary(name), signature) for name, signature in signatures}
    return dump(ServiceDetails(version("tacit-kg"), details, metrics, service.settings.limits()))
