"""The routes about the service itself: what it serves, whether it lives, whether its graph answers, what it measured."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from ...graph.errors import TacitError
from ...reasoning.registry import KINDS
from ..terminal.rows import counts_row
from .bodies import answer, failures
from .problems import problem_of
from .service import Service
from .wire import InfoAnswer, StateAnswer


def reporting_routes(service: Service) -> APIRouter:
    """Return the routes over ``service``."""
    router = APIRouter(tags=["service"])

    @router.get("/v1/info", summary="What is served", response_model=InfoAnswer, responses=failures())
    async def info() -> Response:
        """The version, the graph and its digest, the metrics with their signatures, the limits."""
        await service.health.check()
        try:
            return await service.lookups.ask(lambda: answer(_info(service)))
        except TacitError as error:
            raise problem_of(error) from error

    @router.get("/healthz", summary="Whether the process lives", response_model=StateAnswer)
    async def alive() -> Response:
        """Always 200: whoever answers lives."""
        return answer({"status": "alive"})

    @router.get("/readyz", summary="Whether the graph answers", response_model=StateAnswer, responses=failures())
    async def ready() -> Response:
        """200 when the graph answered within the last second or does now; else 503."""
        await service.health.check()
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
    return {
        "version": version("tacit-kg"),
        "graph": None if graph is None else {"url": graph.url, "digest": graph.manifest().digest, **counts_row(graph.counts())},
        "metrics": {
            name: {"summary": KINDS[name].summary if name in KINDS else "", "signature": signature}
            for name, signature in service.reasoner.signatures.items()
        },
        "limits": service.settings.limits(),
    }
