"""The routes that score: ``POST /v1/score`` for many responses, ``POST /v1/explain`` for one and what its scores rest on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Query, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from ...cypher import cookbook
from ...graph.errors import GraphUnavailable, InputError, QueryTimeout, TacitError
from ...graph.item import Item
from ...graph.names import text_of
from ...graph.open import index_of
from ...graph.protocol import KnowledgeGraph
from ...graph.relations import check_known
from ...reasoning import Explanation
from ...reasoning.registry import METRIC_REGISTRY
from ...reasoning.scorer import ItemScores
from ..schema import assertion_row, counts_row, neighbour_row, path_row
from .messages import (
    ConceptAnswer,
    ConceptsAnswer,
    CookbookAnswer,
    CypherAnswer,
    CypherRequest,
    ExplainAnswer,
    ExplainRequest,
    InfoAnswer,
    NeighboursAnswer,
    PathsAnswer,
    Problem,
    ScoreAnswer,
    ScoreItem,
    ScoreRequest,
    StateAnswer,
    TailsAnswer,
    answer,
    failures,
    problem_of,
    read,
    request_body,
)
from .service import Service


def scoring_routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(tags=["scores"])
    most, longest = service.settings.items, service.settings.item_characters

    def few(body: Any) -> None:
        items = body.get("items") if isinstance(body, dict) else None
        if isinstance(items, list) and len(items) > most:
            raise Problem(422, "too-many-items", f"there are {len(items):,} items; send at most {most:,} at once")

    async def scored(items: list[Item], names: tuple[str, ...], explain: bool, finish: Any) -> Any:
        await service.health.check()
        try:
            return await service.batcher.score(items, names, explain, finish)
        except GraphUnavailable as error:
            service.health.doubt()
            raise problem_of(error) from error

    @router.post(
        "/v1/score",
        summary="Score responses by the metrics that are served",
        response_model=ScoreAnswer,
        responses=failures(408, 413, 415),
        openapi_extra=request_body(ScoreRequest),
    )
    async def score(request: Request) -> Response:
        """A row for each item, in order. An item that cannot be scored gives a row with `error`, and the others go on."""
        asked = await read(request, ScoreRequest, service.parsing, few)
        names = service.names(asked.metrics)
        explain = asked.explain
        request.scope["tacit.items"] = len(asked.items)
        items: list[Item] = []
        refused: dict[int, bytes] = {}
        for place, item in enumerate(asked.items):
            identity = place + 1 if item.id is None else item.id
            try:
                size = _size(item)
                if size > longest:
                    raise InputError(f"its texts have {size:,} characters, more than {longest:,}; give it in parts")
                items.append(Item(item.history, item.response, item.references, identity))
            except InputError as error:
                refused[place] = orjson.dumps(ItemScores(identity, error=str(error)).to_dict())

        def written(rows: list[ItemScores]) -> list[bytes]:
            return [orjson.dumps(row.to_dict(explain)) for row in rows]

        rows: list[bytes] = await scored(items, names, explain, written) if items else []
        for place, row in refused.items():
            rows.insert(place, row)
        return Response(b'{"items":[%b]}' % b",".join(rows), media_type="application/json")

    service.direct["POST", "/v1/score"] = score

    @router.post(
        "/v1/explain",
        summary="Explain the scores of one response, in words, as data and as a picture",
        response_model=ExplainAnswer,
        responses=failures(408, 413, 415),
        openapi_extra=request_body(ExplainRequest),
    )
    async def explain(request: Request) -> Response:
        """For each metric: value, signature, the pieces with their shares, the assertions they stand on, text and SVG."""
        asked = await read(request, ExplainRequest, service.parsing)
        names = service.names(asked.metrics)
        size = _size(asked)
        if size > longest:
            raise Problem(422, "too-long", f"the texts have {size:,} characters, more than {longest:,}; give less at once")
        request.scope["tacit.items"] = 1
        try:
            item = Item(asked.history, asked.response, asked.references, 1)
        except InputError as error:
            raise Problem(422, "not-scored", str(error)) from error
        [row] = await scored([item], names, True, lambda rows: rows)
        if row.error is not None:
            raise Problem(422, "not-scored", row.error)
        svg = asked.svg

        def drawn() -> Response:
            told = {}
            for name, found in row.scores.items():
                explanation = Explanation(item.history, item.response, found)
                told[name] = explanation.to_dict() | ({"svg": explanation.svg()} if svg else {})
            return answer({"explanations": told})

        try:
            return await service.drawings.ask(drawn)
        except TacitError as error:
            raise problem_of(error) from error

    return router


def _size(item: ScoreItem | ExplainRequest) -> int:
    """Return the characters of an item; an empty text counts as one, since it is work too."""
    return sum(max(1, len(text)) for text in (*item.history, item.response, *item.references))


# Routes that query the graph: a concept, completions of a prefix, neighbours, paths, the tails of an event.

_TEXT = 1_000

Word = Annotated[str, Query(max_length=_TEXT, description="A word, a phrase, or a concept URI.")]
Language = Annotated[str, Query(max_length=20, description="Language of the texts.")]
Limit = Annotated[int, Query(ge=0, le=1_000, description="At most so many, best first.")]
Relation = Annotated[str | None, Query(max_length=_TEXT, description="Only this relation.")]


def exploring_routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(tags=["graph"])

    async def asked(question: Callable[[KnowledgeGraph], Any]) -> Response:
        graph = service.asked_graph()
        await service.health.check()
        try:
            return await service.lookups.ask(lambda: answer(question(graph)))
        except GraphUnavailable as error:
            service.health.doubt()
            raise problem_of(error) from error
        except TacitError as error:
            raise problem_of(error) from error

    @router.get("/v1/concepts", summary="Complete a prefix to concepts", response_model=ConceptsAnswer, responses=failures())
    async def concepts(
        prefix: Annotated[str, Query(max_length=_TEXT, description="Beginning of a text.", examples=["do"])] = "",
        limit: Limit = 10,
        language: Language = "en",
    ) -> Response:
        """The first concepts, in the order of their texts, that begin with the prefix. Needs the index."""

        def question(graph: KnowledgeGraph) -> dict[str, Any]:
            index = index_of(graph)
            if index is None:
                raise InputError("only an index can complete prefixes; serve the graph with --engine index")
            return {"concepts": [{"uri": uri, "text": text_of(uri)} for uri in index.complete(prefix, limit, language)]}

        return await asked(question)

    @router.get("/v1/concepts/{text:path}", summary="Look a concept up", response_model=ConceptAnswer, responses=failures(404))
    async def concept(
        text: Annotated[str, Path(max_length=_TEXT, description="A word, a phrase, or a concept URI.", examples=["dog"])],
        language: Language = "en",
    ) -> Response:
        """The concept that a text names, and its ten best neighbours."""
        return await asked(
            lambda graph: {
                "text": text,
                "uri": (uri := _concept(graph, text, language)),
                "neighbours": [neighbour_row(one) for one in graph.neighbours(uri, 1, 10)],
            }
        )

    @router.get("/v1/neighbours", summary="Concepts around one", response_model=NeighboursAnswer, responses=failures(404))
    async def neighbours(
        concept: Annotated[Word, Query(examples=["dog"])],
        hop: Annotated[int, Query(ge=1, le=6, description="Concepts whose shortest distance is exactly this.")] = 1,
        limit: Limit = 10,
        relation: Annotated[list[str] | None, Query(description="Only this relation; repeatable. One empty: none.")] = None,
        language: Language = "en",
    ) -> Response:
        """Concepts whose shortest distance is exactly `hop`, strongest first."""

        def question(graph: KnowledgeGraph) -> dict[str, Any]:
            uri = _concept(graph, concept, language)
            relations = None if relation is None else [name for name in relation if name]
            check_known(relations or (), graph.counts().relations)
            return {"concept": uri, "neighbours": [neighbour_row(one) for one in graph.neighbours(uri, hop, limit, relations)]}

        return await asked(question)

    @router.get("/v1/paths", summary="Shortest paths between two concepts", response_model=PathsAnswer, responses=failures(404))
    async def paths(
        source: Annotated[Word, Query(examples=["dog"])],
        target: Annotated[Word, Query(examples=["bone"])],
        max_hops: Annotated[int, Query(ge=1, le=6, description="Look no further than this.")] = 6,
        limit: Annotated[int, Query(ge=0, le=100, description="At most so many, best first.")] = 10,
        language: Language = "en",
    ) -> Response:
        """Shortest paths, strongest first, each with its assertions and their provenance."""

        def question(graph: KnowledgeGraph) -> dict[str, Any]:
            start, end = _concept(graph, source, language), _concept(graph, target, language)
            found = graph.paths(start, end, max_hops, limit)
            return {"paths": [path_row(path) for path in found]}

        return await asked(question)

    @router.get("/v1/tails", summary="What is known about an event", response_model=TailsAnswer, responses=failures())
    async def tails(
        head: Annotated[str, Query(max_length=_TEXT, description="An event.", examples=["PersonX cooks dinner for PersonY"])],
        relation: Relation = None,
        limit: Limit = 100,
    ) -> Response:
        """Assertions about the event, best first; none about an event that the graph does not know."""
        return await asked(lambda graph: {"tails": [assertion_row(one) for one in graph.tails(head, relation, limit)]})

    return router


def _concept(graph: KnowledgeGraph, text: str, language: str) -> str:
    """Return the concept that ``text`` names.

    Raises:
        Problem: it names none.
    """
    [uri] = graph.resolve([text], language)
    if uri is None:
        raise Problem(
            404, "unknown-concept", f"{text!r} is not a concept of this graph; try another word, or a URI such as /c/en/dog"
        )
    return uri


# The routes for Cypher: a query behind the three walls of :mod:`tacit.graph.query`, and the cookbook of queries.


def querying_routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(tags=["graph"])
    settings = service.settings

    @router.post(
        "/v1/cypher",
        summary="Run a Cypher query that reads",
        response_model=CypherAnswer,
        responses=failures(408, 413, 415),
        openapi_extra=request_body(CypherRequest),
    )
    async def cypher(request: Request) -> Response:
        """Only reading passes, within limits of rows and seconds; the query may be the name of one of the cookbook."""
        asked = await read(request, CypherRequest, service.parsing)
        if asked.limit > settings.cypher_rows:
            raise Problem(
                422, "too-many-rows", f"a limit of {asked.limit:,} rows is too high; ask for {settings.cypher_rows:,} at most"
            )
        if asked.timeout > settings.cypher_seconds:
            raise Problem(422, "too-long", f"{asked.timeout:g} seconds are too long; ask for {settings.cypher_seconds:g} at most")
        graph = service.asked_graph()
        text = _text(asked)
        await service.health.check_current()

        def run() -> Response:
            result = graph.run(text, asked.parameters, limit=asked.limit, timeout=asked.timeout)
            rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
            return answer({"columns": list(result.columns), "rows": rows, "truncated": result.truncated})

        try:
            return await service.queries.ask(run)
        except QueryTimeout as error:
            service.instruments.cypher_timeout()
            raise problem_of(error) from error
        except GraphUnavailable as error:
            service.health.doubt()
            raise problem_of(error) from error
        except TacitError as error:
            raise problem_of(error, cypher=True) from error

    @router.get("/v1/cookbook", summary="The cookbook of queries", response_model=CookbookAnswer, responses=failures())
    async def queries() -> Response:
        """Queries that run on every graph, by name, with what they answer, their text and their parameters."""
        return answer({"queries": entries()})

    return router


def _text(asked: CypherRequest) -> str:
    """Return the query, looked up in the cookbook where it is a name of it.

    Raises:
        Problem: the query is empty, or one of the cookbook lacks a parameter or has another one.
    """
    if not asked.query.strip():
        raise Problem(422, "query-invalid", "the query is empty; give Cypher, or a name out of /v1/cookbook")
    entry = cookbook().get(asked.query.strip().removeprefix("explore/"))
    if entry is None:
        return asked.query
    if set(entry.parameters) != set(asked.parameters):
        wanted = ", ".join(entry.parameters) or "none"
        raise Problem(
            422,
            "query-invalid",
            f"the query {asked.query.strip()} takes the parameters {wanted}; give each of them, and no other",
        )
    return entry.text


# The cookbook as the service shows it: each query with its text, its parameters, and values for them that give something.

_EXAMPLE = re.compile(r"^// \$(\w+):.*?, e\.g\. (.+)$", re.MULTILINE)


@cache
def entries() -> list[dict[str, Any]]:
    """Return the queries, sorted by name: ``{"name", "summary", "text", "parameters", "example"}``."""
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
    """The values that the comment of the query's file names: JSON where it can be read as such, else text."""
    source = files("tacit.cypher").joinpath("explore", f"{name}.cypher").read_text(encoding="utf-8")
    return {parameter: _value(text.strip()) for parameter, text in _EXAMPLE.findall(source)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# Routes about the service itself: what it serves, whether it is alive and ready, and its measurements.


def reporting_routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(tags=["service"])

    @router.get("/v1/info", summary="What is served", response_model=InfoAnswer, responses=failures())
    async def info() -> Response:
        """The version, the graph and its digest, the metrics with their signatures, the limits.

        `graph.changed` is a sentence where the served folder was loaded again or deleted since it was opened, else null.
        """
        await service.health.check()
        try:
            return await service.lookups.ask(lambda: answer(_info(service)))
        except TacitError as error:
            raise problem_of(error) from error

    @router.get("/healthz", summary="Whether the process is alive", response_model=StateAnswer)
    async def alive() -> Response:
        """Always 200."""
        return answer({"status": "alive"})

    @router.get("/readyz", summary="Whether the service is ready", response_model=StateAnswer, responses=failures())
    async def ready() -> Response:
        """200 when the graph answers and is the one that was opened, and the file of keys can be read; else 503."""
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
        """Requests, seconds, queue, batches, items, queries out of time, and whether the graph is up."""
        return Response(service.instruments.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router


def _info(service: Service) -> dict[str, Any]:
    graph = service.graph
    told: dict[str, Any] | None = None
    if graph is not None:
        told = {"url": graph.url, "digest": graph.manifest().digest, **counts_row(graph.counts())}
        told["changed"] = service.health.changed()
    return {
        "version": version("tacit-kg"),
        "graph": told,
        "metrics": {
            name: {"summary": METRIC_REGISTRY.summary(name), "signature": signature}
            for name, signature in service.reasoner.signatures.items()
        },
        "limits": service.settings.limits(),
    }
