"""The routes that score: ``POST /v1/score`` for many responses, ``POST /v1/explain`` for one and what its scores rest on."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from ...graph.errors import GraphUnavailable, InputError, TacitError
from ...graph.item import Item
from ...reasoning import Explanation
from ...reasoning.scoring import ItemScores
from .bodies import answer, failures, read, request_body
from .problems import Problem, problem_of
from .service import Service
from .wire import ExplainAnswer, ExplainRequest, ScoreAnswer, ScoreItem, ScoreRequest


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
