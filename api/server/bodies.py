"""Bodies of requests, parsed within limits, and JSON responses.

A JSON value of three bytes can become a Python object of a hundred, so the number of values is limited before parsing, and the
number of errors during validation. Large bodies are parsed in a separate thread, one at a time, so that they do not block the
event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import orjson
from fastapi import APIRouter, Request
from fastapi.types import DecoratedCallable
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.responses import Response

from .problems import Problem, failures, invalid
from .schemas import Message, request_body

if TYPE_CHECKING:
    from .service import BoundedPool

Model = TypeVar("Model", bound=Message)

VALUES = 200_000
"""Maximum number of JSON values (numbers, texts, lists, objects, ...) in a body."""

_LARGE = 1 << 16
_BLOCK = 1 << 18


async def read(request: Request, model: type[Model], pool: BoundedPool, check: Callable[[Any], None] = lambda _: None) -> Model:
    """Return the body of ``request`` as a ``model``; 415 if it is not declared as JSON, 400 if it is not JSON, 422 if not valid.

    Large bodies are parsed by ``pool``. ``check`` is called with the parsed JSON before validation, and may raise a Problem.
    """
    require_json(request.headers.get("content-type", "").encode("latin-1"))
    body = await request.body()
    if len(body) < _LARGE:
        return parse(body, model, check)
    return await pool.run(lambda: parse(body, model, check))


def parse(body: bytes, model: type[Model], check: Callable[[Any], None] = lambda _: None) -> Model:
    """Return ``body`` as a ``model``; arguments and errors as for :func:`read`."""
    if len(body) > VALUES and (values := count_values(body)) > VALUES:
        raise Problem(422, "too-many-values", f"the body has {values:,} JSON values; send at most {VALUES:,} at once")
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Problem(400, "invalid-json", f"the body is not JSON ({error}); send one JSON object in UTF-8") from None
    check(value)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False), model) from None


def count_values(body: bytes) -> int:
    """Return an upper bound of the number of JSON values in ``body``: 1 + commas and opening brackets outside of texts."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    inside, values = False, 1
    for start in range(0, len(plain), _BLOCK):
        block = np.frombuffer(plain, np.uint8, min(_BLOCK, len(plain) - start), start)
        quotes = np.logical_xor.accumulate(block == ord('"')) ^ inside  # whether each byte is within a text
        values += int(np.count_nonzero(((block == ord(",")) | (block == ord("[")) | (block == ord("{"))) & ~quotes))
        inside = bool(quotes[-1])
    return values


def size_of(texts: Iterable[str]) -> int:
    """Return the number of characters; an empty text counts as one, so that their number is limited too."""
    return sum(max(1, len(text)) for text in texts)


def check_size(texts: Iterable[str], longest: int) -> None:
    """Check that a request's texts have at most ``longest`` characters; 422 if not."""
    size = size_of(texts)
    if size > longest:
        raise Problem(422, "too-long", f"the texts have {size:,} characters; send at most {longest:,}")


def require_json(content_type: bytes) -> None:
    """Check that a body is declared as JSON, which a page of another site cannot send without a CORS preflight; 415 if not."""
    kind = content_type.partition(b";")[0].strip().lower()
    if kind != b"application/json":
        received = kind.decode("latin-1")[:100] or "missing"
        raise Problem(415, "not-json", f"the Content-Type is {received}; send JSON as Content-Type: application/json")


def answer(content: Any) -> Response:
    """Return ``content`` as a response; NaN and infinite numbers become null."""
    return Response(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS), media_type="application/json")


def post_route(
    router: APIRouter, path: str, summary: str, body: type[Message], answer: Any, *statuses: int
) -> Callable[[DecoratedCallable], DecoratedCallable]:
    """Declare a POST route that gets its body by :func:`read`; ``statuses`` are its failures beside those of a body."""
    return router.post(
        path,
        summary=summary,
        response_model=answer,
        responses=failures(413, 415, *statuses),
        openapi_extra=request_body(body),
    )
