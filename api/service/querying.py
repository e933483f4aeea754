"""The routes for Cypher: a query behind the three walls of :mod:`tacit.graph.query`, and the cookbook of queries."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...cypher import cookbook
from ...graph.errors import GraphUnavailable, QueryTimeout, TacitError
from .bodies import answer, failures, read, request_body
from .cookbook import entries
from .problems import Problem, problem_of
from .service import Service
from .wire import CookbookAnswer, CypherAnswer, CypherRequest


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
