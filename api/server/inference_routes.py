"""The HTTP routes of inferences about a turn: ``/v1/infer`` and ``/v1/choose``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...graph.protocol import KnowledgeGraph
from ...graph.questions import QUESTIONS, Instance, question_of
from ...graph.schema import dump
from ...reasoning.inference.choosing import Chosen
from . import schemas
from .bodies import answer, check_size, post_route, read
from .service import Service

if TYPE_CHECKING:
    from ...reasoning.inference import Chooser, Inference

T = TypeVar("T")


def _cached_call(load: Callable[[], T]) -> Callable[[], T]:
    """Return a thread-safe function that calls ``load`` at its first call, and returns the same result from then on."""
    lock = threading.Lock()
    loaded: list[T] = []

    def get() -> T:
        with lock:
            if not loaded:
                loaded.append(load())
            return loaded[0]

    return get


def _load_inference(graph: KnowledgeGraph) -> Inference:
    from ...reasoning.inference import load_inference

    return load_inference(graph)


def _load_chooser(graph: KnowledgeGraph | None, judges: Sequence[str] | None) -> Chooser:
    """Return the chooser; without a graph and named judges it judges by the choices alone."""
    from ...reasoning.inference import load_chooser

    if judges is None and graph is None:
        judges = ["answers"]
    names = judges or ()
    encoder = "default" if "similarity" in names else None
    model = "default" if "yes-no" in names else None
    return load_chooser(graph, judges, encoder=encoder, model=model)


def inferring_routes(service: Service, judges: Sequence[str] | None = None) -> APIRouter:
    """Return ``POST /v1/infer``, answers from the graph to CICERO's questions about a turn, and ``POST /v1/choose``."""
    router = APIRouter(tags=["inferences"])
    inference = _cached_call(lambda: _load_inference(service.require_graph()))  # building its table of events takes time
    chooser = _cached_call(lambda: _load_chooser(service.graph, judges))
    max_characters = service.settings.item_characters

    @post_route(
        router, "/v1/infer", "Answer five questions about a turn from the graph", schemas.InferRequest, schemas.InferAnswer, 404
    )
    async def infer(request: Request) -> Response:
        """Cause, subsequent event, prerequisite, motivation and reaction: each answer with its edge, Cypher that finds it, and on
        request a picture of them.
        """
        body = await read(request, schemas.InferRequest, service.parsing)
        service.require_graph()
        check_size(body.dialogue, max_characters)
        await service.health.check()

        def respond() -> Response:
            questions = QUESTIONS if body.questions is None else [question_of(name) for name in body.questions]
            rows = inference().answer(body.dialogue, body.target, questions, limit=body.limit)
            pictures = [{"svg": row.svg(body.width)} if body.svg else {} for row in rows]
            return answer({"turns": [{**dump(row), **picture} for row, picture in zip(rows, pictures, strict=True)]})

        with service.problems():
            return await service.lookups.run(respond)

    @post_route(router, "/v1/choose", "Choose among answers to a question about a turn", schemas.ChooseRequest, Chosen)
    async def choose(request: Request) -> Response:
        """A score for each choice, with the share of each judge and the edges for and against it, or `no edge`."""
        body = await read(request, schemas.ChooseRequest, service.parsing)
        check_size((*body.dialogue, body.target, *body.choices), max_characters)
        await service.health.check()

        def respond() -> Response:
            instance = Instance(body.id, body.dialogue, body.target, body.question, body.choices)
            [row] = chooser().choose([instance], body.answers)
            return answer(row.to_dict())

        with service.problems():
            return await service.lookups.run(respond)

    return router
