"""Routes about the service itself: what it serves, whether it is alive and ready, and its measurements."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from ...graph.errors import TacitError
from ...reasoning.registry import METRIC_REGISTRY
from ..schema import counts_row
from .bodies import answer, failures
from .problems import problem_of
from .service import Service
from .wire import InfoAnswer, StateAnswer


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
