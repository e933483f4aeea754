"""The forms of requests and answers as pydantic models, from which bodies are checked and OpenAPI is made.

Texts are strict: a number is not taken for a text. The library checks the length and the characters of a text, item by item.
Checking stops at the first wrong element of a list, and at an object of too many members, so that errors stay few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
import orjson
from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError, model_validator
from pydantic_core import from_json
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
)

if TYPE_CHECKING:
    from .service import Desk

_HISTORY = ["I am so hungry.", "What shall we cook tonight?"]
_RESPONSE = "Let's make a soup with the carrots and onions from the fridge."
_TEXT = Annotated[StrictStr, Field()]
_TEXTS = Annotated[list[_TEXT], Field(fail_fast=True)]
_MEMBERS = 20
_WHOLE = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]


class Message(BaseModel):
    """A body; unknown members are refused, so that a misspelt name is noticed."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_members(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > _MEMBERS:
            raise ValueError(f"there are {len(value):,} members; no object here has more than {len(cls.model_fields)}")
        return value


class ScoreItem(Message):
    """One response to score."""

    id: _TEXT | _WHOLE | None = Field(None, description="Names the item in the answer; its place, from 1, by default.")
    history: _TEXTS = Field(description="The turns before the response, oldest first.")
    response: _TEXT = Field(description="The response to score.")
    references: _TEXTS = Field(default_factory=list, description="What people said at this place, for metrics that compare.")


class ScoreRequest(Message):
    """Responses to score."""

    items: list[ScoreItem] = Field(min_length=1, fail_fast=True, description="At least one; /v1/info tells how many at most.")
    metrics: _TEXTS | None = Field(None, description="Some of the metrics that are served; all by default.")
    explain: bool = Field(False, strict=True, description="Give the evidence of each score.")


class ExplainRequest(Message):
    """A response whose scores are to be explained."""

    history: _TEXTS = Field(description="The turns before the response, oldest first.")
    response: _TEXT = Field(description="The response to score.")
    references: _TEXTS = Field(default_factory=list, description="What people said at this place, for metrics that compare.")
    metrics: _TEXTS | None = Field(None, description="Some of the metrics that are served; all by default.")
    svg: bool = Field(True, strict=True, description="Draw the picture of each explanation too.")


class CypherRequest(Message):
    """A query that reads."""

    query: _TEXT = Field(description="Cypher, or the name of a query of the cookbook.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="Values of the query's $names.")
    limit: _WHOLE = Field(1000, ge=0, description="Keep at most so many rows.")
    timeout: float = Field(10.0, gt=0, strict=True, allow_inf_nan=False, description="Seconds after which the query is stopped.")


class Row(BaseModel):
    """The scores of one item, or why it has none."""

    id: Any = Field(description="The item's id, or its place from 1.")
    scores: dict[str, float | None] | None = Field(None, description="By metric; null where the metric cannot judge the item.")
    percentiles: dict[str, float | None] | None = Field(
        None,
        description="By metric: per cent of a reference's true responses with this score or less; null without a reference.",
    )
    signature: dict[str, str] | None = Field(None, description="By metric; the same signature gives the same number.")
    notes: dict[str, str] | None = Field(None, description="By metric, where the score is null: why it cannot be judged.")
    evidence: dict[str, Any] | None = Field(None, description="By metric, with explain: pieces with their shares, and a note.")
    error: str | None = Field(None, description="Why the item has no scores; the other items have theirs.")


class ScoreAnswer(BaseModel):
    """A row for each item, in order."""

    items: list[Row]


class ExplainAnswer(BaseModel):
    """An explanation for each metric."""

    explanations: dict[str, dict[str, Any]]


class Concept(BaseModel):
    """A concept of the graph."""

    uri: str
    text: str


class NeighbourRow(BaseModel):
    """A concept near another one."""

    text: str
    uri: str
    hop: int
    weight: float


class ConceptsAnswer(BaseModel):
    """Concepts whose text begins with a prefix."""

    concepts: list[Concept]


class ConceptAnswer(BaseModel):
    """The concept that a text names, and its best neighbours."""

    text: str
    uri: str
    neighbours: list[NeighbourRow]


class NeighboursAnswer(BaseModel):
    """The concepts around one, best first."""

    concept: str
    neighbours: list[NeighbourRow]


class Provenance(BaseModel):
    """What is known about an assertion beside itself; what is empty is left out."""

    source: str = Field("", description="Which loader or model wrote it.")
    dataset: str = ""
    license: str = ""
    contributors: str = ""
    head_sense: str = ""
    tail_sense: str = ""
    rank: int | None = Field(None, description="Of a generated tail: its place in the beam, from 0.")
    score: float | None = Field(None, description="Of a generated tail: its log-probability.")


class AssertionRow(Provenance):
    """One assertion; its ends are URIs and texts."""

    head: str
    relation: str
    tail: str
    head_text: str
    tail_text: str
    weight: float


class Step(Provenance):
    """One assertion of a path; its ends are URIs."""

    head: str
    relation: str
    tail: str
    direction: Literal["forward", "backward"] = Field(description="Forward where the path goes from its head to its tail.")
    weight: float


class PathRow(BaseModel):
    """A path, as the evidence of a score has it too."""

    hops: int
    strength: float | None = Field(description="Weight of the weakest assertion; null for no hop.")
    nodes: list[str] = Field(description="URIs, source first.")
    node_texts: list[str]
    text: str
    steps: list[Step]


class PathsAnswer(BaseModel):
    """The shortest paths between two concepts, strongest first."""

    paths: list[PathRow]


class TailsAnswer(BaseModel):
    """What is known about an event."""

    tails: list[AssertionRow]


class CypherAnswer(BaseModel):
    """Rows of a query."""

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool = Field(description="There were more rows than the limit let through.")


class CookbookAnswer(BaseModel):
    """The queries of the cookbook."""

    queries: list[dict[str, Any]]


class InfoAnswer(BaseModel):
    """What is served."""

    version: str
    graph: dict[str, Any] | None
    metrics: dict[str, dict[str, str]]
    limits: dict[str, Any]


class StateAnswer(BaseModel):
    """The state of the service."""

    status: str


class ProblemDocument(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str


EXAMPLES: dict[type[Message], dict[str, dict[str, Any]]] = {
    ScoreRequest: {
        "one": {
            "summary": "One response, by every metric that is served",
            "value": {"items": [{"history": _HISTORY, "response": _RESPONSE}]},
        },
        "two": {
            "summary": "Two responses to the same history, with ids and evidence",
            "value": {
                "items": [
                    {"id": "dinner/good", "history": _HISTORY, "response": _RESPONSE},
                    {"id": "dinner/bad", "history": _HISTORY, "response": "The library has an interesting book for the exam."},
                ],
                "explain": True,
            },
        },
    },
    ExplainRequest: {
        "picture": {"summary": "With pictures", "value": {"history": _HISTORY, "response": _RESPONSE}},
        "plain": {"summary": "Without", "value": {"history": _HISTORY, "response": _RESPONSE, "svg": False}},
    },
    CypherRequest: {
        "text": {
            "summary": "A query of one's own",
            "value": {
                "query": "MATCH (a:Concept {text: $word})-[r]->(b:Concept) "
                "RETURN type(r) AS relation, b.text AS tail ORDER BY relation, tail",
                "parameters": {"word": "dog"},
                "limit": 5,
            },
        },
        "cookbook": {
            "summary": "A query of the cookbook",
            "value": {"query": "used_for", "parameters": {"concept": "knife"}},
        },
    },
}
"""Bodies that work on any graph, by the model of the request and a name."""


# What goes wrong, as RFC 9457 problem documents: one sentence for people, a type and a status for programs.

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1

SHOWN_ERRORS = 20
"""Most errors that a problem document lists."""

_STATUS: tuple[tuple[type[TacitError], int, str], ...] = (
    (QueryRefused, 400, "query-refused"),
    (QueryInvalid, 422, "query-invalid"),
    (InputError, 422, "invalid-input"),
    (QueryTimeout, 504, "query-timeout"),
    (GraphBusy, 429, "busy"),
    (GraphUnavailable, 503, "graph-unavailable"),
    (GraphNotFound, 503, "graph-unavailable"),
)


class Problem(Exception):
    """A request that ends with an error status.

    Attributes:
        status: the HTTP status; kind: the last word of the problem's type; detail: one sentence on what is wrong and what to do.
        headers: beside the usual ones; extra: further members of the document.
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
        """Return the document as a response to the request of ``scope``."""
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


def require_json(content_type: bytes) -> None:
    """Return when a body is declared as JSON: a page of another site cannot send that without asking first.

    Raises:
        Problem: it is declared as something else, or not at all.
    """
    kind = content_type.partition(b";")[0].strip().lower()
    if kind != b"application/json":
        told = kind.decode("latin-1")[:100] or "missing"
        raise Problem(415, "not-json", f"the Content-Type is {told}; send JSON as Content-Type: application/json")


def request_id(scope: Scope) -> str:
    """Return the id of the request, which the guard gave it."""
    return str(scope.get("tacit.request_id", ""))


def problem_of(error: TacitError, *, cypher: bool = False) -> Problem:
    """Return what an error of tacit is to a client; with ``cypher`` a failure of the engine is one of the client's query."""
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return Problem(status, name, str(error))
    if cypher and isinstance(error, GraphError):
        return Problem(422, "query-failed", str(error))
    return Problem(500, "failure", str(error))


def invalid(error: ValidationError) -> Problem:
    """Return what is wrong with a body that does not have the form it should: the places and the reasons, never the values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    errors = [{"at": ".".join(map(str, one["loc"])), "reason": one["msg"]} for one in found]
    first = errors[0]
    where = f" at {first['at']}" if first["at"] else ""
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return Problem(
        422,
        "invalid-body",
        f"the body does not have the form of this request{where} ({first['reason']}{more}); see /openapi.json",
        extra={"errors": errors[:SHOWN_ERRORS]},
    )


# Request bodies from bytes to models, within limits of size and of errors; answers from plain values to bytes.
#
# A JSON value of three bytes can become a Python object of a hundred, so the number of values is limited before anything is
# parsed, and the number of errors while they are collected. A large body is parsed in a thread of its own, one at a time, so
# that the event loop goes on answering others.

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


def request_body(model: type[Message]) -> dict[str, Any]:
    """Return the OpenAPI description of a body in the form of ``model``, with its examples."""
    content = {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}, "examples": EXAMPLES[model]}
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
