"""The application: routes over one service, errors as problem documents, OpenAPI that says what is really taken and given."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ...graph.protocol import KnowledgeGraph
from ...reasoning import Reasoner
from . import wire
from .exploring import exploring_routes
from .guard import Guard
from .keys import Keys
from .page import mount_page
from .problems import Problem
from .querying import querying_routes
from .reporting import reporting_routes
from .scoring import scoring_routes
from .service import Service
from .settings import Settings

_DESCRIPTION = """Commonsense you can query, scores you can explain: dialogue metrics over a graph of
commonsense, and the graph itself.

Errors are problem documents (RFC 9457). Every answer bears an `X-Request-ID`; one that is sent along is kept."""


def create_app(
    reasoner: Reasoner,
    graph: KnowledgeGraph | None = None,
    *,
    settings: Settings | None = None,
    keys: Keys | None = None,
    logging: bool = False,
) -> FastAPI:
    """Return the service as an ASGI application; what is given stays the caller's to close, after the application.

    Args:
        reasoner: with the metrics to serve.
        graph: the graph that questions are asked of; the reasoner's by default.
        settings: limits; the defaults of :class:`Settings` where None.
        keys: who may ask; None: anybody who can reach it.
        logging: write a line of JSON for each request to stderr, not only for those that a fault of the service ended (5xx).
    """
    service = Service(reasoner, graph or reasoner.graph, settings or Settings(), keys, logging=logging)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="tacit", version=version("tacit-kg"), description=_DESCRIPTION, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.state.service = service
    for routes in (scoring_routes, exploring_routes, querying_routes, reporting_routes):
        app.include_router(routes(service))
    mount_page(app)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(Guard, service=service)
    app.openapi = lambda: _openapi(app, plain)  # type: ignore[method-assign]
    plain = FastAPI.openapi.__get__(app)
    return app


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response(request.scope)


async def _refused(request: Request, error: Exception) -> Response:
    """What the router refuses: no such path, or not by this method."""
    assert isinstance(error, HTTPException)
    kinds = {404: "not-found", 405: "method-not-allowed"}
    details = {
        404: "there is nothing at this path; see /openapi.json",
        405: f"{request.method} is not taken at this path; see /openapi.json",
    }
    problem = Problem(
        error.status_code, kinds.get(error.status_code, "refused"), details.get(error.status_code, str(error.detail)),
        headers=error.headers,
    )  # fmt: skip
    return problem.response(request.scope)


async def _invalid(request: Request, error: Exception) -> Response:
    """A parameter of the path or the query that is missing or of another kind."""
    assert isinstance(error, RequestValidationError)
    errors = [{"at": ".".join(map(str, one["loc"])), "reason": one["msg"]} for one in error.errors()]
    first = errors[0]
    problem = Problem(
        422, "invalid-parameter", f"{first['at']} cannot be used ({first['reason']}); see /openapi.json", extra={"errors": errors}
    )
    return problem.response(request.scope)


def _openapi(app: FastAPI, plain: Any) -> dict[str, Any]:
    """FastAPI's document with the bodies that are checked here, and with problems where FastAPI supposes its own errors."""
    if app.openapi_schema:
        return app.openapi_schema
    document: dict[str, Any] = plain()
    models = [(model, "validation") for model in (*wire.EXAMPLES, wire.ProblemDocument)]
    _, defined = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(defined["$defs"])
    document["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    if app.state.service.keys is not None:
        document["security"] = [{"bearer": []}, {"header": []}]
    app.openapi_schema = json.loads(json.dumps(document))
    return app.openapi_schema
