"""Bodies in and out: checked in one step from bytes to a request's model, written in one step from plain values to bytes."""

from __future__ import annotations

from typing import Any, TypeVar

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from . import wire
from .problems import MEDIA_TYPE, Problem, invalid

Model = TypeVar("Model", bound=BaseModel)

_REFERENCE = "#/components/schemas/{model}"


async def read(request: Request, model: type[Model]) -> Model:
    """Return the body of ``request`` as a ``model``.

    Raises:
        Problem: it is said not to be JSON, is none, or has another form.
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Problem(415, "no-json", f"the body is said to be {kind or 'nothing'}; send JSON as Content-Type: application/json")
    body = await request.body()
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error) from None


def answer(content: Any) -> Response:
    """Return ``content`` as a response; numbers that JSON cannot say are null."""
    return Response(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS), media_type="application/json")


def request_body(model: type[wire.Request]) -> dict[str, Any]:
    """Return what OpenAPI says of a body that has the form of ``model``, with its examples."""
    content = {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}, "examples": wire.EXAMPLES[model]}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of problems with these statuses, beside those that every route has."""
    told = {
        400: "The request cannot be read, or was refused", 401: "No key, or a wrong one", 404: "There is nothing of that name",
        408: "The body came in too slowly", 413: "The body is too large", 415: "The body is no JSON", 422: "It is not valid",
        429: "Too much waits already", 500: "An unexpected failure", 503: "The graph does not answer", 504: "It took too long",
    }  # fmt: skip
    schema = {"schema": {"$ref": _REFERENCE.format(model="ProblemDocument")}}
    return {
        status: {"description": told[status], "content": {MEDIA_TYPE: schema}}
        for status in sorted({400, 401, 422, 429, 500, 503, 504, *statuses})
    }
