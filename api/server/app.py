"""The ASGI application: routes, error handlers, the OpenAPI document, and the static files of the web page."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic.json_schema import models_json_schema
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from ...graph.protocol import KnowledgeGraph
from ...reasoning import Reasoner
from . import schemas
from .conceptnet.routes import conceptnet_routes
from .inference_routes import inferring_routes
from .keys import Keys
from .middleware import RequestMiddleware
from .problems import Problem, invalid, refuse_unknown_parameters
from .routes import exploring_routes, querying_routes, reporting_routes, scoring_routes
from .service import Service, Settings

_DESCRIPTION = """Scores of dialogue responses with explanations, by metrics over a commonsense knowledge graph, and queries of
the graph itself.

Errors are problem documents (RFC 9457). Every response has an `X-Request-ID`; the client may send its own."""


def create_app(
    reasoner: Reasoner,
    graph: KnowledgeGraph | None = None,
    *,
    settings: Settings | None = None,
    keys: Keys | None = None,
    host_names: Sequence[str] = (),
    logging: bool = False,
    conceptnet_api: bool = False,
    judges: Sequence[str] | None = None,
) -> FastAPI:
    """Return the service as an ASGI application.

    The application closes neither ``reasoner`` nor ``graph``; close them after it.

    Args:
        reasoner: the metrics to serve.
        graph: the graph for queries; the reasoner's by default.
        settings: limits; None: the defaults of :class:`Settings`.
        keys: accepted API keys; None: no key is needed.
        host_names: host names of the service, e.g. behind a proxy; requests for other hosts are refused. The address at which a
            request arrives, localhost, 127.0.0.1 and [::1] are always accepted.
        logging: log every request as a line of JSON on stderr, not only those with status 500 and above.
        conceptnet_api: answer the URLs of the public ConceptNet API too.
        judges: of ``/v1/choose``, among ``answers``, ``graph``, ``similarity`` by the default encoder, and ``yes-no`` by the
            model of ``tacit fetch judge``; by default ``answers``, and ``graph`` where there is one.

    Raises:
        InputError: a host name is not one; or ``conceptnet_api`` is given and the graph has no index, or damaged vectors.
    """
    service = Service(reasoner, graph or reasoner.graph, settings or Settings(), keys, host_names=host_names, logging=logging)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="tacit", version=version("tacit-kg"), description=_DESCRIPTION, docs_url=None, redoc_url=None, lifespan=lifespan,
        redirect_slashes=False,  # behind a proxy with TLS, a redirect would lead to http://, and a key be sent in clear
    )  # fmt: skip
    app.state.service = service
    routers = [routes(service) for routes in (scoring_routes, exploring_routes, querying_routes, reporting_routes)]
    for router in (*routers, inferring_routes(service, judges)):
        app.include_router(router, dependencies=[Depends(refuse_unknown_parameters)])
    if conceptnet_api:
        app.include_router(conceptnet_routes(service))
    mount_page(app)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(RequestMiddleware, service=service)
    app.openapi = lambda: _openapi(app, plain)  # type: ignore[method-assign]
    plain = FastAPI.openapi.__get__(app)
    return app


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response(request.scope)


async def _refused(request: Request, error: Exception) -> Response:
    """Handle an unknown path or method."""
    assert isinstance(error, HTTPException)
    kinds = {404: "not-found", 405: "method-not-allowed"}
    details = {
        404: "unknown path; see /openapi.json",
        405: f"the method {request.method} is not allowed for this path; see /openapi.json",
    }
    problem = Problem(
        error.status_code, kinds.get(error.status_code, "refused"), details.get(error.status_code, str(error.detail)),
        headers=error.headers,
    )  # fmt: skip
    return problem.response(request.scope)


async def _invalid(request: Request, error: Exception) -> Response:
    """Handle a missing or invalid path or query parameter."""
    assert isinstance(error, RequestValidationError)
    return invalid(error.errors()).response(request.scope)


def _openapi(app: FastAPI, plain: Any) -> dict[str, Any]:
    """FastAPI's OpenAPI document with tacit's request bodies and problem documents in place of FastAPI's error schemas."""
    if app.openapi_schema:
        return app.openapi_schema
    document: dict[str, Any] = plain()
    models = [(model, "validation") for model in (*schemas.EXAMPLES, schemas.ProblemDocument)]
    _, defined = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    component_schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        component_schemas.pop(name, None)
    component_schemas.update(defined["$defs"])
    document["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    if app.state.service.keys is not None:
        document["security"] = [{"bearer": []}, {"header": []}]
    app.openapi_schema = json.loads(json.dumps(document))
    return app.openapi_schema


# The web page at ``/``, the API reference at ``/docs``, and their static files. A browser revalidates its cached copy each time.
# The ETag is a hash of the content, so that it is the same in every container and files of two versions are never mixed.

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def mount_page(app: FastAPI) -> None:
    """Serve the web page if its files are installed."""
    folder = Path(str(files("tacit.api"))) / "page"
    if not (folder / "index.html").is_file():
        return
    page_files = _StaticFiles(directory=folder)
    style_files = _StaticFiles(directory=str(files("tacit.reasoning") / "explanation"))

    async def page(name: str, request: Request) -> Response:
        response = await page_files.get_response(name, request.scope)
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @app.get("/", include_in_schema=False)
    async def start(request: Request) -> Response:
        return await page("index.html", request)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return await page("docs.html", request)

    @app.get("/static/picture.css", include_in_schema=False)
    async def picture_style(request: Request) -> Response:
        return await style_files.get_response("picture.css", request.scope)

    app.mount("/static", page_files, name="static")


class _StaticFiles(StaticFiles):
    """Static files with an ETag of their content."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return the file, or 304 when the client's copy is current."""
        headers = {
            "Cache-Control": "no-cache",  # cache, but revalidate before use
            "ETag": f'"{hashlib.sha256(Path(full_path).read_bytes()).hexdigest()[:32]}"',
        }
        response = FileResponse(full_path, status_code, headers, stat_result=stat_result)
        is_current = self.is_not_modified(response.headers, Headers(scope=scope))
        return NotModifiedResponse(response.headers) if is_current else response
