"""Routes that query the graph: a concept, completions of a prefix, neighbours, paths, the tails of an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from ...graph.errors import GraphUnavailable, InputError, TacitError
from ...graph.names import text_of
from ...graph.opening import index_of
from ...graph.protocol import KnowledgeGraph
from ...graph.relations import check_known
from ..schema import assertion_row, neighbour_row, path_row
from .bodies import answer, failures
from .problems import Problem, problem_of
from .service import Service
from .wire import ConceptAnswer, ConceptsAnswer, NeighboursAnswer, PathsAnswer, TailsAnswer

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
            404, "unknown-concept", f"{text!r} names no concept of this graph; try another word, or a URI such as /c/en/dog"
        )
    return uri
