"""Errors of the service as problem documents (RFC 9457): their status, and validation errors as sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import Request
from fastapi.routing import APIRoute
from pydantic.fields import FieldInfo
from starlette.responses import Response
from starlette.types import Scope

from ...graph.errors import (
    GraphBusy,
    GraphError,
    GraphNotFound,
    GraphUnavailable,
    InputError,
    QueryInvalid,
    QueryRefused,
    QueryTimeout,
    TacitError,
    UnknownName,
    did_you_mean,
)
from .schemas import Message, ScoreItem

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1

SHOWN_ERRORS = 20
"""Maximum number of errors in a problem document."""

_STATUS: tuple[tuple[type[TacitError], int, str], ...] = (
    (UnknownName, 404, "unknown-concept"),
    (QueryRefused, 400, "query-refused"),
    (QueryInvalid, 422, "query-invalid"),
    (InputError, 422, "invalid-input"),
    (QueryTimeout, 504, "query-timeout"),
    (GraphBusy, 429, "busy"),
    (GraphUnavailable, 503, "graph-unavailable"),
    (GraphNotFound, 503, "graph-unavailable"),
)


class Problem(Exception):
    """An error that becomes a problem document.

    ``kind`` is the last part of the problem type, ``detail`` one sentence on what is wrong and what to do; ``headers`` and
    ``extra`` are added to the response and to the document.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})
        if status in (429, 503):
            self.headers.setdefault("Retry-After", str(RETRY_SECONDS))

    def response(self, scope: Scope) -> Response:
        """Return the document as a response to the request of ``scope``, in another form if its path has one."""
        form = scope.get("tacit.error_form")
        if form is not None:
            response: Response = form(self)
            return response
        body = {
            "type": f"urn:tacit:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "instance": scope["path"].encode("utf-8", "replace").decode(),
            "request_id": request_id(scope),
            **self.extra,
        }
        return Response(orjson.dumps(body), self.status, self.headers, MEDIA_TYPE)


def request_id(scope: Scope) -> str:
    """Return the ID that the middleware gave the request."""
    return str(scope.get("tacit.request_id", ""))


def problem_of(error: TacitError, *, cypher: bool = False) -> Problem:
    """Return the problem document of an error; with ``cypher`` an error of the engine is a fault of the client's query."""
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return Problem(status, name, str(error))
    if cypher and isinstance(error, GraphError):
        return Problem(422, "query-failed", str(error))
    return Problem(500, "failure", str(error))


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of problems with these statuses, in addition to those of every route."""
    descriptions = {
        400: "The request cannot be read, or was refused", 401: "API key missing or unknown",
        403: "Cross-site request", 404: "Not found",
        413: "The body is too large", 415: "The body is not declared as JSON",
        421: "The Host header names another host", 422: "The request is not valid",
        429: "The queue is full", 500: "Unexpected error", 503: "The graph does not answer", 504: "Timeout",
    }  # fmt: skip
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    return {
        status: {"description": descriptions[status], "content": {MEDIA_TYPE: schema}}
        for status in sorted({400, 401, 403, 421, 422, 429, 500, 503, 504, *statuses})
    }


# Validation errors as sentences, without the values.


def refuse_unknown_parameters(request: Request) -> None:
    """Check that a route below ``/v1/`` takes the query parameters of a request; 422 if not."""
    route = request.scope.get("route")
    names: list[str] = []
    for parameter in route.dependant.query_params if isinstance(route, APIRoute) else ():
        names += getattr(parameter.field_info.annotation, "model_fields", [parameter.alias])
    unknown = [name for name in request.query_params if name not in names]
    if unknown and request.url.path.startswith("/v1/"):
        name = _quoted_name(unknown[0])
        advice = did_you_mean(unknown[0], names, f"the parameters are {', '.join(names)}" if names else "there are none")
        raise Problem(
            422,
            "invalid-parameter",
            f"unknown query parameter {name}; {advice}",
            extra={"errors": [{"at": f"query.{key[:_SHOWN_NAME]}", "reason": "unknown query parameter"} for key in unknown]},
        )


def invalid(errors: Sequence[Any], model: type[Message] | None = None) -> Problem:
    """Return the problem document of pydantic's errors: the first as a sentence, and the places of all.

    ``model``: what a body should be; None: the errors are those of path and query parameters.
    """
    reasons: dict[str, str] = {}
    misspelt: set[tuple[str | int, ...]] = set()
    for error in sorted(errors, key=lambda error: error["type"] != "extra_forbidden"):  # a misspelt name before the missing one
        location = [part for part in error["loc"] if part not in ("str", "constrained-int")]  # the alternatives of an ID
        if error["type"] == "extra_forbidden":
            similar = get_close_matches(str(location[-1])[:_SHOWN_NAME], _fields(location[:-1], model), 1)
            misspelt.update((*location[:-1], name) for name in similar)
        if error["type"] == "missing" and tuple(location) in misspelt:
            continue
        path = ".".join(str(part)[:_SHOWN_NAME] for part in location)
        if path not in reasons or error["type"] == "less_than_equal":
            reasons[path] = _reason(error, location, model)
    listed = [{"at": path, "reason": reason} for path, reason in reasons.items()][:SHOWN_ERRORS]
    number_of_others = len(reasons) - 1
    others = f" ({number_of_others} more error{'s' if number_of_others > 1 else ''})" if number_of_others else ""
    return Problem(
        422, "invalid-body" if model else "invalid-parameter", f"{listed[0]['reason']}{others}", extra={"errors": listed}
    )


_SHOWN_NAME = 60
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
_EXPECTED = {
    "string_type": "a text", "bool_type": "true or false", "int_type": "a whole number", "float_type": "a number",
    "dict_type": "an object", "int_parsing": "a whole number", "finite_number": "a finite number",
}  # fmt: skip
_LISTS = {
    "items": "a list of items",
    **dict.fromkeys(("dialogue", "questions", "choices", "history", "references", "metrics"), "a list of texts"),
}
_SIGNS = {"greater_than": ">", "greater_than_equal": ">=", "less_than": "<", "less_than_equal": "<="}


def _reason(error: Any, location: Sequence[str | int], model: type[Message] | None) -> str:
    """Return one error of pydantic as a sentence: what is wrong, where, and what is expected."""
    kind, context = error["type"], error.get("ctx", {})
    where, name = _where(location), str(location[-1]) if location else ""
    if kind == "missing":
        return f"{_where(location[:-1])} has no {name}; give {_LISTS.get(name, 'a text')}" if model else f"{where} is missing"
    if kind == "extra_forbidden":
        names = list(_fields(location[:-1], model))
        advice = did_you_mean(name, names, f"the names are {', '.join(names)}")
        return f"{_where(location[:-1])} has an unknown name {_quoted_name(name)}; {advice}"
    if kind == "too_short":
        return f"{where} is empty; give at least one item"
    if kind == "too_long":
        return f"{where} has {context['actual_length']:,} elements; give at most {context['max_length']:,}"
    if kind == "string_too_long":
        return f"{where} has more than {context['max_length']:,} characters; give a shorter text"
    if kind == "string_unicode":
        return f"{where} has half of a surrogate pair; give valid Unicode"
    if kind == "int_from_float":
        return f"{where} is a number with a fraction; give a whole number"
    if kind == "enum":
        return f"{where} must be {context['expected']}"
    if kind in _SIGNS:
        (bound,) = context.values()
        return f"{where} must be {_SIGNS[kind]} {bound:,}".removesuffix(".0")
    if kind == "value_error":
        return str(context["error"])
    expected = _EXPECTED.get(kind, "")
    if kind == "list_type":
        expected = _LISTS.get(name, "a list")
    if kind == "model_type":
        required = [name for name, field in _fields(location, model).items() if field.is_required()]
        expected = f"an object with {' and '.join(required)}"
    if name == "id":
        expected = "a text or a whole number"
    received = _KINDS.get(type(error.get("input")), "null")
    return f"{where} is {received}; give {expected}" if expected else f"{where} is not valid: {error['msg']}"


def _where(location: Sequence[str | int]) -> str:
    """Return a place as a phrase: ``the body``, ``items[0].history``, ``the parameter limit``."""
    if location and location[0] in ("query", "path"):
        return f"the parameter {location[-1]}"
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{str(part)[:_SHOWN_NAME]}" for part in location)
    return text.removeprefix(".") or "the body"


def _fields(location: Sequence[str | int], model: type[Message] | None) -> dict[str, FieldInfo]:
    """Return the fields of the object at a place: of ``model`` at the top, below it of an item, the only nested object."""
    return (ScoreItem if location or model is None else model).model_fields


def _quoted_name(name: str) -> str:
    return repr(name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…")
