"""The HTTP routes of inferences about a turn: ``/v1/infer`` and ``/v1/choose``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

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


class _Opened:
    """The inference over the service's graph, opened at the first request, since its table of events takes time to build."""

    def __init__(self, graph: KnowledgeGraph | None, judges: Sequence[str] | None) -> None:
        self._graph = graph
        self._judges = judges if judges is not None or graph is not None else ["answers"]
        self._lock = threading.Lock()
        self._inference: Inference | None = None
        self._chooser: Chooser | None = None

    def inference(self) -> Inference:
        """Return the inference; the graph is known to exist."""
        from ...reasoning.inference import load_inference

        assert self._graph is not None
        with self._lock:
            if self._inference is None:
                self._inference = load_inference(self._graph)
            return self._inference

    def chooser(self) -> Chooser:
        """Return the chooser over the service's graph, by the choices alone where it has none and no judges are named."""
        from ...reasoning.inference import load_chooser

        with self._lock:
            if self._chooser is None:
                names = set(self._judges or ())
                encoder = "default" if "similarity" in names else None
                model = "default" if "yes-no" in names else None
                self._chooser = load_chooser(self._graph, self._judges, encoder=encoder, model=model)
            return self._chooser


def inferring_routes(service: Service, judges: Sequence[str] | None = None) -> APIRouter:
    """Return ``POST /v1/infer``, answers from the graph to CICERO's questions about a turn, and ``POST /v1/choose``."""
    router = APIRouter(tags=["inferences"])
    opened = _Opened(service.graph, judges)
    longest = service.settings.item_characters

    @post_route(
        router, "/v1/infer", "Answer five questions about a turn from the graph", schemas.InferRequest, schemas.InferAnswer, 404
    )
    async def infer(request: Request) -> Response:
        """Cause, subsequent event, prerequisite, motivation and reaction: each answer with its edge, Cypher that finds it, and on
        request a picture of them.
        """
        body = await read(request, schemas.InferRequest, service.parsing)
        service.require_graph()
        check_size(body.dialogue, longest)
        await service.health.check()

        def found() -> Response:
            questions = QUESTIONS if body.questions is None else [question_of(name) for name in body.questions]
            rows = opened.inference().answer(body.dialogue, body.target, questions, limit=body.limit)
            pictures = [{"svg": row.svg(body.width)} if body.svg else {} for row in rows]
            return answer({"turns": [{**dump(row), **picture} for row, picture in zip(rows, pictures, strict=True)]})

        with service.problems():
            return await service.lookups.run(found)

    @post_route(router, "/v1/choose", "Choose among answers to a question about a turn", schemas.ChooseRequest, Chosen)
    async def choose(request: Request) -> Response:
        """A score for each choice, with the share of each judge and the edges for and against it, or `no edge`."""
        body = await read(request, schemas.ChooseRequest, service.parsing)
        check_size((*body.dialogue, body.target, *body.choices), longest)
        await service.health.check()

        def found() -> Response:
            one = Instance(body.id, body.dialogue, body.target, body.question, body.choices)
            [row] = opened.chooser().choose([one], body.answers)
            return answer(row.to_dict())

        with service.problems():
            return await service.lookups.run(found)

    return router
