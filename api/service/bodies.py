"""Request bodies from bytes to models, within limits of size and of errors; answers from plain values to bytes.

A JSON value of three bytes can become a Python object of a hundred, so the number of values is limited before anything is parsed,
and the number of errors while they are collected. A large body is parsed in a thread of its own, one at a time, so that the event
loop goes on answering others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.responses import Response

from . import wire
from .problems import MEDIA_TYPE, Problem, invalid, require_json

if TYPE_CHECKING:
    from .workers import Desk

Model = TypeVar("Model", bound=BaseModel)

VALUES = 200_000
"""Most JSON values (numbers, texts, lists, objects, ...) of one body."""

_REFERENCE = "#/components/schemas/{model}"
_LARGE = 1 << 16
_BLOCK = 1 << 18


async def read(request: Request, model: type[Model], desk: Desk, check: Callable[[Any], None] = lambda _: None) -> Model:
    """Return the body of ``request`` as a ``model``.

    Args:
        request: whose body was read by the guard.
        desk: whose thread parses a large body.
        check: is given the parsed JSON before it is held against the model, and raises a Problem where it is too much.

    Raises:
        Problem: the body is not declared as JSON, is not JSON, holds too many values, or has another form.
    """
    require_json(request.headers.get("content-type", "").encode("latin-1"))
    body = await request.body()
    if len(body) < _LARGE:
        return parse(body, model, check)
    return await desk.ask(lambda: parse(body, model, check))


def parse(body: bytes, model: type[Model], check: Callable[[Any], None] = lambda _: None) -> Model:
    """Return ``body`` as a ``model``; arguments and errors as for :func:`read`."""
    if len(body) > VALUES and (values := count_values(body)) > VALUES:
        raise Problem(422, "too-many-values", f"the body holds {values:,} JSON values; send at most {VALUES:,} at once")
    try:
        found = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Problem(400, "invalid-json", f"the body is not JSON ({error}); send one JSON object in UTF-8") from None
    check(found)
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise invalid(error) from None


def count_values(body: bytes) -> int:
    """Return how many JSON values ``body`` holds at most: commas and opening brackets outside of texts, and one."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    inside, found = False, 1
    for start in range(0, len(plain), _BLOCK):
        block = np.frombuffer(plain, np.uint8, min(_BLOCK, len(plain) - start), start)
        quotes = np.logical_xor.accumulate(block == ord('"')) ^ inside  # whether each byte is within a text
        found += int(np.count_nonzero(((block == ord(",")) | (block == ord("[")) | (block == ord("{"))) & ~quotes))
        inside = bool(quotes[-1])
    return found


def answer(content: Any) -> Response:
    """Return ``content`` as a response; NaN and infinite numbers become null."""
    return Response(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS), media_type="application/json")


def request_body(model: type[wire.Request]) -> dict[str, Any]:
    """Return the OpenAPI description of a body in the form of ``model``, with its examples."""
    content = {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}, "examples": wire.EXAMPLES[model]}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of problems with these statuses, beside those that every route has."""
    told = {
        400: "The request cannot be read, or was refused", 401: "No key, or a wrong one",
        403: "The request comes from a page of another site", 404: "There is nothing of that name",
        408: "The body came in too slowly", 413: "The body is too large", 415: "The body is not declared as JSON",
        421: "The request names another host", 422: "It is not valid",
        429: "Too much waits already", 500: "An unexpected failure", 503: "The graph does not answer", 504: "It took too long",
    }  # fmt: skip
    schema = {"schema": {"$ref": _REFERENCE.format(model="ProblemDocument")}}
    return {
        status: {"description": told[status], "content": {MEDIA_TYPE: schema}}
        for status in sorted({400, 401, 403, 421, 422, 429, 500, 503, 504, *statuses})
    }
